import type { Expression, ExpressionBuilder, SelectQueryBuilder, SqlBool } from 'kysely';
import {
  inOrder,
  inWindow,
  inWindowAlong,
  startingAt,
  type Along,
  type Window,
} from '../../../store/sql/key-window.js';
import type { Reads } from '../../../store/sql/read-budget.js';
import { readInSteps, rowsPerStep, unlimited, type Scan } from '../../../store/sql/stepwise-scan.js';
import type { BookingTable, Tables } from '../../../store/sql/schema.js';
import type { Store } from '../../../store/store.js';
import { keyText } from '../../../store/sql/key-text.js';
import type { Appointment } from '../../../models/appointment.js';
import { selectRows, type BookingRow } from './booking-rows.js';

/** Where a booking stands in the order: newest first, then by id. */
export interface BookingPosition {
  readonly bookedAt: number;
  readonly id: string;
}

/** Which bookings to list; all conditions apply together. */
export interface BookingQuery {
  /** Only this user's; everybody's when absent. */
  readonly userId?: string | undefined;
  readonly status?: Appointment['status'] | undefined;
  readonly participant?: string | undefined;
  /** Instants of the start, cut (`src/lib/iso-instant.ts`): `from ≤ start < to`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Only bookings strictly after and before these positions, newest first. */
  readonly after?: BookingPosition | undefined;
  readonly before?: BookingPosition | undefined;
  /** Lists in the reverse order, so that `limit` counts from the end. */
  readonly backward: boolean;
  readonly limit: number;
}

/** What is looked at of a booking, to tell whether it belongs to the page. */
type Looked = Pick<BookingTable, (typeof looked)[number]>;
type LookedRows = SelectQueryBuilder<Tables, 'bookings', Looked>;
const looked = ['id', 'user_id', 'status', 'start_instant', 'booked_at'] as const;

/** A `BookingPosition` as it is stored: by these columns pages are sorted. */
type BookingKey = readonly [bookedAt: number, id: string];
const key = ['booked_at', 'id'];

/**
 * The rows of a page of bookings. Everybody's, and each user's, have an index in the order of the page. The others are
 * read at once if they are among few by their participant or their start, and else looked for in that order.
 */
export async function listBookings(
  store: Store,
  query: BookingQuery,
  reads: Pick<Reads, 'next'>,
): Promise<readonly BookingRow[]> {
  const { limit, status } = query;
  const narrowed = narrow(store, query);
  if (narrowed.length === 0 && status === undefined) {
    const page = inWindowAlong(selectRows(store, limit), key, toWindow(query), along(store, query));
    return reads.next(() => page.limit(limit).execute());
  }
  for (const { ids, oneTooMany } of narrowed)
    if ((await reads.next(() => oneTooMany.execute())).length === 0) {
      const rows = store.kysely.selectFrom('bookings').select(looked).where('id', 'in', ids);
      return reads.next(() => matching(store, rows, query));
    }
  return readInSteps(reads, [scan(store, query)], { limit, keyOf: ({ id }) => id });
}

function toWindow({ backward, after, before }: BookingQuery): Window<BookingKey> {
  return { backward, after: toKey(after), before: toKey(before) };
}

/** Each user's have an index of their own. */
function along({ engine }: Store, { userId }: BookingQuery): Along {
  return { engine, equal: userId === undefined ? undefined : ['user_id', keyText(userId)] };
}

function toKey(position: BookingPosition | undefined): BookingKey | undefined {
  return position && [position.bookedAt, position.id];
}

/** Bookings are few if one statement can look at all of them, wherever they are in the table. */
const few = 2_000;

/** The ids that one condition leaves by itself; they are few unless there is one too many. */
interface Narrowed {
  readonly ids: Expression<string>;
  readonly oneTooMany: { execute(): Promise<readonly unknown[]> };
}

function narrow({ kysely }: Store, { participant, from, to }: BookingQuery): readonly Narrowed[] {
  const toNarrowed = <T extends keyof Tables>(
    ids: SelectQueryBuilder<Tables, T, Pick<BookingTable, 'id'>>,
  ): Narrowed => ({ ids: ids.$asScalar(), oneTooMany: ids.limit(1).offset(few) });
  const taking = kysely.selectFrom('booking_participants').select('booking_id as id');
  const starting = kysely.selectFrom('bookings').select('id');
  return [
    ...(participant === undefined ? [] : [toNarrowed(taking.where('reference', '=', keyText(participant)))]),
    ...(from === undefined && to === undefined
      ? []
      : [toNarrowed(starting.where((row) => row.and(startsWithin(row, { from, to }))))]),
  ];
}

function scan(store: Store, query: BookingQuery): Scan<BookingKey, BookingRow> {
  const window = toWindow(query);
  const all = store.kysely.selectFrom('bookings');
  return {
    async end(from) {
      const places = all.select(['booked_at', 'id']);
      const rest = inWindowAlong(places, key, startingAt(from, window), along(store, query));
      const last = rest.offset(rowsPerStep[store.engine] - 1);
      const row = await last.limit(1).executeTakeFirst();
      return row && [row.booked_at, row.id];
    },
    match(from, to, limit) {
      const rows = all.select(looked).where((row) => row.and(ofUser(row, query)));
      const step = inWindow(rows, key, { ...startingAt(from, window), to });
      return matching(store, step, { ...query, limit });
    },
  };
}

/** The bookings among `rows` that meet all conditions, in page order. */
function matching(store: Store, rows: LookedRows, query: BookingQuery): Promise<readonly BookingRow[]> {
  const found = store.kysely
    .selectFrom(rows.limit(unlimited).as('bookings'))
    .select('id')
    .where((row) => row.and([...ofUser(row, query), ...filters(row, query)]));
  const ids = inWindow(found, key, toWindow(query)).limit(query.limit);
  return inOrder(selectRows(store, query.limit).where('id', 'in', ids), key, query).execute();
}

type Row = ExpressionBuilder<Tables, 'bookings'>;
type Conditions = readonly Expression<SqlBool>[];

function ofUser(row: Row, { userId }: BookingQuery): Conditions {
  return userId === undefined ? [] : [row('user_id', '=', keyText(userId))];
}

function filters(row: Row, { status, participant, from, to }: BookingQuery): Conditions {
  return [
    ...(status === undefined ? [] : [row('status', '=', status)]),
    ...(participant === undefined ? [] : [takesPart(row, participant)]),
    ...startsWithin(row, { from, to }),
  ];
}

function startsWithin(row: Row, { from, to }: Pick<BookingQuery, 'from' | 'to'>): Conditions {
  return [
    ...(from === undefined ? [] : [row('start_instant', '>=', from)]),
    ...(to === undefined ? [] : [row('start_instant', '<', to)]),
  ];
}

/** Looked up for one booking at a time: a practitioner may have very many. */
function takesPart(row: Row, participant: string): Expression<SqlBool> {
  return row.exists(
    row
      .selectFrom('booking_participants')
      .select('booking_id')
      .where('reference', '=', keyText(participant))
      .whereRef('booking_id', '=', 'bookings.id'),
  );
}
