import DataLoader from 'dataloader';
import { sql } from 'kysely';
import type { RowQuery } from '../../graphql/connection.js';
import { createCache, type Cache } from '../../lib/cache/cache.js';
import { prepare, type MakePlaceholder, type Prepared } from '../../store/sql/prepared.js';
import { octetsOf, shareOf, shortTexts, type Reads } from '../../store/sql/read-budget.js';
import type { Executor } from '../../store/store.js';
import { keyText } from '../../store/sql/key-text.js';
import { readStoredEvent } from '../log/log.js';

/** A stored event: the domain's event, with its number in the log. */
export type StoredEvent<E> = E & { readonly seq: number };

/** The events of one family that the log still keeps, by entity and by id, without skipped ones. */
export interface History<E> {
  /** An entity's events, newest in the log first; positions are `seq`. Requests of the same tick are read together. */
  of(entityId: string, query: RowQuery<number>): Promise<readonly StoredEvent<E>[]>;
  /** The event with this id; null if it is unknown, skipped or no longer kept. */
  event(eventId: string): Promise<StoredEvent<E> | null>;
}

/** Makes an event as clients see it, given the state of its entity just after it. */
export type Show<E, S> = (event: E, state: () => S) => E;

/** What a history is read from. */
interface Source<E, S> {
  readonly db: Executor;
  readonly statements: PageStatements;
  readonly reads: Reads;
  readonly family: string;
  readonly show: Show<E, S> | undefined;
}

interface Asked {
  readonly entityId: string;
  readonly query: RowQuery<number>;
}

/** An event's row; texts that were too long for the first read are null, and `entity` is only read if needed. */
interface HistoryRow {
  readonly seq: number;
  readonly event: string | null;
  readonly entity: string | null;
}

/** Pages to read, and how many octets a row may have to be read with them. */
interface Pages {
  readonly asked: readonly Asked[];
  readonly share: number;
}

/** A row, with the place of its page among those that were asked for. */
type PageRow = HistoryRow & { readonly slot: number };

/** The statements that read pages of one database, by the shapes of these: building one takes longer than running it. */
export type PageStatements = Cache<Prepared<Pages, PageRow>>;

/** How many pages, each with all its rows, one statement looks up. */
const maxPages = 20;
const maxIds = 100;
const maxStatements = 100;

/** No statements yet; for all operations that read the same family from the same database. */
export const createPageStatements = (): PageStatements => createCache(maxStatements);

/** The history of a family with events `E`, for one operation; repeated requests share one read. */
export function createHistory<E extends object, S>(source: Source<E, S>): History<E> {
  const pages = new DataLoader<Asked, readonly StoredEvent<E>[], string>(
    (asked) => readPages(source, asked),
    {
      cacheKeyFn: (asked) => JSON.stringify(asked),
      maxBatchSize: maxPages,
    },
  );
  const events = new DataLoader((ids: readonly string[]) => readEvents(source, ids), {
    maxBatchSize: maxIds,
  });
  return {
    of: (entityId, query) => pages.load({ entityId, query }),
    event: (eventId) => events.load(eventId),
  };
}

async function readPages<E, S>(source: Source<E, S>, asked: readonly Asked[]): Promise<StoredEvent<E>[][]> {
  const share = shareOf(asked.reduce((sum, { query }) => sum + query.limit, 0));
  const shape = asked.map(shapeOf).join();
  const run = source.statements.get(shape) ?? preparePages(source, asked);
  source.statements.set(shape, run);
  const rows = await source.reads.next(() => run(source.db, { asked, share }));
  const events = await eventsOf(source, rows);
  const pages = asked.map((): StoredEvent<E>[] => []);
  for (const { seq, slot } of rows) {
    const event = events.get(seq); // gone if it was pruned meanwhile
    if (event) pages[slot]!.push(event);
  }
  // A union guarantees no order.
  return pages.map((page, slot) =>
    page.toSorted(asked[slot]!.query.backward ? (a, b) => a.seq - b.seq : (a, b) => b.seq - a.seq),
  );
}

/** What decides the text of a page's statement. */
function shapeOf({ query: { backward, after, before } }: Asked): string {
  return `${backward ? 'last' : 'first'} ${after === undefined ? '' : 'after'} ${before === undefined ? '' : 'before'}`;
}

