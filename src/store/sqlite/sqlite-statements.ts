import type { DatabaseSync } from '@photostructure/sqlite';
import { createCache } from '../../lib/cache/cache.js';
import type { Bound, Parameter } from '../sql/parameters.js';

/** The outcome of a statement: its rows if it returns any columns, else how many rows it changed. */
export interface StatementResult {
  readonly rows: readonly unknown[];
  readonly changes?: number;
}

/** An error of SQLite; `code` is its name, for example `SQLITE_CONSTRAINT`. */
export class SqliteError extends Error {
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.name = 'SqliteError';
    this.code = code;
  }
}

/** Any error as a `SqliteError`: its message and code are all that is passed between threads. */
export function toSqliteError(error: unknown): SqliteError {
  const { message, sqliteCodeName, code } = error as Error & { sqliteCodeName?: string; code?: string };
  return new SqliteError(message, sqliteCodeName ?? code ?? 'SQLITE_ERROR');
}

interface Prepared {
  readonly statement: ReturnType<InstanceType<typeof DatabaseSync>['prepare']>;
  readonly returnsRows: boolean;
  readonly takes: number;
}

const maxPrepared = 300;
const quotedOrComment = /'[^']*'|"[^"]*"|--.*|\/\*[^]*?\*\//g;

function prepare(database: InstanceType<typeof DatabaseSync>, sql: string): Prepared {
  const statement = database.prepare(sql);
  return {
    statement,
    returnsRows: statement.columns().length > 0,
    takes: sql.replace(quotedOrComment, '').split('?').length - 1,
  };
}

function isColumns(parameters: Bound): parameters is readonly (readonly Parameter[])[] {
  return Array.isArray(parameters[0]);
}

/** Runs single statements on one connection; the last used ones stay prepared. */
export function createStatements(database: InstanceType<typeof DatabaseSync>) {
  const known = createCache<Prepared>(maxPrepared);

  const prepared = (sql: string): Prepared => {
    const found = known.get(sql);
    if (found) return found;
    const made = prepare(database, sql);
    known.set(sql, made);
    return made;
  };

  return {
    run(sql: string, parameters: Bound): StatementResult {
      try {
        const { statement, returnsRows, takes } = prepared(sql);
        // SQLite binds NULL where a parameter is missing.
        if (takes !== parameters.length)
          throw new Error(`The statement takes ${takes} parameters, not ${parameters.length}.`);
        if (isColumns(parameters)) {
          const runs = parameters[0]!.map((_, row) =>
            statement.run(...parameters.map((column) => column[row]!)),
          );
          return { rows: [], changes: runs.reduce((sum, { changes }) => sum + changes, 0) };
        }
        if (returnsRows) return { rows: statement.all(...parameters) };
        return { rows: [], changes: statement.run(...parameters).changes };
      } catch (error) {
        throw toSqliteError(error);
      }
    },
  };
}
