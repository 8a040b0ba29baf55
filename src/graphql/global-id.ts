import { createCache, type Cache } from '../lib/cache/cache.js';

/** What a global id names. */
interface Named {
  readonly type: string;
  readonly id: string;
}

/** The same ids come again and again, as clients reload lists and what is in them, so both ways are cached. */
const maxIds = 10_000;
const encodedIds = new Map<string, Cache<string>>();
const decodedIds = createCache<Named>(maxIds);

/** A global id of one of the schema's types: opaque to clients, the same for the same object on every replica. */
export function toGlobalId(type: string, id: string): string {
  const known = encodedIds.get(type) ?? createCache<string>(maxIds);
  const globalId = known.get(id);
  if (globalId !== undefined) return globalId;
  encodedIds.set(type, known);
  const fresh = encodeId(type, id);
  known.set(id, fresh);
  return fresh;
}

/** What a global id names; undefined if it is none that `toGlobalId` made. */
export function fromGlobalId(globalId: string): Named | undefined {
  const known = decodedIds.get(globalId);
  if (known) return known;
  const named = decodeId(globalId);
  // By a new string: the client's may be a substring of a request, which it would keep in memory.
  if (named) decodedIds.set(encodeId(named.type, named.id), named);
  return named;
}

function encodeId(type: string, id: string): string {
  return Buffer.from(JSON.stringify([type, id])).toString('base64url');
}

function decodeId(globalId: string): Named | undefined {
  const text = Buffer.from(globalId, 'base64url').toString('utf8');
  if (!isPair(text)) return undefined;
  const [type, id] = JSON.parse(text) as [string, string];
  return encodeId(type, id) === globalId ? { type, id } : undefined;
}

const pairBegin = /^\["\w{1,64}","/;
const escapes = /\\(?:["\\bfnrt]|u[\da-f]{4})/g;
// oxlint-disable-next-line no-control-regex -- JSON has none of them in a string
const special = /["\\\0-\x1f]/;

/** Whether it is a type and an id as JSON. Of another text, `JSON.parse` would take long to say what is wrong. */
function isPair(text: string): boolean {
  const [begin] = pairBegin.exec(text) ?? [];
  if (begin === undefined || !text.endsWith('"]')) return false;
  return !special.test(text.slice(begin.length, -2).replace(escapes, ''));
}

/** The id part of a global id of this type; undefined for anything else. */
export function idOf(type: string, globalId: string): string | undefined {
  const named = fromGlobalId(globalId);
  return named?.type === type ? named.id : undefined;
}
