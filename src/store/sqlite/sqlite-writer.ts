import { Worker } from 'node:worker_threads';
import type { Bound } from '../sql/parameters.js';
import { SqliteError, type Outcome } from './sqlite-statements.js';
import type { WriterAnswer, WriterRequest } from './sqlite-worker.js';

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

interface Pending {
  resolve(outcome: unknown): void;
  reject(error: Error): void;
}

function startWorker(path: string, module: URL): Worker {
  const options = { workerData: { path }, name: 'sqlite writer' };
  if (!module.pathname.endsWith('.ts')) return new Worker(module, options);
  // Development and tests run the TypeScript sources, and a thread does not inherit the loader that compiles them.
  const source = JSON.stringify(module);
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const start = `import(${tsx}).then(({ tsImport }) => tsImport(${source}, ${source}))`;
  return new Worker(start, { ...options, eval: true, execArgv: [] });
}

function toError({ error }: Extract<WriterAnswer, { error: unknown }>): SqliteError {
  return new SqliteError(error.message, error.code);
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
  const worker = startWorker(path, module);
  const pending: Pending[] = [];
  let ended: Error | undefined;
  let opened = false;
  let stopping = false;

  const expectAnswer = () =>
    new Promise<unknown>((resolve, reject) => {
      if (ended) reject(ended);
      else pending.push({ resolve, reject });
    });

  const ask = (request: WriterRequest) => {
    worker.postMessage(request);
    return expectAnswer();
  };

  const end = (error: Error) => {
    ended ??= error;
    for (const { reject } of pending.splice(0)) reject(ended);
  };

  worker.on('message', (answer: WriterAnswer) => {
    const caller = pending.shift();
    if (!caller) return; // the thread has failed since, and all callers were rejected
    const { resolve, reject } = caller;
    if ('outcome' in answer) resolve(answer.outcome);
    else reject(opened ? inspect(toError(answer)) : toError(answer));
  });
  worker.on('error', end);
  const exit = new Promise<void>((resolve) => {
    worker.on('exit', () => {
      end(new Error('The database is closed.'));
      resolve();
    });
  });
  const lost = exit.then(() => (stopping ? new Promise<Error>(() => undefined) : ended!));

  try {
    await expectAnswer();
    opened = true;
  } catch (error) {
    stopping = true;
    await worker.terminate();
    throw error;
  }
  return {
    run: (sql, parameters) => ask({ sql, parameters }) as Promise<Outcome>,
    async load(name, settings) {
      await ask({ load: name, settings });
      return (input) => ask({ call: name, input });
    },
    lost,
    async stop() {
      stopping = true;
      try {
        await ask('stop');
      } finally {
        await exit;
      }
    },
  };
}
