import { sql, type RawBuilder } from 'kysely';
import type { Procedure } from '../../../store/sql/writer-procedure.js';
import { insertRows, rowsOf, fixedRows, type Columns } from '../../../store/sql/bulk-rows.js';
import type { BookingTable } from '../../../store/sql/schema.js';
import type { Engine, Store } from '../../../store/store.js';
import { keyText } from '../../../store/sql/key-text.js';
import type { Participant } from '../../../models/appointment.js';

/** A booking as it is stored. Free texts are key texts (`store/text.ts`). */
export type Booking = Omit<BookingTable, 'pending_until'> & {
  /** For how long from now it may be pending, by the database's clock; stored as `pending_until`. */
  readonly pending_ms: number;
};

/** A booking is inserted; or its outcome is recorded; or it is deleted, as if it had never been. */
export type Step =
  | { readonly begin: Booking }
  | { readonly end: Pick<Booking, 'id' | 'state' | 'upstream_id'> }
  | { readonly erase: Booking };

/** Whether the step was done: a booking is not inserted if its user's idempotency key is taken. */
export type Done = boolean;

/** The participants of a booking as they were written. */
export function participantsOf({ participants }: Pick<Booking, 'participants'>): readonly Participant[] {
  return JSON.parse(participants) as readonly Participant[];
}

const doubtCode = 'BOOKINGS_IN_DOUBT';

/** Whether the transaction may or may not have taken effect: the database did not answer the commit. */
export function isInDoubt(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === doubtCode; // it may come from another thread
}

/** Carries out steps that do not depend on each other in one transaction, all or none. */
export const procedure: Procedure<null, readonly Step[], readonly Done[]> = {
  name: 'record bookings',
  begin: (store) => async (steps) => {
    const kept = await commit(store, toChanges(steps));
    return steps.map((step) => !('begin' in step) || kept.has(step.begin.id));
  },
};

/** In doubt only if the statements were answered but the commit was not: an undo finds the row, or waits for it. */
async function commit({ engine, kysely }: Store, changes: Changes): Promise<ReadonlySet<string>> {
  const change = engine === 'sqlite' ? changeOneByOne : changeAsOne;
  let isAnswered = false;
  try {
    return await kysely.transaction().execute(async (db) => {
      const kept = await change({ engine, kysely: db }, changes);
      isAnswered = true;
      return kept;
    });
  } catch (cause) {
    throw isAnswered ? inDoubt(cause) : cause;
  }
}

/**
 * Deletes bookings that may or may not be stored, even if their insertion takes effect only now: they are inserted
 * again first, which waits for any transaction, cut off from us, that is still about to insert them.
 */
export async function undoBookings({ engine, kysely }: Store, bookings: readonly Booking[]): Promise<void> {
  const sorted = sortByKey(bookings);
  await kysely.transaction().execute(async (db) => {
    await insertBookings(engine, sorted).execute(db);
    for (const statement of erasures(engine, sorted)) await statement.execute(db);
  });
}

interface Changes {
  readonly begun: readonly Booking[];
  readonly ended: readonly Extract<Step, { end: unknown }>['end'][];
  readonly erased: readonly Booking[];
}

function toChanges(steps: readonly Step[]): Changes {
  return {
    begun: sortByKey(steps.flatMap((step) => ('begin' in step ? [step.begin] : []))),
    ended: steps.flatMap((step) => ('end' in step ? [step.end] : [])),
    erased: steps.flatMap((step) => ('erase' in step ? [step.erase] : [])),
  };
}

/**
 * In one order on all replicas, against deadlocks: one may wait for a key that another is about to take, but no two for
 * each other.
 */
function sortByKey(bookings: readonly Booking[]): readonly Booking[] {
  const keyOf = ({ user_id, idempotency_key }: Booking) => `${user_id}\n${idempotency_key}`;
  const keyed = bookings.map((booking) => ({ booking, key: keyOf(booking) }));
  return keyed.toSorted((a, b) => (a.key < b.key ? -1 : Number(a.key > b.key))).map(({ booking }) => booking);
}

/** On SQLite, where the writer runs its statements without round trips. */
async function changeOneByOne(store: Store, changes: Changes): Promise<ReadonlySet<string>> {
  const { engine, kysely } = store;
  const { begun } = changes;
  if (begun.length > 0) await insertBookings(engine, begun).execute(kysely);
  const kept = begun.some(({ idempotency_key }) => idempotency_key !== null)
    ? await selectKept(store, begun)
    : new Set(begun.map(({ id }) => id));
  const references = begun.filter(({ id }) => kept.has(id)).flatMap(toReferences);
  if (references.length > 0) await insertReferences(engine, references).execute(kysely);
  for (const statement of endings(engine, changes)) await statement.execute(kysely);
  return kept;
}

