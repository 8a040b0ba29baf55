import { DatabaseSync } from '@photostructure/sqlite';
import { answerRequests } from '../../lib/async/thread.js';
import type { Bound } from '../sql/parameters.js';
import type { AnyProcedure } from '../sql/writer-procedure.js';
import { createKysely } from './sqlite-dialect.js';
import { createStatements, toSqliteError } from './sqlite-statements.js';

/** A request to the writer: open the database, run a statement, load or call a procedure, or close the database. */
export type WriterRequest =
  | { readonly open: string }
  | { readonly sql: string; readonly parameters: Bound }
  | { readonly load: string; readonly settings: unknown }
  | { readonly call: string; readonly input: unknown }
  | 'stop';

const busyMs = 5_000;
// How long to wait for a process that is just ending and still holds the database.
const handoverMs = 1_000;

/**
 * Holds `<path>.lock` exclusively until the process ends, so that no second one writes this database; SQLite itself
 * would let it. Nothing else in this process may open that file: closing it anywhere drops the lock.
 */
function lock(path: string) {
  const file = new DatabaseSync(`${path}.lock`, { timeout: handoverMs });
  file.exec('begin exclusive');
  return file;
}

function open(path: string) {
  const lockFile = lock(path);
  const database = new DatabaseSync(path, { timeout: busyMs });
  database.exec('pragma journal_mode = wal');
  database.exec('pragma synchronous = full');
  // The write-ahead log shrinks to 64 MiB again after a backup, during which it only grows.
  database.exec('pragma journal_size_limit = 67108864');
  // A file that cannot be written fails here and not at the first event; `begin` alone would not show it.
  database.exec('begin; pragma user_version = 0; rollback');
  const statements = createStatements(database);
  return {
    ...statements,
    kysely: createKysely(statements), // what procedures work with
    stop() {
      try {
        database.exec('pragma wal_checkpoint(truncate)'); // closing does not while statements await garbage collection
      } catch {
        // On a full disk, say. The data is as safe in the write-ahead log; the next start reads it from there.
      }
      database.close();
      lockFile.close();
    },
  };
}

/**
 * The thread that writes an embedded database: opens it, then runs statements and these procedures. To be called once,
 * by the thread's program.
 */
export function serveWriter(procedures: readonly AnyProcedure[]): void {
  const prepared = new Map<string, (input: never) => Promise<unknown>>();
  let database: ReturnType<typeof open>;

  const load = (name: string, settings: never) => {
    const procedure = procedures.find((each) => each.name === name);
    if (!procedure) throw new Error(`The writer has no procedure "${name}".`);
    prepared.set(name, procedure.begin({ engine: 'sqlite', kysely: database.kysely }, settings));
  };
  const handle = (request: WriterRequest): unknown => {
    if (request === 'stop') return database.stop();
    if ('call' in request) return prepared.get(request.call)!(request.input as never);
    if ('sql' in request) return database.run(request.sql, request.parameters);
    if ('load' in request) return load(request.load, request.settings as never);
    database = open(request.open);
    return undefined;
  };
  answerRequests(handle, toSqliteError);
}
