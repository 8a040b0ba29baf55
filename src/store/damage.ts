import type { Logger } from 'pino';
import { toSqliteError, type SqliteError } from './sqlite-statements.js';

const rememberedMs = 10_000;
/** SQLite's messages for damage: the error of a failed read carries no code. */
const damageMessages = /disk image is malformed|malformed database schema|is not a database/;

/** Detects damage to the SQLite file while the process runs. */
export interface Damage {
  /** Checks an error for signs of damage, and returns it as a `SqliteError`. */
  notice(thrown: unknown): SqliteError;
  /** The last error that showed damage, for some seconds: only using the damaged part shows whether it persists. */
  found(): Error | undefined;
}

/** Logs and remembers errors that show damage. */
export function createDamage(log: Logger): Damage {
  let last: { readonly error: Error; readonly at: number } | undefined;
  const found = () => (last && performance.now() - last.at < rememberedMs ? last.error : undefined);
  return {
    notice(thrown) {
      const error = toSqliteError(thrown);
      if (!damageMessages.test(error.message)) return error;
      if (!found()) log.error({ err: error }, 'the database file is damaged: restore it from a backup');
      last = { error, at: performance.now() };
      return error;
    },
    found,
  };
}
