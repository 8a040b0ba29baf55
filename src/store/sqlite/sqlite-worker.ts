import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { DatabaseSync } from '@photostructure/sqlite';
import { Kysely } from 'kysely';
import { createMutex } from '../../lib/async/mutex.js';
import type { Bound } from '../sql/parameters.js';
import type { Procedure } from '../sql/writer-procedure.js';
import type { Tables } from '../sql/schema.js';
import { createSqliteDialect } from './sqlite-dialect.js';
import { createStatements, toSqliteError } from './sqlite-statements.js';

/** A request to the writer: run a statement, load or call a procedure, or close the database and end the thread. */
export type WriterRequest =
  | { readonly sql: string; readonly parameters: Bound }
  | { readonly load: string; readonly settings: unknown }
  | { readonly call: string; readonly input: unknown }
  | 'stop';

/** The answers of the writer, in the order of the requests; the first says that the database is open. */
export type WriterAnswer =
  { readonly outcome: unknown } | { readonly error: { readonly message: string; readonly code: string } };

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
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const lockFile = lock(path);
  const database = new DatabaseSync(path, { timeout: busyMs });
  database.exec('pragma journal_mode = wal');
  database.exec('pragma synchronous = full');
  // A file that cannot be written fails here and not at the first event; `begin` alone would not show it.
  database.exec('begin; pragma user_version = 0; rollback');
  const statements = createStatements(database);
  return {
    ...statements,
    kysely: createKysely(statements),
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

/** What procedures work with: Kysely over the connection of this thread. */
function createKysely({ run }: ReturnType<typeof createStatements>): Kysely<Tables> {
  const reader = { run, stop: () => undefined };
  const writer = {
    run: async (...statement: Parameters<typeof run>) => run(...statement),
    stop: async () => undefined,
  };
  return new Kysely<Tables>({
    dialect: createSqliteDialect({ reader, writer, writerLock: createMutex(busyMs) }),
  });
}

async function answer(work: () => unknown): Promise<void> {
  try {
    port.postMessage({ outcome: await work() } satisfies WriterAnswer);
  } catch (error) {
    const { message, code } = toSqliteError(error);
    port.postMessage({ error: { message, code } } satisfies WriterAnswer);
  }
}

async function load(module: string, settings: unknown): Promise<void> {
  const { procedure } = (await import(module)) as { procedure: Procedure<unknown, unknown, unknown> };
  procedures.set(module, procedure.begin({ engine: 'sqlite', kysely: database.kysely }, settings));
}

function handle(request: WriterRequest): unknown {
  if (request === 'stop') return database.stop();
  if ('load' in request) return load(request.load, request.settings);
  if ('sql' in request) return database.run(request.sql, request.parameters);
  return procedures.get(request.call)!(request.input);
}

const port = parentPort!;
const { path } = workerData as { readonly path: string };
const procedures = new Map<string, ReturnType<Procedure<unknown, unknown, unknown>['begin']>>();
let database: ReturnType<typeof open>;

// One after the other: a procedure takes more than one turn of the event loop.
let lastAnswer = answer(() => {
  database = open(path);
});

port.on('message', (request: WriterRequest) => {
  lastAnswer = lastAnswer.then(() => answer(() => handle(request)));
  if (request === 'stop') void lastAnswer.then(() => port.close());
});
