import type { GraphQLResolveInfo } from 'graphql';
import { GatewayError } from '../errors.js';
import { isObject } from '../../lib/json.js';
import { asksFor } from '../look-ahead.js';
import { createCache, type Cache } from '../../lib/cache/cache.js';
import type { Sealer } from '../../lib/sealer.js';

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

/** An edge; its cursor is sealed on demand. */
export interface Edge<T> {
  readonly node: T;
  readonly cursor: string;
}

/** A page of a connection (Relay Cursor Connections). */
export interface Connection<T> {
  readonly edges: readonly Edge<T>[];
  readonly nodes: readonly T[];
  readonly pageInfo: PageInfo;
}

/** Where a page stands in its connection. */
export interface PageInfo {
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly startCursor: string | null;
  readonly endCursor: string | null;
}

/** The arguments of a connection, as clients give them. */
export interface PageArguments {
  readonly first?: number | null;
  readonly after?: string | null;
  readonly last?: number | null;
  readonly before?: string | null;
}

/** The maximum size of a page, and its default, for every connection. */
export const maxPageSize = 100;
/** The size of a page where neither `first` nor `last` is given. */
export const defaultPageSize = 20;
/** The maximum number of entities that a router may ask for at once: it does not divide what it needs. */
export const maxEntities = 1_000;

/** How many rows from which end: `first`/`last` outside 0…100, or both at once, is `BAD_USER_INPUT`. */
export function pageSize({ first, last }: PageArguments): {
  readonly size: number;
  readonly backward: boolean;
} {
  if (first != null && last != null)
    throw new GatewayError('BAD_USER_INPUT', 'Give `first` or `last`, not both.');
  checkSize('first', first);
  checkSize('last', last);
  return { size: first ?? last ?? defaultPageSize, backward: last != null };
}

function checkSize(name: string, size: number | null | undefined): void {
  if (size != null && (size < 0 || size > maxPageSize))
    throw new GatewayError('BAD_USER_INPUT', `\`${name}\` is ${size}; it must be from 0 to ${maxPageSize}.`);
}

/** What a cursor is bound to: a cursor of another caller, connection or filter does not open. */
export interface CursorPlace {
  readonly connection: string;
  /** The caller's user id; absent where the connection is the same for everybody. */
  readonly userId?: string;
  readonly filter?: unknown;
}

/** Sealed cursors: opaque, bound to their place, the same for the same position. */
export interface Cursors {
  seal(place: CursorPlace, position: unknown): string;
  /** The position; `CURSOR_INVALID` if the cursor was altered or is of another place. */
  open(place: CursorPlace, cursor: string): unknown;
}

const maxSealed = 1_000;

/** Creates cursors sealed with this sealer; equal positions give equal cursors on every replica with the same keys. */
export function createCursors(sealer: Sealer): Cursors {
  const text = ({ connection, userId, filter }: CursorPlace) =>
    `cursor ${JSON.stringify([connection, userId ?? null, canonical(filter)])}`;
  // A page that is requested again has the same cursors.
  const sealed = createCache<string>(maxSealed);

  return {
    seal(place, position) {
      const [where, what] = [text(place), JSON.stringify(position)];
      const key = where + what;
      const known = sealed.get(key);
      if (known !== undefined) return known;
      const cursor = sealer.sealDeterministically(what, where);
      sealed.set(key, cursor);
      return cursor;
    },
    open(place, cursor) {
      const position = sealer.open(cursor, text(place));
      if (position === undefined)
        throw new GatewayError(
          'CURSOR_INVALID',
          'This cursor is not valid, or belongs to another connection, filter or caller.',
        );
      return JSON.parse(position) as unknown;
    },
  };
}

