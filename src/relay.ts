import type { GraphQLResolveInfo } from 'graphql';
import { GatewayError } from './errors.js';
import { isObject } from './json.js';
import { asksFor } from './lookahead.js';
import { createCache, type Cache } from './cache.js';
import type { Sealer } from './seal.js';

/** What a global id names. */
interface Named {
  readonly type: string;
  readonly id: string;
}

/** Ids come again and again: whoever looks at a list asks for it anew, and for what is in it. */
const mostIds = 10_000;
const writtenIds = new Map<string, Cache<string>>();
const readIds = createCache<Named>(mostIds);

/** A global id of one of the schema's types: opaque to clients, the same for the same object on every replica. */
export function toGlobalId(type: string, id: string): string {
  const known = writtenIds.get(type) ?? createCache<string>(mostIds);
  const globalId = known.get(id);
  if (globalId !== undefined) return globalId;
  writtenIds.set(type, known);
  const fresh = writeId(type, id);
  known.set(id, fresh);
  return fresh;
}

/** What a global id names; undefined where it is none that `toGlobalId` wrote. */
export function fromGlobalId(globalId: string): Named | undefined {
  const known = readIds.get(globalId);
  if (known) return known;
  const named = readId(globalId);
  // Under a text of its own: the client's may be a part of a query, which it would keep in memory.
  if (named) readIds.set(writeId(named.type, named.id), named);
  return named;
}

function writeId(type: string, id: string): string {
  return Buffer.from(JSON.stringify([type, id])).toString('base64url');
}

function readId(globalId: string): Named | undefined {
  try {
    const pair: unknown = JSON.parse(Buffer.from(globalId, 'base64url').toString('utf8'));
    if (!Array.isArray(pair)) return undefined;
    const [type, id] = pair as unknown[];
    if (typeof type !== 'string' || typeof id !== 'string' || writeId(type, id) !== globalId)
      return undefined;
    return { type, id };
  } catch {
    return undefined;
  }
}

/** The id part of a global id of this type; undefined for anything else. */
export function idOf(type: string, globalId: string): string | undefined {
  const named = fromGlobalId(globalId);
  return named?.type === type ? named.id : undefined;
}

/** An edge; its cursor is sealed when it is asked for. */
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

/** Of every connection: the most rows that a page may have, and how many it has where no size is given. */
export const greatestPage = 100;
export const usualPage = 20;

/** How many rows from which end: `first`/`last` outside 0…100, or both at once, is `BAD_USER_INPUT`. */
export function pageSize({ first, last }: PageArguments): {
  readonly size: number;
  readonly backward: boolean;
} {
  if (first != null && last != null)
    throw new GatewayError('BAD_USER_INPUT', 'Give `first` or `last`, not both.');
  checkSize('first', first);
  checkSize('last', last);
  return { size: first ?? last ?? usualPage, backward: last != null };
}

function checkSize(name: string, size: number | null | undefined): void {
  if (size != null && (size < 0 || size > greatestPage))
    throw new GatewayError('BAD_USER_INPUT', `\`${name}\` is ${size}; it must be from 0 to ${greatestPage}.`);
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
  /** The position; `CURSOR_INVALID` where the cursor was altered or is of another place. */
  open(place: CursorPlace, cursor: string): unknown;
}

const mostSealed = 1_000;

/** Cursors over a sealer. */
export function createCursors(sealer: Sealer): Cursors {
  const text = ({ connection, userId, filter }: CursorPlace) =>
    `cursor ${JSON.stringify([connection, userId ?? null, canonical(filter)])}`;
  // A page that is asked for again has the cursors that it had.
  const sealed = createCache<string>(mostSealed);

  return {
    seal(place, position) {
      const [where, what] = [text(place), JSON.stringify(position)];
      const key = where + what;
      const known = sealed.get(key);
      if (known !== undefined) return known;
      const cursor = sealer.sealSame(what, where);
      sealed.set(key, cursor);
      return cursor;
    },
    open(place, cursor) {
      const position = sealer.open(cursor, text(place));
      if (position === undefined)
        throw new GatewayError(
          'CURSOR_INVALID',
          'This cursor is not one of this connection, filter and caller.',
        );
      return JSON.parse(position) as unknown;
    },
  };
}

/** A filter with its members in one order and its empty ones left out, so that equal filters are equal texts. */
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

/** A page of rows; what is not asked for is not made. */
export function toConnection<T>(rows: readonly T[], cursorAt: CursorAt, more: More): Connection<T> {
  return new RowPage(rows, cursorAt, more);
}

/** An edge by itself. */
export function toEdge<T>(node: T, cursor: () => string): Edge<T> {
  return new PageEdge(node, 0, cursor);
}

/** How rows of our own are read: in the connection's order, or backward; strictly beyond the given positions. */
export interface RowQuery {
  readonly limit: number;
  readonly backward: boolean;
  readonly after?: unknown;
  readonly before?: unknown;
}

/** Rows of our own; a position names one for good. */
interface Rows<T> {
  /** At most `limit` of them. */
  read(query: RowQuery): Promise<readonly T[]>;
  position(row: T): unknown;
}

/**
 * A connection over rows of our own. Whether rows lie behind the cursor that it begins at, is looked for if it is asked:
 * they may have come, gone or moved since.
 */
export async function rowConnection<T>(
  cursors: Cursors,
  place: CursorPlace,
  page: PageArguments,
  info: GraphQLResolveInfo,
  rows: Rows<T>,
): Promise<Connection<T>> {
  const { size, backward } = pageSize(page);
  const [after, before] = [page.after, page.before].map((cursor) =>
    cursor == null ? undefined : cursors.open(place, cursor),
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

/** Whether rows lie behind the first found, or if none was, behind the far end: then there is none up to the near one. */
async function hasBehind<T>(
  { read, position }: Rows<T>,
  { backward, after, before }: RowQuery,
  found: readonly T[],
): Promise<boolean> {
  const farEnd = backward ? after : before;
  const place = found.length === 0 ? farEnd : position(found[0]!);
  const behind = { limit: 1, backward: !backward, ...(backward ? { after: place } : { before: place }) };
  return (await read(behind)).length > 0;
}
