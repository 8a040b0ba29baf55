import type { Clock } from '../../lib/clock.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Database } from '../../store/database.js';
import type { EventTable } from '../../store/sql/schema.js';
import { clockSkew } from '../../store/clock-skew.js';
import type { Executor } from '../../store/store.js';

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
   * fast clock dated later. Only 500 or more of those in a row whose date has passed delay this, until that date is too
   * old as well. Deletes nothing while this machine's clock is wrong.
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

  /** Yields how far to delete, step by step, up to the last event received before `cutoff`. */
  async function* stepsToDelete(now: number, cutoff: number): AsyncGenerator<number, void> {
    const passed: number[] = [];
    for (let after = 0; !stopped;) {
      const rows = await readStep(database.kysely, after);
      const old = rows.findLast(({ received_at }) => received_at < cutoff);
      const end = old ?? endToPass(rows, now);
      if (!end) return;
      after = end.seq;
      passed.push(after);
      if (old) yield* passed.splice(0);
    }
  }

  async function run(): Promise<void> {
    const aheadMs = await clockSkew(database);
    if (aheadMs !== undefined) return telemetry.log.error({ aheadMs }, skewed);
    const now = clock.now();
    let deleted = 0;
    try {
      for await (const seq of stepsToDelete(now, now - retentionDays * dayMs)) {
        if (stopped) break;
        deleted += await deleteThrough(database.kysely, seq);
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

type EventRow = Pick<EventTable, 'seq' | 'received_at'>;

function readStep(db: Executor, after: number): Promise<readonly EventRow[]> {
  const events = db.selectFrom('events').select(['seq', 'received_at']).where('seq', '>', after);
  return events.orderBy('seq').limit(stepSize).execute();
}

/** The last row of a full step, if it is dated after `now`: that says nothing about the age of those behind it. */
function endToPass(rows: readonly EventRow[], now: number): EventRow | undefined {
  const last = rows[stepSize - 1];
  return last && last.received_at > now ? last : undefined;
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
