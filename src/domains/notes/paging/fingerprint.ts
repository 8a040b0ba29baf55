import type { Note } from '../../../models/note.js';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * 36 bits that identify a row when it turns up on a neighbouring page: two FNV-1a hashes with different primes, each
 * finished as in MurmurHash3. A cryptographic digest of each row would take longer than all other work on a cursor.
 */
export function fingerprint({ upstreamId }: Note): string {
  let one = 0x811c9dc5;
  let other = 0x9747b28c;
  for (let at = 0; at < upstreamId.length; at += 1) {
    const unit = upstreamId.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x85ebca6b);
  }
  return toCharacters(finish(one)) + toCharacters(finish(other));
}

function finish(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const both = Math.imul(half ^ (half >>> 13), 0xc2b2ae35);
  return both ^ (both >>> 16);
}

/** The lowest 18 bits, as three characters. */
function toCharacters(bits: number): string {
  return alphabet[bits & 63]! + alphabet[(bits >>> 6) & 63]! + alphabet[(bits >>> 12) & 63]!;
}
