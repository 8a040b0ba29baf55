import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../relay.js';
import type { Database, Executor } from '../store/database.js';
import { keyText } from '../store/text.js';

/** An event as the log keeps it: the domain's event and its place in the log. */
export type Kept<E> = E & { readonly seq: number };

/** The events of one family that the log still keeps, by entity and by id; those that were skipped are left out. */
export interface History<E> {
  /** An entity's events, newest in the log first; positions are `seq`. What is asked for at once is one statement. */
  of(entityId: string, query: RowQuery): Promise<readonly Kept<E>[]>;
  /** The event of this id; null where it is unknown or gone. */
  event(eventId: string): Promise<Kept<E> | null>;
}

interface Asked {
  readonly entityId: string;
  readonly query: RowQuery;
}

/** SQLite joins at most 500 selects in one statement. */
const maxBatchSize = 100;

/** The history of a family whose events are of the model `E`. */
export function createHistory<E extends object>(database: Database, family: string): History<E> {
  // Without a cache a loader only gathers what is asked for in one tick, so it can serve every operation.
  const options = { cache: false, maxBatchSize };
  const pages = new DataLoader(
    (asked: readonly Asked[]) => readPages<E>(database.kysely, family, asked),
    options,
  );
  const events = new DataLoader(
    (ids: readonly string[]) => readEvents<E>(database.kysely, family, ids),
    options,
  );
  return {
    of: (entityId, query) => pages.load({ entityId, query }),
    event: (eventId) => events.load(eventId),
  };
}

async function readPages<E>(db: Executor, family: string, asked: readonly Asked[]): Promise<Kept<E>[][]> {
  const [first, ...rest] = asked.map(({ entityId, query }, slot) =>
    db
      .selectFrom(pageOf(db, family, entityId, query).as('page'))
      .select(['seq', 'event', sql<number>`${sql.lit(slot)}`.as('slot')]),
  );
  const rows = await rest.reduce((all, page) => all.unionAll(page), first!).execute();
  const pages = asked.map((): Kept<E>[] => []);
  for (const { slot, seq, event } of rows) pages[slot]!.push(toKept(seq, event));
  // A union promises no order.
  return pages.map((page, slot) =>
    page.toSorted(asked[slot]!.query.backward ? (a, b) => a.seq - b.seq : (a, b) => b.seq - a.seq),
  );
}

function pageOf(db: Executor, family: string, entityId: string, query: RowQuery) {
  const { limit, backward, after, before } = query as RowQuery & { after?: number; before?: number };
  return db
    .selectFrom('events')
    .select(['seq', 'event'])
    .where('family', '=', family)
    .where('entity_id', '=', keyText(entityId))
    .where('event', 'is not', null)
    .$if(after !== undefined, (page) => page.where('seq', '<', after!))
    .$if(before !== undefined, (page) => page.where('seq', '>', before!))
    .orderBy('seq', backward ? 'asc' : 'desc')
    .limit(limit);
}

async function readEvents<E>(
  db: Executor,
  family: string,
  ids: readonly string[],
): Promise<(Kept<E> | null)[]> {
  const rows = await db
    .selectFrom('event_ids')
    .innerJoin('events', 'events.seq', 'event_ids.seq')
    .select(['event_ids.event_id', 'events.seq', 'events.event'])
    .where('event_ids.family', '=', family)
    .where('event_ids.event_id', 'in', ids.map(keyText))
    .where('events.event', 'is not', null)
    .execute();
  const found = new Map(rows.map(({ event_id, seq, event }) => [event_id, toKept<E>(seq, event)]));
  return ids.map((id) => found.get(keyText(id)) ?? null);
}

function toKept<E>(seq: number, event: string | null): Kept<E> {
  return { ...(JSON.parse(event!) as E), seq };
}
