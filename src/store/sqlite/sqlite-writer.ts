import { Thread } from '../../lib/async/thread.js';
import type { Bound } from '../sql/parameters.js';
import { SqliteError, type Outcome } from './sqlite-statements.js';
import type { WriterRequest } from './sqlite-worker.js';

/** The only connection that writes, in its own thread, where an fsync blocks nobody else. */
export interface Writer {
  /** Runs one statement; statements run in the order of the calls. */
  run(sql: string, parameters: Bound): Promise<Outcome>;
  /** Resolves when the thread has ended unexpectedly: nothing more can be written. */
  readonly lost: Promise<Error>;
  /** Prepares the procedure of this name in the thread, and returns a function that runs it there. */
  load(name: string, settings: unknown): Promise<(input: unknown) => Promise<unknown>>;
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

  let isStopping = false;
  return {
    run: (sql, parameters) => ask({ sql, parameters }) as Promise<Outcome>,
    lost: thread.ended.then((cause) => (isStopping ? new Promise<Error>(() => undefined) : cause)),
    async load(name, settings) {
      await ask({ load: name, settings });
      return (input) => ask({ call: name, input });
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