/** Prepares the statement for pages of these shapes. */
function preparePages<E, S>(source: Source<E, S>, asked: readonly Asked[]): Prepared<Pages, PageRow> {
  return prepare(source.db, (given: MakePlaceholder<Pages>) => {
    const [first, ...rest] = asked.map(({ query }, slot) =>
      source.db
        .selectFrom(pageOf(source, query, slot, given).as('page'))
        .selectAll()
        .select(sql<number>`${sql.lit(slot)}`.as('slot')),
    );
    return rest.reduce((all, page) => all.unionAll(page), first!);
  });
}

function pageOf<E, S>(
  source: Source<E, S>,
  { backward, after, before }: RowQuery<number>,
  slot: number,
  given: MakePlaceholder<Pages>,
) {
  const askedFor = <T>(read: (asked: Asked) => T) => given(({ asked }) => read(asked[slot]!));
  return source.db
    .selectFrom('events')
    .select('seq')
    .select(
      shortTexts(
        given(({ share }) => share),
        ...textsOf(source),
      ),
    )
    .where('family', '=', source.family)
    .where(
      'entity_id',
      '=',
      askedFor(({ entityId }) => keyText(entityId)),
    )
    .where('event', 'is not', null)
    .$if(after !== undefined, (page) =>
      page.where(
        'seq',
        '<',
        askedFor(({ query }) => query.after!),
      ),
    )
    .$if(before !== undefined, (page) =>
      page.where(
        'seq',
        '>',
        askedFor(({ query }) => query.before!),
      ),
    )
    .orderBy('seq', backward ? 'asc' : 'desc')
    .limit(askedFor(({ query }) => query.limit));
}

/** The texts to read: an entity's only if needed, since it is often as long as the event's. */
function textsOf<E, S>({ show }: Source<E, S>): readonly ('event' | 'entity')[] {
  return show ? ['event', 'entity'] : ['event'];
}

async function readEvents<E, S>(
  source: Source<E, S>,
  ids: readonly string[],
): Promise<(StoredEvent<E> | null)[]> {
  const share = shareOf(ids.length);
  const query = source.db
    .selectFrom('event_ids')
    .innerJoin('events', 'events.seq', 'event_ids.seq')
    .select(['event_ids.event_id', 'events.seq'])
    .select(shortTexts(share, ...textsOf(source)))
    .where('event_ids.family', '=', source.family)
    .where('event_ids.event_id', 'in', ids.map(keyText))
    .where('events.event', 'is not', null);
  const rows = await source.reads.next(() => query.execute());
  const events = await eventsOf(source, rows);
  const found = new Map(rows.map(({ event_id, seq }) => [event_id, events.get(seq)]));
  return ids.map((id) => found.get(keyText(id)) ?? null);
}

/** The events of these rows, by number; texts too long for the first read are read now, if they still exist. */
async function eventsOf<E, S>(
  source: Source<E, S>,
  rows: readonly HistoryRow[],
): Promise<ReadonlyMap<number, StoredEvent<E>>> {
  const short = rows.filter(({ event }) => event !== null);
  source.reads.take(short.reduce((sum, { event, entity }) => sum + event!.length + (entity?.length ?? 0), 0));
  const events = short.map((row) => toStoredEvent(source, row));
  const long = rows.filter(({ event }) => event === null).map(({ seq }) => seq);
  if (long.length > 0) events.push(...(await readLong(source, long)));
  return new Map(events.map((event) => [event.seq, event]));
}

async function readLong<E, S>(
  source: Source<E, S>,
  seqs: readonly number[],
): Promise<readonly StoredEvent<E>[]> {
  const { db, reads } = source;
  const texts = textsOf(source);
  const measure = db
    .selectFrom('events')
    .select(['seq', octetsOf(...texts)])
    .where('seq', 'in', seqs);
  const sizes = await reads.next(() => measure.execute());
  return reads.long(sizes, async (portion) => {
    const numbers = portion.map(({ seq }) => seq);
    const read = db
      .selectFrom('events')
      .select(['seq', ...texts])
      .where('seq', 'in', numbers);
    return (await read.execute()).map((row) => toStoredEvent(source, row as HistoryRow));
  });
}

function toStoredEvent<E, S>(
  { show }: Source<E, S>,
  { seq, event: text, entity }: HistoryRow,
): StoredEvent<E> {
  const event = readStoredEvent(text!) as E;
  return { ...(show ? show(event, () => JSON.parse(entity!) as S) : event), seq };
}