/** A filter with its members sorted and the null ones left out, so that equal filters give equal texts. */
function canonical(filter: unknown): unknown {
  if (!isObject(filter)) return filter ?? null;
  const members = Object.entries(filter).filter(([, value]) => value != null);
  return members.toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Gives the cursor of the row at an index of its page. */
type CursorAt = (index: number) => string;

// Classes, since an object literal with a getter is a hundred times as costly to make.

/** The edge of the row at this index, whose cursor `cursorAt` seals. */
class PageEdge<T> implements Edge<T> {
  readonly node: T;
  readonly #index: number;
  readonly #cursorAt: CursorAt;

  constructor(node: T, index: number, cursorAt: CursorAt) {
    this.node = node;
    this.#index = index;
    this.#cursorAt = cursorAt;
  }

  get cursor(): string {
    return this.#cursorAt(this.#index);
  }
}

class RowPage<T> implements Connection<T>, PageInfo {
  readonly nodes: readonly T[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly #cursorAt: CursorAt;

  constructor(nodes: readonly T[], cursorAt: CursorAt, more: More) {
    this.nodes = nodes;
    this.hasNextPage = more.after;
    this.hasPreviousPage = more.before;
    this.#cursorAt = cursorAt;
  }

  get edges(): readonly Edge<T>[] {
    return this.nodes.map((node, index) => new PageEdge(node, index, this.#cursorAt));
  }

  get pageInfo(): PageInfo {
    return this;
  }

  get startCursor(): string | null {
    return this.nodes.length === 0 ? null : this.#cursorAt(0);
  }

  get endCursor(): string | null {
    return this.nodes.length === 0 ? null : this.#cursorAt(this.nodes.length - 1);
  }
}

/** Whether rows lie beyond a page at either end. */
interface More {
  readonly before: boolean;
  readonly after: boolean;
}

/** A page of rows; its edges and cursors are made on demand. */
export function toConnection<T>(rows: readonly T[], cursorAt: CursorAt, more: More): Connection<T> {
  return new RowPage(rows, cursorAt, more);
}

/** An edge outside a page, such as that of a new object; its cursor is made on demand. */
export function toEdge<T>(node: T, cursor: () => string): Edge<T> {
  return new PageEdge(node, 0, cursor);
}

/** How rows of our own database are read: in the connection's order or backward, strictly beyond the positions `P`. */
export interface RowQuery<P> {
  readonly limit: number;
  readonly backward: boolean;
  readonly after?: P | undefined;
  readonly before?: P | undefined;
}

/** Rows of our own database; each has a position, which a cursor holds as JSON. */
interface Rows<T, P> {
  /** At most `limit` of them. */
  read(query: RowQuery<P>): Promise<readonly T[]>;
  position(row: T): P;
}

/**
 * A connection over rows of our own database. Whether rows lie behind the cursor that the page starts at is looked up
 * only if the operation selects it: since the cursor was made, rows may have come, gone or moved.
 */
export async function rowConnection<T, P>(
  cursors: Cursors,
  place: CursorPlace,
  page: PageArguments,
  info: GraphQLResolveInfo,
  rows: Rows<T, P>,
): Promise<Connection<T>> {
  const { size, backward } = pageSize(page);
  const [after, before] = [page.after, page.before].map((cursor) =>
    cursor == null ? undefined : (cursors.open(place, cursor) as P),
  );
  const query = { limit: size + 1, backward, after, before };
  const found = await rows.read(query);
  const beyond = found.length > size;
  const isCut = (backward ? before : after) !== undefined;
  const isAsked = isCut && asksFor(info, 'pageInfo', backward ? 'hasNextPage' : 'hasPreviousPage');
  const behind = isAsked && (await hasBehind(rows, query, found));
  const shown = found.slice(0, size);
  if (backward) shown.reverse();
  return toConnection(shown, (index) => cursors.seal(place, rows.position(shown[index]!)), {
    after: backward ? behind : beyond,
    before: backward ? beyond : behind,
  });
}

/** Whether rows lie behind the first one found; if none was, behind the far end, since none lie between the ends. */
async function hasBehind<T, P>(
  { read, position }: Rows<T, P>,
  { backward, after, before }: RowQuery<P>,
  found: readonly T[],
): Promise<boolean> {
  const farEnd = backward ? after : before;
  const place = found.length === 0 ? farEnd : position(found[0]!);
  const behind = { limit: 1, backward: !backward, ...(backward ? { after: place } : { before: place }) };
  return (await read(behind)).length > 0;
}
