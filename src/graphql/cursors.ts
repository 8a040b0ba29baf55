import { type CallerContext, requireCaller } from './caller.js';
import { GatewayError } from './errors.js';
import { isObject } from '../lib/json.js';
import { createCache } from '../lib/cache/cache.js';
import type { Sealer } from '../lib/sealer.js';

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

/** A context slice in which cursors are the caller's own. */
export interface CursorContext extends CallerContext {
  readonly cursors: Cursors;
}

/** What the caller's own cursors of a connection are bound to; `UNAUTHENTICATED` if there is no session. */
export function ownPlace(
  context: CallerContext,
  { connection, filter }: Omit<CursorPlace, 'userId'>,
): CursorPlace {
  return { connection, userId: requireCaller(context).userId, filter };
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
