import type { Logger } from 'pino';
import type { Executor } from './store.js';
import { withTimeout } from '../lib/async/timeout.js';

const rememberedMs = 1_000;
/** A database that does not answer in this time is not ready: health checks have short timeouts. */
const patienceMs = 1_500;

/**
 * Checks whether the database takes writes, by making one: it may answer queries while its disk is full. The result is
 * reused for a second, so that anybody may ask. `fault` returns a reason not to rely on the database even if it takes
 * this write.
 */
export function createReadiness(
  kysely: Executor,
  { fault, log }: { readonly fault: () => Error | undefined; readonly log: Logger },
): () => Promise<void> {
  let recent: Promise<void> | undefined;
  let writing: Promise<void> | undefined;
  let isReady = true;

  async function check(): Promise<void> {
    const found = fault();
    if (found) throw found;
    // A write that hangs is awaited again, not repeated: it holds a connection.
    writing ??= write().finally(() => (writing = undefined));
    await withTimeout(patienceMs, writing, 'The database did not answer');
  }

  async function write(): Promise<void> {
    const expires_at = Date.now(); // a new value each time: SQLite does not write what is there already
    await kysely
      .insertInto('leases')
      .values({ key: 'readiness', holder: '', expires_at })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ expires_at }))
      .execute();
  }

  async function checkAndLog(): Promise<void> {
    try {
      await check();
      if (!isReady) log.info('the database accepts writes again');
      isReady = true;
    } catch (err) {
      if (isReady) log.error({ err }, 'the database accepts no writes: this process is not ready');
      isReady = false;
      throw err;
    } finally {
      setTimeout(() => (recent = undefined), rememberedMs).unref();
    }
  }

  return () => (recent ??= checkAndLog());
}
