import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../lib/clock.js';
import { isObject, LaterJson } from '../../lib/json.js';
import { endSpan, traceCommit } from '../../lib/telemetry/tracing.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { answers, type Database } from '../../store/database.js';
import { prepare, type MakePlaceholder } from '../../store/sql/prepared.js';
import type { EventTable } from '../../store/sql/schema.js';
import { octetsOf, shareOf, shortTexts } from '../../store/sql/read-budget.js';
import type { Executor } from '../../store/store.js';
import { fromKeyText } from '../../store/sql/key-text.js';
import type { Commit, Outcome } from './commit.js';
import type { Delivery } from '../webhooks/delivery.js';
import {
  positionOf,
  positionText,
  readPosition,
  type LogPosition,
  type PositionRow,
} from './log-position.js';
import { BatchQueue } from '../../lib/async/batch-queue.js';
import { createDeliveryMetrics } from './delivery-metrics.js';
import { startRetention } from './retention.js';

/** An event in the log; as a `LogPosition`, it is the position just after the event. */
export interface LogEntry extends LogPosition {
  /** Its number: 1 for the first event ever, then without a gap, in the order of commits. */
  readonly seq: number;
  readonly family: string;
  readonly eventId: string;
  /** Null if the event was skipped. Of a very long id this is only a digest; the event has it in full. */
  readonly entityId: string | null;
  /**
   * The domain's event, as `readStoredEvent` reads it; null if it was skipped. Throws if it is corrupt (no longer
   * JSON).
   */
  readonly event: unknown;
  /** The state of the entity as folded just after this event; null if it was skipped. Throws like `event`. */
  readonly entity: unknown;
  /** The length of event and entity together, as JSON, for callers that bound their memory. */
  readonly weight: number;
}

/** The durable, ordered log of events, each stored once. */
export interface Log {
  /** Resolves once the event is durable. Rejects if that is not certain: then the sender should retry. */
  append(delivery: Delivery): Promise<Outcome>;
  /** The last number of the log, as far as this process has appended to it; 0 before. */
  appended(): number;
  /** The position just after the entry with this number; undefined if there is none, or it has been pruned. */
  position(seq: number): Promise<LogPosition | undefined>;
  bounds(): Promise<Bounds>;
  /**
   * The events after this number, in order, at most `limit`; skipped and corrupt ones are included. Ends before one
   * that would make it longer than 4 MiB, except the first.
   */
  read(after: number, limit: number): Promise<readonly LogEntry[]>;
  /** The same, together with the position at `after`. */
  readOn(after: number, limit: number): Promise<Onward>;
  /**
   * The same as rows, as `entryOf` takes them; undefined if the log has no such position, or no longer what follows it.
   */
  rowsAfter(
    position: LogPosition,
    limit: number,
  ): Promise<{ rows: readonly EventRow[]; more: boolean } | undefined>;
  /** Deletes the events past the retention period. Only tests wait for it: it happens in the background. */
  prune(): Promise<void>;
  /** Stores the deliveries accepted so far, then stops. */
  stop(): Promise<void>;
}

/** What comes after a position. */
export interface Onward {
  /** As `Log.position`. */
  readonly position: LogPosition | undefined;
  readonly entries: readonly LogEntry[];
  /** Whether there may be more after these. */
  readonly more: boolean;
}

/** Where the log begins and ends at the time of reading. */
export interface Bounds {
  /** Identifies the log: random, created with the database. A position in another log means nothing in this one. */
  readonly id: string;
  /** The greatest number committed; 0 before the first event. */
  readonly head: number;
  /** Events up to this number are gone (retention). */
  readonly pruned: number;
}

/** Where events are stored, by which commit, and how long they stay. */
export interface LogOptions {
  readonly database: Database;
  /** Appends deliveries in one transaction (`createCommit`). */
  commit(deliveries: readonly Delivery[]): Promise<Commit>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** How long events stay readable. */
  readonly retentionDays: number;
}

const maxBatch = { items: 256, weight: 8_000_000 };
const maxQueue = { items: 10_000, weight: 64_000_000 };
/** How many octets are read at once: less than is kept of a page, which would else be read again and again. */
const most = shareOf(1);

/** The log in this database. */
export function createLog(options: LogOptions): Log {
  const { database, telemetry } = options;
  const report = createDeliveryMetrics(telemetry);
  const retention = startRetention(options);
  const readRows = createReadRows(database.kysely);
  const queue = new BatchQueue<Delivery, Outcome>({
    commit,
    worthRetrying: () => answers(database),
    weigh: ({ body }) => body.length,
    maxBatch,
    maxQueue,
  });

  let appended = 0;

  async function commit(batch: readonly Delivery[]): Promise<readonly Outcome[]> {
    const span = traceCommit(batch);
    const { outcomes, head, seq } = await options.commit(batch).finally(() => endSpan(span));
    appended = seq;
    // On Postgres the commit itself has sent this signal.
    if (head && database.engine === 'sqlite') database.signal('log', positionText(head));
    batch.forEach((delivery, at) => report(delivery, outcomes[at]!));
    return outcomes;
  }

  return {
    append: (delivery) => queue.push(delivery),
    appended: () => appended,
    bounds: () => readBounds(database.kysely),
    position: (seq) => readPosition(database.kysely, seq),
    read: async (after, limit) => (await readRows({ after, limit }, entryOf)).taken,
    async readOn(after, limit) {
      let position: LogPosition | undefined;
      const { taken: entries, more } = await readRows(readingOn(after, limit), (row) => {
        if (row.seq !== after) return entryOf(row);
        position = positionOf(row);
        return undefined;
      });
      return { position, entries, more };
    },
    async rowsAfter({ seq, witness }, limit) {
      const { taken: rows, more } = await readRows(readingOn(seq, limit), (row) => row);
      if (rows[0]?.seq === seq)
        return positionOf(rows[0]).witness === witness ? { rows: rows.slice(1), more } : undefined;
      // Before the first entry, or where retention has deleted the entry but none after it.
      const { pruned } = await readBounds(database.kysely);
      return pruned === seq ? { rows: rows.slice(0, limit), more } : undefined;
    },
    prune: () => retention.prune(),
    async stop() {
      await Promise.all([queue.stop(), retention.stop()]);
    },
  };
}

