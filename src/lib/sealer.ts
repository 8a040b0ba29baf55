import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto';

const idBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;

/** What is derived from one secret. Key objects, since Node.js 24 takes 15 µs to make one of a buffer, for each use. */
interface Key {
  /** Precedes what was sealed, to tell which key opens it. */
  readonly id: Buffer;
  readonly cipher: KeyObject;
  /** The HMAC key that derives nonces. */
  readonly nonce: KeyObject;
}

/** Seals text so that only this gateway can read it, bound to the place where it is kept. */
export interface Sealer {
  /** AES-256-GCM with a random nonce: for secrets at rest. `place` is bound in and must be given again to open. */
  seal(text: string, place: string): string;
  /** The same with a nonce derived from text and place: equal inputs give equal outputs, so for cursors. */
  sealDeterministically(text: string, place: string): string;
  /** The text; undefined if the sealed text was altered, is of another place, or its key is gone. */
  open(sealed: string, place: string): string | undefined;
  /** Whether the first key sealed this: what another key sealed must be sealed anew before that key is removed. */
  isCurrent(sealed: string): boolean;
}

function deriveKey(secret: Buffer): Key {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
  return {
    id: derive('trivium key id').subarray(0, idBytes),
    cipher: createSecretKey(derive('trivium cipher')),
    nonce: createSecretKey(derive('trivium nonce')),
  };
}

function encrypt(key: Key, nonce: Buffer, text: string, place: string): string {
  const cipher = createCipheriv('aes-256-gcm', key.cipher, nonce).setAAD(Buffer.from(place));
  return Buffer.concat([
    key.id,
    nonce,
    cipher.update(text, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]).toString('base64url');
}

function decrypt(key: Key, bytes: Buffer, place: string): string | undefined {
  const nonce = bytes.subarray(idBytes, idBytes + nonceBytes);
  const decipher = createDecipheriv('aes-256-gcm', key.cipher, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(place))
    .setAuthTag(bytes.subarray(-tagBytes));
  try {
    const body = bytes.subarray(idBytes + nonceBytes, -tagBytes);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** A sealer over keys of 32 bytes: the first seals, all open, so that keys can be rotated. */
export function createSealer(secrets: readonly [Buffer, ...Buffer[]]): Sealer {
  const keys = secrets.map(deriveKey);
  const first = keys[0]!;
  return {
    seal: (text, place) => encrypt(first, randomBytes(nonceBytes), text, place),
    sealDeterministically(text, place) {
      const mac = createHmac('sha256', first.nonce)
        .update(`${Buffer.byteLength(place)}:${place}`)
        .update(text);
      return encrypt(first, mac.digest().subarray(0, nonceBytes), text, place);
    },
    open(sealed, place) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < idBytes + nonceBytes + tagBytes || bytes.toString('base64url') !== sealed)
        return undefined;
      const key = keys.find(({ id }) => id.equals(bytes.subarray(0, idBytes)));
      return key && decrypt(key, bytes, place);
    },
    isCurrent: (sealed) => first.id.equals(Buffer.from(sealed, 'base64url').subarray(0, idBytes)),
  };
}

/** SHA-256 of a text, base64url: stands for what is secret, or too long to be stored or compared itself. */
export function digest(text: string): string {
  return hash('sha256', text, 'base64url');
}
