import type { Clock } from '../clock.js';
import type { Telemetry } from '../telemetry.js';
import type { Database } from '../store/database.js';
import { clockSkew } from '../store/skew.js';
import type { Executor } from '../store/store.js';

/** What retention works with. */
export interface RetentionOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly retentionDays: number;
}

/** Deletes old events. Their ids, and the states folded from them, are kept for ever. */
export interface Retention {
  /**
   * Deletes the events that are too old, oldest first and in small steps, along with any before them in the log that a
   * fast clock dated later. Deletes nothing while this machine's clock is wrong.
   */
  prune(): Promise<void>;
  stop(): Promise<void>;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const stepSize = 500;
const skewed = 'old events are not deleted: the clocks of this process and of the database differ by minutes';

/** Prunes in the background, now and every hour; a failure is logged, and the next run catches up. */
export function startRetention({ database, clock, telemetry, retentionDays }: RetentionOptions): Retention {
  let running: Promise<void> = Promise.resolve();
  let stopped = false;

  async function run(): Promise<void> {
    const aheadMs = await clockSkew(database);
    if (aheadMs !== undefined) return telemetry.log.error({ aheadMs }, skewed);
    const cutoff = clock.now() - retentionDays * dayMs;
    let deleted = 0;
    try {
      while (!stopped) {
        const step = await pruneStep(database.kysely, cutoff);
        if (step === 0) break;
        deleted += step;
      }
    } finally {
      if (deleted > 0) telemetry.log.info({ deleted }, 'old events were deleted');
    }
  }

  /** One run at a time. A call never joins a run under way, whose cutoff is earlier. */
  function prune(): Promise<void> {
    const pruned = running.then(run);
    running = pruned.catch(() => undefined);
    return pruned;
  }

  const pruneInBackground = () => {
    prune().catch((err: unknown) => telemetry.log.error({ err }, 'old events could not be deleted'));
  };
  pruneInBackground();
  const timer = setInterval(pruneInBackground, hourMs).unref();

  return {
    prune,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}

/** Of the first events in the log, deletes all up to the last one received before `cutoff`; returns how many. */
async function pruneStep(db: Executor, cutoff: number): Promise<number> {
  const rows = await db
    .selectFrom('events')
    .select(['seq', 'received_at'])
    .orderBy('seq')
    .limit(stepSize)
    .execute();
  const last = rows.findLast(({ received_at }) => received_at < cutoff);
  return last ? deleteThrough(db, last.seq) : 0;
}

async function deleteThrough(db: Executor, seq: number): Promise<number> {
  // First, so that cursors are refused before their events are gone; after a crash in between, the next run deletes
  // the events.
  await db
    .updateTable('log_head')
    .set({ pruned: seq })
    .where('id', '=', 1)
    .where('pruned', '<', seq)
    .execute();
  const gone = db.selectFrom('events').select(['family', 'event_id']).where('seq', '<=', seq);
  await db
    .deleteFrom('event_renderings')
    .where(({ eb, refTuple }) =>
      eb(refTuple('family', 'event_id'), 'in', gone.$asTuple('family', 'event_id')),
    )
    .execute();
  const { numDeletedRows } = await db.deleteFrom('events').where('seq', '<=', seq).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
