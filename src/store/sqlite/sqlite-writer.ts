import { DatabaseSync } from '@photostructure/sqlite';
import { answerRequests, Thread } from '../../lib/async/thread.js';
import type { Bound } from '../sql/parameters.js';
import type { AnyProcedure, Procedure } from '../sql/writer-procedure.js';
import { filesOf } from './files.js';
import { createKysely } from './sqlite-dialect.js';
import { createStatements, SqliteError, toSqliteError, type StatementResult } from './sqlite-statements.js';
import { createWriterLock, type WriterLock } from './writer-lock.js';

/** A request to the writer: open the database, run a statement, load or call a procedure, or close the database. */
type WriterRequest =
  | { readonly open: string }
  | { readonly sql: string; readonly parameters: Bound }
  | { readonly load: string; readonly settings: unknown }
  | { readonly call: string; readonly input: unknown }
  | 'stop';

/** How long others wait for whoever uses the writer. */
const turnMs = 20_000;
const busyMs = 5_000;
// How long to wait for a process that is just ending and still holds the database.
const handoverMs = 1_000;

/** The only connection that writes, in its own thread, where an fsync blocks nobody else. */
export interface Writer {
  /** See `SqliteParts`. */
  readonly lock: WriterLock;
  /** Runs one statement; statements run in the order of the calls. */
  run(sql: string, parameters: Bound): Promise<StatementResult>;
  /** Resolves when the thread has ended unexpectedly: nothing more can be written. */
  readonly lost: Promise<Error>;
  /** Prepares a procedure in the thread, and returns a function that runs it there, with the writer to itself. */
  procedure<S, I, O>(procedure: Procedure<S, I, O>, settings: S): Promise<(input: I) => Promise<O>>;
  /** Runs what was requested before, closes the database and ends the thread. */
  stop(): Promise<void>;
}

/**
 * Opens the database, and creates it if it is missing; rejects with a `SqliteError`. `module` is the thread's program,
 * which calls `serveWriter`. Once the database is open, what a statement fails with goes through `inspect`.
 */
export async function startWriter(
  path: string,
  module: URL,
  inspect: (error: SqliteError) => Error,
): Promise<Writer> {
  let isOpen = false;
  const thread = new Thread(module, 'sqlite writer', ({ message, code = '' }) => {
    const error = new SqliteError(message, code);
    return isOpen ? inspect(error) : error;
  });
  const ask = (request: WriterRequest) => thread.ask(request);
  try {
    await ask({ open: path });
    isOpen = true;
  } catch (error) {
    await thread.stop();
    throw error;
  }

  const writerLock = createWriterLock(turnMs);
  let isStopping = false;
  return {
    lock: writerLock,
    run: (sql, parameters) => ask({ sql, parameters }) as Promise<StatementResult>,
    lost: thread.ended.then((cause) => (isStopping ? new Promise<Error>(() => undefined) : cause)),
    async procedure<S, I, O>({ name }: Procedure<S, I, O>, settings: S) {
      await ask({ load: name, settings });
      return (input: I) => writerLock.run(() => ask({ call: name, input }) as Promise<O>);
    },
    async stop() {
      isStopping = true;
      try {
        await ask('stop');
      } finally {
        await thread.stop();
      }
    },
  };
}

/**
 * Holds `<path>.lock` exclusively until it is closed or the process ends, so that no second one writes this database;
 * SQLite itself would let it. `path` is the real one, whatever link leads to it. Nothing else in this process may open
 * that file: closing it anywhere drops the lock.
 */
export function lockDatabase(path: string): InstanceType<typeof DatabaseSync> {
  const file = new DatabaseSync(filesOf(path).lock, { timeout: handoverMs });
  file.exec('begin exclusive');
  return file;
}

function open(path: string) {
  const lockFile = lockDatabase(path);
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
