import type { Logger } from 'pino';
import { toSqliteError, type SqliteError } from './sqlite-statements.js';

const rememberedMs = 10_000;
/** SQLite's messages for damage: the error of a failed read carries no code. */
const damageMessages = /disk image is malformed|malformed database schema|is not a database/;

/** Detects damage to the SQLite file while the process runs. */
export interface DamageMonitor {
  /** Checks an error for signs of damage, and returns it as a `SqliteError`. */
  inspect(thrown: unknown): SqliteError;
  /** The last error that showed damage, for some seconds: only using the damaged part shows whether it persists. */
  recent(): Error | undefined;
}

/** Logs and remembers errors that show damage. */
export function createDamageMonitor(log: Logger): DamageMonitor {
  let last: { readonly error: Error; readonly at: number } | undefined;
  const recent = () => (last && performance.now() - last.at < rememberedMs ? last.error : undefined);
  return {
    inspect(thrown) {
      const error = toSqliteError(thrown);
      if (!damageMessages.test(error.message)) return error;
      if (!recent()) log.error({ err: error }, 'the database file is damaged: restore it from a backup');
      last = { error, at: performance.now() };
      return error;
    },
    recent,
  };
}