/** What comes after an entry, together with the entry, whose position is compared, and whose texts are not read. */
function readingOn(seq: number, limit: number) {
  return { after: seq - 1, limit: limit + 1, known: seq };
}

function readBounds(db: Executor): Promise<Bounds> {
  return db
    .selectFrom('log_head')
    .select(['log_id as id', 'seq as head', 'pruned'])
    .where('log_head.id', '=', 1)
    .executeTakeFirstOrThrow();
}

/** Where to read the log, and how much of it. */
interface Range {
  /** The number before that of the first entry. */
  readonly after: number;
  readonly limit: number;
  /** The number of an entry whose texts are not needed. */
  readonly known?: number;
}

/** An entry as it is stored. */
export type EventRow = PositionRow & Pick<EventTable, 'entity_id' | 'event' | 'entity'>;

/**
 * Reads rows in order, and takes each as soon as it has its texts; what is undefined is left out. Long ones are read
 * and taken one in a turn of the event loop, since an embedded database blocks it meanwhile. Ends before one that
 * retention deletes meanwhile, or that is one too many; `more` says whether there may be more.
 */
function createReadRows(
  db: Executor,
): <T>(range: Range, take: (row: EventRow) => T | undefined) => Promise<{ taken: T[]; more: boolean }> {
  const readRange = prepare(db, (range: MakePlaceholder<Range>) =>
    db
      .selectFrom('events')
      .select(['seq', 'family', 'event_id', 'entity_id', 'received_at', octetsOf('event', 'entity')])
      .select(
        shortTexts(
          range(({ limit }) => shareOf(limit)),
          'event',
          'entity',
        ),
      )
      .where(
        'seq',
        '>',
        range(({ after }) => after),
      )
      .orderBy('seq')
      .limit(range(({ limit }) => limit)),
  );
  const readTexts = prepare(db, (seq: MakePlaceholder<number>) =>
    db.selectFrom('events').select(['event', 'entity']).where('seq', '=', seq(Number)),
  );
  return async <T>(range: Range, take: (row: EventRow) => T | undefined) => {
    const rows = await readRange(db, range);
    const taken: T[] = [];
    let octets = 0;
    for (let row of rows) {
      const isNeeded = row.seq !== range.known;
      if (isNeeded) octets += row.octets;
      // One that is longer by itself is read, or nothing would come after it.
      if (octets > most && octets > row.octets) return { taken, more: true };
      if (row.event === null && row.octets !== null && isNeeded) {
        await turn();
        const [texts] = await readTexts(db, row.seq);
        if (!texts) return { taken, more: true };
        row = { ...row, ...texts };
      }
      const found = take(row);
      if (found !== undefined) taken.push(found);
    }
    return { taken, more: rows.length >= range.limit };
  };
}

/** The entry of a row. */
export function entryOf(row: EventRow): LogEntry {
  try {
    return entryWith(
      row,
      row.event === null ? null : readStoredEvent(row.event),
      row.entity === null ? null : JSON.parse(row.entity),
    );
  } catch (cause) {
    return corrupt(entryWith(row, null, null), cause);
  }
}

/** In characters: what is shorter is parsed at once. */
const longEvent = 64 * 1024;
const beforeData = ',"data":';

/**
 * The event that is stored as this text. A long member `data`, which is its last, is `LaterJson`: most of those who
 * look at an event do not need it. Throws if the text is not JSON.
 */
export function readStoredEvent(text: string): unknown {
  // No string has these characters unescaped, and no member before `data` has members of its own.
  const at = text.length > longEvent ? text.indexOf(beforeData) : -1;
  if (at < 0 || text.length - at < longEvent || !text.endsWith('}')) return JSON.parse(text);
  const head: unknown = JSON.parse(`${text.slice(0, at)}}`);
  return isObject(head) ? { ...head, data: new LaterJson(text.slice(at + beforeData.length, -1)) } : head;
}

/** Written out: to spread one object into another would take longer than to read the row. */
function entryWith(row: EventRow, event: unknown, entity: unknown): LogEntry {
  return {
    seq: row.seq,
    witness: positionOf(row).witness,
    family: row.family,
    eventId: fromKeyText(row.event_id),
    entityId: row.entity_id === null ? null : fromKeyText(row.entity_id),
    event,
    entity,
    weight: (row.event?.length ?? 0) + (row.entity?.length ?? 0),
  };
}

/** Only whoever wants the event is told: those who do not can pass it. */
function corrupt(known: LogEntry, cause: unknown): LogEntry {
  return {
    ...known,
    get event(): never {
      throw cause;
    },
    get entity(): never {
      throw cause;
    },
  };
}