async function selectKept({ engine, kysely }: Store, begun: readonly Booking[]): Promise<Set<string>> {
  const { rows } = await sql<
    Pick<Booking, 'id'>
  >`select id from bookings where id in (${idsOf(engine, begun)})`.execute(kysely);
  return new Set(rows.map(({ id }) => id));
}

/** On Postgres: a single statement, to save round trips. */
async function changeAsOne({ engine, kysely }: Store, changes: Changes): Promise<ReadonlySet<string>> {
  const { begun } = changes;
  const references = begun.flatMap(toReferences);
  const parts = [
    sql`kept as (${insertBookings(engine, begun)} returning id)`,
    sql`listed as (${insertReferences(engine, references)} where booking_id in (select id from kept))`,
    ...endings(engine, changes).map((statement, at) => sql`${sql.ref(`ending_${at}`)} as (${statement})`),
  ];
  const statement = sql<Pick<Booking, 'id'>>`with ${sql.join(parts)} select id from kept`;
  const { rows } = await statement.execute(kysely);
  return new Set(rows.map(({ id }) => id));
}

function inDoubt(cause: unknown): Error {
  const error = new Error(`A booking may or may not have been stored: ${(cause as Error).message}`, {
    cause,
  });
  return Object.assign(error, { code: doubtCode });
}

const bookingColumns = {
  id: 'text',
  user_id: 'text',
  email: 'text',
  idempotency_key: 'text',
  input_digest: 'text',
  state: 'text',
  pending_until: 'fromNow',
  upstream_id: 'text',
  status: 'text',
  start_text: 'text',
  start_instant: 'text',
  end_text: 'text',
  participants: 'text',
  booked_at: 'integer',
} satisfies Record<keyof BookingTable, Columns[string]>;

function insertBookings(engine: Engine, bookings: readonly Booking[]): RawBuilder<unknown> {
  const rows = bookings.map(({ pending_ms, ...booking }) => ({ ...booking, pending_until: pending_ms }));
  return insertRows(engine, 'bookings', bookingColumns, fixedRows(rows), sql`on conflict do nothing`);
}

const referenceColumns: Columns = { booking_id: 'text', reference: 'text' };

interface ReferenceRow extends Record<string, string> {
  readonly booking_id: string;
  readonly reference: string;
}

/** A row for each distinct participant. */
function toReferences(booking: Booking): readonly ReferenceRow[] {
  const references = participantsOf(booking).map(({ actor }) => keyText(actor.reference));
  return Array.from(new Set(references), (reference) => ({ booking_id: booking.id, reference }));
}

function insertReferences(engine: Engine, rows: readonly ReferenceRow[]): RawBuilder<unknown> {
  return insertRows(engine, 'booking_participants', referenceColumns, fixedRows(rows));
}

function endings(engine: Engine, { ended, erased }: Changes): readonly RawBuilder<unknown>[] {
  return [
    ...(ended.length > 0 ? [settlement(engine, ended)] : []),
    ...(erased.length > 0 ? erasures(engine, erased) : []),
  ];
}

const endColumns: Columns = { id: 'text', state: 'text', upstream_id: 'text' };

function settlement(engine: Engine, ended: Changes['ended']): RawBuilder<unknown> {
  return sql`update bookings set state = given.state, upstream_id = given.upstream_id
    from (${rowsOf(engine, endColumns, fixedRows(ended))}) as given where bookings.id = given.id`;
}

function erasures(engine: Engine, bookings: readonly Booking[]): readonly RawBuilder<unknown>[] {
  const references = rowsOf(engine, referenceColumns, fixedRows(bookings.flatMap(toReferences)));
  return [
    sql`delete from booking_participants
      where (reference, booking_id) in (select reference, booking_id from (${references}) as given)`,
    sql`delete from bookings where id in (${idsOf(engine, bookings)})`,
  ];
}

function idsOf(engine: Engine, bookings: readonly Booking[]): RawBuilder<unknown> {
  const ids = bookings.map(({ id }) => ({ id }));
  return rowsOf(engine, { id: 'text' }, fixedRows(ids));
}
