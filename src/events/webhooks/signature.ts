import { createHmac, timingSafeEqual } from 'node:crypto';

/** How a family of webhooks is signed (`apis/webhooks.md` §5). */
export interface SignatureScheme {
  /** The header's name, in lower case. */
  readonly header: string;
  /** The elements that hold signatures, such as `v1`. */
  readonly versions: readonly string[];
  /** The bytes under the HMAC, in order; `t` is the text as it was received. */
  signed(t: string, body: Buffer): readonly (string | Buffer)[];
  /** The greatest age of `t` in seconds; absent if any age is accepted. */
  readonly maxAge?: number;
  /** How many seconds `t` may be ahead of our clock. */
  readonly maxAhead: number;
}

/** Why a signature is not accepted. */
export type SignatureFault =
  | 'SIGNATURE_MISSING'
  | 'SIGNATURE_MALFORMED'
  | 'SIGNATURE_TOO_OLD'
  | 'SIGNATURE_TOO_FAR_AHEAD'
  | 'SIGNATURE_WRONG';

/** What a signature header says: the time as it was written, and the signatures that can be compared. */
export interface SignatureHeader {
  readonly t: string;
  readonly signatures: readonly Buffer[];
}

/** In a header; each takes time to compare. */
export const maxElements = 8;
const digestBytes = 32;
/** The greatest time of a JavaScript `Date` (ECMA-262). */
const maxTime = 8.64e15;

/**
 * Reads `t=<digits>,v1=<signature>[,…]`. Undefined if `t` is missing, given twice or not plain decimal digits, or if
 * there are more than 8 elements. Elements of other schemes, and values that are no digest, are ignored.
 */
export function parseSignature(header: string, versions: readonly string[]): SignatureHeader | undefined {
  const read = readElements(header);
  if ('fault' in read) return undefined;
  const signatures = read.elements
    .filter(([scheme]) => versions.includes(scheme))
    .flatMap(([, value]) => decodeDigest(value) ?? []);
  return { t: read.t, signatures };
}

/** When the first header says that it was signed, in seconds; `NaN` where `parseSignature` is undefined. */
export function signedSeconds([header = '']: readonly string[]): number {
  const read = readElements(header);
  return 'fault' in read ? NaN : Number(read.t);
}

/** When the first header says that it was signed, in milliseconds; undefined if it says no time that a `Date` holds. */
export function signedAt(headers: readonly string[]): number | undefined {
  const ms = signedSeconds(headers) * 1000;
  return ms <= maxTime ? ms : undefined;
}

/**
 * Checks a delivery against the secrets that are valid now: undefined when it is genuine, else the fault. `headers` are
 * the values of every header of the scheme's name; `now` is in milliseconds. An age of exactly `maxAge` is accepted.
 */
export function findSignatureFault(
  scheme: SignatureScheme,
  headers: readonly string[],
  body: Buffer,
  { secrets, now }: { readonly secrets: readonly string[]; readonly now: number },
): SignatureFault | undefined {
  const [header] = headers;
  if (header === undefined) return 'SIGNATURE_MISSING';
  const parsed = headers.length === 1 ? parseSignature(header, scheme.versions) : undefined;
  if (!parsed) return 'SIGNATURE_MALFORMED';
  // `t` is in whole seconds, so our clock is rounded down to whole seconds as well.
  const age = Math.floor(now / 1000) - Number(parsed.t);
  if (scheme.maxAge !== undefined && age > scheme.maxAge) return 'SIGNATURE_TOO_OLD';
  if (-age > scheme.maxAhead) return 'SIGNATURE_TOO_FAR_AHEAD';
  const digests = secrets.map((secret) => hmac(secret, scheme.signed(parsed.t, body)));
  return matchesAny(parsed.signatures, digests) ? undefined : 'SIGNATURE_WRONG';
}

/** Whether the first header holds a signature that some secret could have made. */
export function mayMatch({ versions }: SignatureScheme, [header = '']: readonly string[]): boolean {
  const { signatures = [] } = parseSignature(header, versions) ?? {};
  return signatures.length > 0;
}

/** Compares every pair, so that the time taken does not reveal which one matched. */
function matchesAny(signatures: readonly Buffer[], digests: readonly Buffer[]): boolean {
  let matched = false;
  for (const signature of signatures)
    for (const digest of digests) matched = timingSafeEqual(signature, digest) || matched;
  return matched;
}

function hmac(secret: string, parts: readonly (string | Buffer)[]): Buffer {
  const mac = createHmac('sha256', secret);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

type Element = readonly [scheme: string, value: string];

/** The time in a header, as it was written, and all its elements. */
interface Elements {
  readonly t: string;
  readonly elements: readonly Element[];
}

/** Why a header cannot be read: it has too many elements, not one time, or a time that is not in plain digits. */
type HeaderFault =
  { readonly fault: 'elements' | 'times'; readonly count: number } | { readonly fault: 'digits' };

/** Reads a header as far as the family does not matter. */
export function readElements(header: string): Elements | HeaderFault {
  const elements = header.split(',').map(splitElement);
  if (elements.length > maxElements) return { fault: 'elements', count: elements.length };
  const times = elements.filter(([scheme]) => scheme === 't');
  if (times.length !== 1) return { fault: 'times', count: times.length };
  const [[, t]] = times as [Element];
  return /^[0-9]+$/.test(t) ? { t, elements } : { fault: 'digits' };
}

/** The scheme and its value, split at the first `=`; an element without one has an empty value. */
function splitElement(element: string): Element {
  const text = element.trim();
  const at = text.indexOf('=');
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/**
 * The encoding is not documented, so this takes 64 hex digits, or base64 or base64url, padded or not. A base64 text
 * must be what its bytes encode to, so that a digest has no other spellings than these.
 */
function decodeDigest(value: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
  const text = value.replace(/=$/, '');
  const bytes = Buffer.from(text, 'base64');
  const encodings = [bytes.toString('base64').replace(/=$/, ''), bytes.toString('base64url')];
  return bytes.length === digestBytes && encodings.includes(text) ? bytes : undefined;
}
