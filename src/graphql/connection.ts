import type { GraphQLResolveInfo } from 'graphql';
import { asksFor } from './look-ahead.js';
import { type CursorContext, type CursorPlace, ownPlace } from './cursors.js';
import { pageSize, type PageArguments } from './page-size.js';

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
 * A connection over rows of our own database, with cursors for the caller alone. Whether rows lie behind the cursor that
 * the page starts at is looked up only if the operation selects it: since the cursor was made, rows may have come, gone
 * or moved.
 */
export async function rowConnection<T, P>(
  context: CursorContext,
  list: Omit<CursorPlace, 'userId'>,
  page: PageArguments,
  info: GraphQLResolveInfo,
  rows: Rows<T, P>,
): Promise<Connection<T>> {
  const { cursors } = context;
  const place = ownPlace(context, list);
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
