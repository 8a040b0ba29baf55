import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import type { Tables } from './schema.js';
import { within } from './within.js';

const rememberedMs = 1_000;
/** One that does not answer in this time is not ready: whoever asks has little patience. */
const patienceMs = 1_500;

/**
 * Looks whether the database takes writes, by making one: it may answer while its disk is full. What was seen holds for
 * a second, so that anybody may ask. `fault` says why it cannot be relied on although it may take this write.
 */
export function createReadiness(
  kysely: Kysely<Tables>,
  { fault, log }: { readonly fault: () => Error | undefined; readonly log: Logger },
): () => Promise<void> {
  let seen: Promise<void> | undefined;
  let writing: Promise<void> | undefined;
  let isReady = true;

  async function look(): Promise<void> {
    const found = fault();
    if (found) throw found;
    // One that hangs is waited for again: it holds a connection.
    writing ??= write().finally(() => (writing = undefined));
    await within(patienceMs, writing, 'The database did not answer');
  }

  async function write(): Promise<void> {
    const expires_at = Date.now(); // another value each time: SQLite does not write what is there already
    await kysely
      .insertInto('leases')
      .values({ key: 'readiness', holder: '', expires_at })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ expires_at }))
      .execute();
  }

  async function lookAndTell(): Promise<void> {
    try {
      await look();
      if (!isReady) log.info('the database takes writes again');
      isReady = true;
    } catch (err) {
      if (isReady) log.error({ err }, 'the database takes no writes: this process is not ready');
      isReady = false;
      throw err;
    } finally {
      setTimeout(() => (seen = undefined), rememberedMs).unref();
    }
  }

  return () => (seen ??= lookAndTell());
}
