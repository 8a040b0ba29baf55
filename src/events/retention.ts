import type { Clock } from '../clock.js';
import type { Telemetry } from '../telemetry.js';
import type { Database, Executor } from '../store/database.js';

/** What retention works with. */
export interface RetentionOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly retentionDays: number;
}

/** Ends the time of old events. Their ids and what was folded from them stay for ever. */
export interface Retention {
  /** Deletes, oldest first and in small steps, the events before the first one that is young enough. */
  prune(): Promise<void>;
  stop(): Promise<void>;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const stepSize = 500;

/** Starts to prune in the background, now and every hour; a failure is logged and made good the next time. */
export function startRetention({ database, clock, telemetry, retentionDays }: RetentionOptions): Retention {
  let running: Promise<void> | undefined;
  let stopped = false;

  async function run(): Promise<void> {
    const oldest = clock.now() - retentionDays * dayMs;
    let more = true;
    while (more && !stopped) more = await pruneStep(database.kysely, oldest);
  }

  function prune(): Promise<void> {
    running ??= run().finally(() => (running = undefined));
    return running;
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
      await running?.catch(() => undefined);
    },
  };
}

/** Deletes the oldest events up to the first that came at `oldest` or later; says whether there may be more. */
async function pruneStep(db: Executor, oldest: number): Promise<boolean> {
  const rows = await db
    .selectFrom('events')
    .select(['seq', 'received_at'])
    .orderBy('seq')
    .limit(stepSize)
    .execute();
  const young = rows.findIndex(({ received_at }) => received_at >= oldest);
  const last = rows.at(young === -1 ? -1 : young - 1);
  if (young === 0 || !last) return false;
  await deleteThrough(db, last.seq);
  return young === -1;
}

async function deleteThrough(db: Executor, seq: number): Promise<void> {
  // First, so that a cursor is refused before its events are gone; after a crash in between they go the next time.
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
  await db.deleteFrom('events').where('seq', '<=', seq).execute();
}
