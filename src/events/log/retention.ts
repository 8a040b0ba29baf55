import type { Clock } from '../../lib/clock.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Database } from '../../store/database.js';
import { EventPartitions } from '../../store/postgres/event-partitions.js';
import type { EventTable } from '../../store/sql/schema.js';
import { clockSkew } from '../../store/clock-skew.js';
import type { Executor } from '../../store/store.js';

/** Whose events are deleted, by which clock, and after how many days. */
export interface RetentionOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly retentionDays: number;
  /** The partitions of the log, on Postgres. */
  readonly partitions?: EventPartitions | undefined;
}

/** Deletes old events. Their ids, and the states folded from them, are kept for ever. */
export interface Retention {
  /**
   * Deletes the events that are too old, oldest first and in small steps, along with any before them in the log that a
   * fast clock dated later. Only 500 or more of those in a row whose date has passed delay this, until that date is too
   * old as well. Deletes nothing while this machine's clock is wrong.
   */
  prune(): Promise<void>;
  stop(): Promise<void>;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const stepSize = 500;
const minuteMs = 60_000;
/** Less than a minute, so that all replicas together try once a minute: a dump may hold the table for hours. */
const dividePauseMs = 50_000;
const undivided = 'the log could not be divided into partitions; this is tried again in a minute';
const hidden = 'old events were hidden, and are deleted with their partition';
const skewed = 'old events are not deleted: the clocks of this process and of the database differ by minutes';

/**
 * Prunes in the background, now and every hour; a failure is logged, and the next run catches up. On Postgres it also
 * divides the log, every minute, so that what a process that died has begun does not stay so.
 */
export function startRetention(options: RetentionOptions): Retention {
  const { database, clock, telemetry, retentionDays } = options;
  const { partitions = partitionsOf(database, telemetry) } = options;
  const stopping = new AbortController();
  let pruning: Promise<void> = Promise.resolve();
  let dividing: Promise<void> | undefined;

  async function run(): Promise<void> {
    const aheadMs = await clockSkew(database);
    if (aheadMs !== undefined) return telemetry.log.error({ aheadMs }, skewed);
    const now = clock.now();
    const cutoff = now - retentionDays * dayMs;
    let passed = 0;
    const isDivided = ((await partitions?.list()) ?? []).length > 0;
    try {
      const remove = isDivided ? hideThrough : deleteThrough;
      for await (const seq of stepsToDelete(database.kysely, { now, cutoff, signal: stopping.signal })) {
        passed += await remove(database.kysely, seq);
      }
      await deleteLeftBodies(database.kysely);
      await partitions?.drop();
    } finally {
      if (passed > 0 && isDivided) telemetry.log.info({ hidden: passed }, hidden);
      else if (passed > 0) telemetry.log.info({ deleted: passed }, 'old events were deleted');
    }
  }

  /** One at a time. Never joins a run under way, whose cutoff is earlier. */
  function prune(): Promise<void> {
    const done = pruning.then(run);
    pruning = done.catch(() => undefined);
    return done;
  }

  const pruneInBackground = () => {
    prune().catch((err: unknown) => telemetry.log.error({ err }, 'old events could not be deleted'));
  };
  /** Unless it still does so. Pruning does not wait for it: to check the bounds of a large part takes minutes. */
  const divideInBackground = () => {
    dividing ??= partitions
      ?.divide(stopping.signal, dividePauseMs)
      .catch((err: unknown) => {
        if (!stopping.signal.aborted) telemetry.log.warn({ err }, undivided);
      })
      .finally(() => (dividing = undefined));
  };
  divideInBackground();
  pruneInBackground();
  const timers = [setInterval(pruneInBackground, hourMs), setInterval(divideInBackground, minuteMs)];
  for (const timer of timers) timer.unref();

  return {
    prune,
    async stop() {
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
      await Promise.all([pruning, dividing]);
    },
  };
}

/** Yields how far to delete, step by step, up to the last event received before `cutoff`. */
async function* stepsToDelete(
  db: Executor,
  { now, cutoff, signal }: { readonly now: number; readonly cutoff: number; readonly signal: AbortSignal },
): AsyncGenerator<number, void> {
  const passed: number[] = [];
  for (let after = 0; !signal.aborted;) {
    const rows = await readStep(db, after);
    const old = rows.findLast(({ received_at }) => received_at < cutoff);
    const end = old ?? endToPass(rows, now);
    if (!end) return;
    after = end.seq;
    passed.push(after);
    if (old) yield* passed.splice(0);
  }
}

function partitionsOf(database: Database, { log }: Telemetry): EventPartitions | undefined {
  return database.engine === 'postgres' ? new EventPartitions(database, log) : undefined;
}

type AgeRow = Pick<EventTable, 'seq' | 'received_at'>;

function readStep(db: Executor, after: number): Promise<readonly AgeRow[]> {
  const events = db.selectFrom('events').select(['seq', 'received_at']).where('seq', '>', after);
  return events.orderBy('seq').limit(stepSize).execute();
}

/** The last row of a full step, if it is dated after `now`: that says nothing about the age of those behind it. */
function endToPass(rows: readonly AgeRow[], now: number): AgeRow | undefined {
  const last = rows[stepSize - 1];
  return last && last.received_at > now ? last : undefined;
}

/**
 * Hides events, and deletes their altered bodies. Returns how many there were: numbers have no gaps. On a divided log they
 * are dropped with their partition.
 */
function hideThrough(db: Executor, seq: number): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const head = transaction.updateTable('log_head').where('id', '=', 1);
    // Holds the head, so that no body is stored meanwhile.
    const held = head.set(({ ref }) => ({ pruned: ref('pruned') })).returning('pruned');
    const { pruned } = await held.executeTakeFirstOrThrow();
    if (pruned >= seq) return 0;
    const gone = transaction
      .selectFrom('events')
      .select(['family', 'event_id'])
      .where('seq', '>', pruned)
      .where('seq', '<=', seq);
    await transaction
      .deleteFrom('event_renderings')
      .where(({ eb, refTuple }) =>
        eb(refTuple('family', 'event_id'), 'in', gone.$asTuple('family', 'event_id')),
      )
      .execute();
    await head.set({ pruned: seq }).execute();
    return seq - pruned;
  });
}

/** Deletes the bodies that version 0.1.0 leaves as it hides events, or if it ends then; none came before its event. */
async function deleteLeftBodies(db: Executor): Promise<void> {
  const { pruned } = await db.selectFrom('log_head').select('pruned').executeTakeFirstOrThrow();
  const bodies = db.deleteFrom('event_renderings').where('after_seq', '>', 0); // 0 is where it stores them
  await bodies.where('after_seq', '<=', pruned).execute();
}

async function deleteThrough(db: Executor, seq: number): Promise<number> {
  // First, so that cursors are refused before their events are gone; after a crash in between, the next run deletes
  // the events.
  const count = await hideThrough(db, seq);
  await db.deleteFrom('events').where('seq', '<=', seq).execute();
  return count;
}
