import type { Logger } from 'pino';
import { toSqliteError, type SqliteError } from './sqlite-statements.js';

const rememberedMs = 10_000;
/** The words of SQLite: what a reading statement fails with comes without a code. */
const signs = /disk image is malformed|malformed database schema|is not a database/;

/** Whether a file of SQLite's was damaged under the process. */
export interface Damage {
  /** Looks at an error, and returns it as one that can be told apart. */
  notice(thrown: unknown): SqliteError;
  /** The last sign of damage, for some seconds: whether it is still there shows only when what was damaged is used. */
  found(): Error | undefined;
}

/** Remembers and logs the errors that tell of damage. */
export function createDamage(log: Logger): Damage {
  let last: { readonly error: Error; readonly at: number } | undefined;
  const found = () => (last && performance.now() - last.at < rememberedMs ? last.error : undefined);
  return {
    notice(thrown) {
      const error = toSqliteError(thrown);
      if (!signs.test(error.message)) return error;
      if (!found()) log.error({ err: error }, 'the database file is damaged: restore it from a backup');
      last = { error, at: performance.now() };
      return error;
    },
    found,
  };
}
