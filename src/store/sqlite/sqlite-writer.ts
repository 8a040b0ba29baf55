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
  const thread = new WriterThread(path, module, inspect);
  await thread.opened();
  return thread;
}

class WriterThread implements Writer {
  readonly #worker: ReturnType<typeof startWorker>;
  readonly #pending: Pending[] = [];
  #ended: Error | undefined;
  #opened = false;
  #stopping = false;
  readonly #exit: Promise<void>;
  readonly lost: Promise<Error>;
  readonly #inspect: (error: SqliteError) => Error;

  constructor(path: string, module: URL, inspect: (error: SqliteError) => Error) {
    this.#worker = startWorker(path, module);
    this.#inspect = inspect;
    this.#worker.on('message', (answer: WriterAnswer) => this.#take(answer));
    this.#worker.on('error', (error: Error) => this.#end(error));
    this.#exit = new Promise<void>((resolve) => {
      this.#worker.on('exit', () => {
        this.#end(new Error('The database is closed.'));
        resolve();
      });
    });
    this.lost = this.#exit.then(() => (this.#stopping ? new Promise<Error>(() => undefined) : this.#ended!));
  }

  /** Resolves once the thread has opened the database; if it cannot, ends the thread and rejects. */
  async opened(): Promise<void> {
    try {
      await this.#expectAnswer();
      this.#opened = true;
    } catch (error) {
      this.#stopping = true;
      await this.#worker.terminate();
      throw error;
    }
  }

  run(sql: string, parameters: Bound): Promise<Outcome> {
    return this.#ask({ sql, parameters }) as Promise<Outcome>;
  }

  async load(name: string, settings: unknown): Promise<(input: unknown) => Promise<unknown>> {
    await this.#ask({ load: name, settings });
    return (input) => this.#ask({ call: name, input });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    try {
      await this.#ask('stop');
    } finally {
      await this.#exit;
    }
  }

  #expectAnswer(): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      if (this.#ended) reject(this.#ended);
      else this.#pending.push({ resolve, reject });
    });
  }

  #ask(request: WriterRequest): Promise<unknown> {
    this.#worker.postMessage(request);
    return this.#expectAnswer();
  }

  #take(answer: WriterAnswer): void {
    const caller = this.#pending.shift();
    if (!caller) return; // the thread has failed since, and all callers were rejected
    if ('outcome' in answer) caller.resolve(answer.outcome);
    else caller.reject(this.#opened ? this.#inspect(toError(answer)) : toError(answer));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#pending.splice(0)) reject(this.#ended);
  }
}
