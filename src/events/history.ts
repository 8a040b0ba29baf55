import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../relay.js';
import type { Executor } from '../store/database.js';
import type { Reads } from '../store/reads.js';
import { keyText } from '../store/text.js';

/** An event as the log keeps it: the domain's event and its place in the log. */
export type Kept<E> = E & { readonly seq: number };

/** The events of one family that the log still keeps, by entity and by id; those that were skipped are left out. */
export interface History<E> {
  /** An entity's events, newest in the log first; positions are `seq`. What is asked for at once is read together. */
  of(entityId: string, query: RowQuery): Promise<readonly Kept<E>[]>;
  /** The event of this id; null where it is unknown or gone. */
  event(eventId: string): Promise<Kept<E> | null>;
}

/** An event as it is shown, by the state of its entity just after it. */
export type Show<E, S> = (event: E, state: S) => E;

/** What a history is read from. */
interface Source<E, S> {
  readonly db: Executor;
  readonly reads: Reads;
  readonly family: string;
  readonly show: Show<E, S> | undefined;
}

interface Asked {
  readonly entityId: string;
  readonly query: RowQuery;
}

/** Of each page all rows are read at once. */
const mostPages = 20;
const mostIds = 100;

/** For one operation, the history of a family whose events are of the model `E`; what was read is not read again. */
export function createHistory<E extends object, S>(source: Source<E, S>): History<E> {
  const pages = new DataLoader<Asked, readonly Kept<E>[], string>((asked) => readPages(source, asked), {
    cacheKeyFn: (asked) => JSON.stringify(asked),
    maxBatchSize: mostPages,
  });
  const events = new DataLoader((ids: readonly string[]) => readEvents(source, ids), {
    maxBatchSize: mostIds,
  });
  return {
    of: (entityId, query) => pages.load({ entityId, query }),
    event: (eventId) => events.load(eventId),
  };
}

async function readPages<E, S>(source: Source<E, S>, asked: readonly Asked[]): Promise<Kept<E>[][]> {
  const [first, ...rest] = asked.map((one, slot) =>
    source.db
      .selectFrom(pageOf(source, one).as('page'))
      .select(['seq', 'event', 'entity', sql<number>`${sql.lit(slot)}`.as('slot')]),
  );
  const union = rest.reduce((all, page) => all.unionAll(page), first!);
  const rows = await source.reads.next(() => union.execute());
  const pages = asked.map((): Kept<E>[] => []);
  for (const { slot, ...row } of rows) pages[slot]!.push(toKept(source, row));
  // A union promises no order.
  return pages.map((page, slot) =>
    page.toSorted(asked[slot]!.query.backward ? (a, b) => a.seq - b.seq : (a, b) => b.seq - a.seq),
  );
}

function pageOf<E, S>(source: Source<E, S>, { entityId, query }: Asked) {
  const { limit, backward, after, before } = query as RowQuery & { after?: number; before?: number };
  return source.db
    .selectFrom('events')
    .select(['seq', 'event', entityOf(source)])
    .where('family', '=', source.family)
    .where('entity_id', '=', keyText(entityId))
    .where('event', 'is not', null)
    .$if(after !== undefined, (page) => page.where('seq', '<', after!))
    .$if(before !== undefined, (page) => page.where('seq', '>', before!))
    .orderBy('seq', backward ? 'asc' : 'desc')
    .limit(limit);
}

/** Read only where it is wanted: it is often as long as the event. */
function entityOf<E, S>({ show }: Source<E, S>) {
  return sql<string | null>`${show ? sql.ref('entity') : sql.lit(null)}`.as('entity');
}

async function readEvents<E, S>(source: Source<E, S>, ids: readonly string[]): Promise<(Kept<E> | null)[]> {
  const look = source.db
    .selectFrom('event_ids')
    .innerJoin('events', 'events.seq', 'event_ids.seq')
    .select(['event_ids.event_id', 'events.seq', 'events.event', entityOf(source)])
    .where('event_ids.family', '=', source.family)
    .where('event_ids.event_id', 'in', ids.map(keyText))
    .where('events.event', 'is not', null);
  const rows = await source.reads.next(() => look.execute());
  const found = new Map(rows.map(({ event_id, ...row }) => [event_id, toKept(source, row)]));
  return ids.map((id) => found.get(keyText(id)) ?? null);
}

interface EventRow {
  readonly seq: number;
  readonly event: string | null;
  readonly entity: string | null;
}

function toKept<E, S>({ show }: Source<E, S>, { seq, event: text, entity }: EventRow): Kept<E> {
  const event = JSON.parse(text!) as E;
  return { ...(show ? show(event, JSON.parse(entity!) as S) : event), seq };
}
