import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { DatabaseSync } from '@photostructure/sqlite';
import type { Parameter } from './parameters.js';
import { createStatements, toSqliteError, type Outcome } from './sqlite-statements.js';

/** One statement for the writer; or the wish that it close the database and end. */
export type WriterRequest = { readonly sql: string; readonly parameters: readonly Parameter[] } | 'stop';

/** The answers of the writer, in the order of the requests; the first says that the database is open. */
export type WriterAnswer =
  { readonly outcome: Outcome } | { readonly error: { readonly message: string; readonly code: string } };

const busyMs = 5_000;
// A process that is just ending may still hold the database.
const handoverMs = 1_000;

/**
 * Holds `<path>.lock` exclusively until the process ends, so that no second one writes this database. SQLite
 * itself would let it. Nothing else may open that file: closing it anywhere in the process drops the lock.
 */
function lock(path: string) {
  const file = new DatabaseSync(`${path}.lock`, { timeout: handoverMs });
  file.exec('begin exclusive');
  return file;
}

function open(path: string) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const held = lock(path);
  const database = new DatabaseSync(path, { timeout: busyMs });
  database.exec('pragma journal_mode = wal');
  database.exec('pragma synchronous = full');
  // A file that cannot be written fails here and not at the first event; to begin is not enough for that.
  database.exec('begin; pragma user_version = 0; rollback');
  return {
    ...createStatements(database),
    stop() {
      try {
        database.exec('pragma wal_checkpoint(truncate)'); // closing does not, while statements are not collected
      } catch {
        // On a full disk, say. What is in the log is as safe there; the next start reads it.
      }
      database.close();
      held.close();
    },
  };
}

function answer(work: () => Outcome): void {
  try {
    port.postMessage({ outcome: work() } satisfies WriterAnswer);
  } catch (error) {
    const { message, code } = toSqliteError(error);
    port.postMessage({ error: { message, code } } satisfies WriterAnswer);
  }
}

const port = parentPort!;
const { path } = workerData as { readonly path: string };
let database: ReturnType<typeof open>;

answer(() => {
  database = open(path);
  return { rows: [] };
});

port.on('message', (request: WriterRequest) => {
  if (request !== 'stop') return answer(() => database.run(request.sql, request.parameters));
  answer(() => {
    database.stop();
    return { rows: [] };
  });
  port.close();
});
