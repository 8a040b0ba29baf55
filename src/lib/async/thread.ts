import { parentPort, Worker } from 'node:worker_threads';

/** What work in a thread failed with: all of an error that is passed between threads. */
interface Fault {
  readonly message: string;
  readonly code?: string | undefined;
}

type Answer = { readonly outcome: unknown } | { readonly fault: Fault };

interface Asked {
  resolve(outcome: unknown): void;
  reject(error: Error): void;
}

/** A thread that does what it is asked, one thing after the other; its program calls `answerRequests`. */
export class Thread {
  readonly #worker: Worker;
  readonly #toError: (fault: Fault) => Error;
  readonly #asked: Asked[] = [];
  #end: Error | undefined;
  /** Resolves with the cause when the thread has ended. */
  readonly ended: Promise<Error>;

  /** `module` is the thread's program. `toError` makes an error of what its work failed with. */
  constructor(
    module: URL,
    name: string,
    toError: (fault: Fault) => Error = ({ message }) => new Error(message),
  ) {
    this.#worker = startWorker(module, name);
    this.#toError = toError;
    this.#worker.on('message', (answer: Answer) => this.#take(answer));
    this.#worker.on('error', (error: Error) => this.#fail(error));
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', () => resolve(this.#fail(new Error(`The thread "${name}" has ended.`))));
    });
  }

  /** Resolves with the outcome. Rejects with what the work failed with, or why the thread has ended. */
  ask(request: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#end) return reject(this.#end);
      this.#worker.postMessage(request); // throws if the request cannot be passed: then no answer comes
      this.#asked.push({ resolve, reject });
    });
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Whether it lives, and has answered all requests. */
  get isIdle(): boolean {
    return !this.hasEnded && this.#asked.length === 0;
  }

  /** Ends the thread, whatever it does. */
  async stop(): Promise<void> {
    await this.#worker.terminate();
  }

  #take(answer: Answer): void {
    const asked = this.#asked.shift();
    if (!asked) return; // the thread has failed since, and all were rejected
    if ('outcome' in answer) asked.resolve(answer.outcome);
    else asked.reject(this.#toError(answer.fault));
  }

  #fail(error: Error): Error {
    this.#end ??= error;
    for (const { reject } of this.#asked.splice(0)) reject(this.#end);
    return this.#end;
  }
}

function startWorker(module: URL, name: string): Worker {
  if (!module.pathname.endsWith('.ts')) return new Worker(module, { name });
  // Development and tests run the TypeScript sources, and a thread does not inherit the loader that compiles them.
  const source = JSON.stringify(module);
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const start = `import(${tsx}).then(({ tsImport }) => tsImport(${source}, ${source}))`;
  return new Worker(start, { name, eval: true, execArgv: [] });
}

/** To be called once, by a thread's program: does what is asked, one thing after the other, also where it takes turns. */
export function answerRequests(
  handle: (request: never) => unknown,
  toFault: (error: unknown) => Fault = (error) => ({ message: (error as Error).message }),
): void {
  const port = parentPort!;
  let last = Promise.resolve();
  const answer = async (request: unknown) => {
    try {
      port.postMessage({ outcome: await handle(request as never) } satisfies Answer);
    } catch (error) {
      const { message, code } = toFault(error);
      port.postMessage({ fault: { message, code } } satisfies Answer);
    }
  };
  port.on('message', (request: unknown) => {
    last = last.then(() => answer(request));
  });
}

/** A thread that begins when there is work for it, and ends when there has been none for a while. */
export class SpareThread {
  readonly #begin: () => Thread;
  readonly #idleMs: number;
  #thread: Thread | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(module: URL, name: string, idleMs = 60_000) {
    this.#begin = () => new Thread(module, name);
    this.#idleMs = idleMs;
  }

  /** As `Thread.ask`. If the thread has ended, another is begun. */
  async ask(request: unknown): Promise<unknown> {
    if (this.#isStopped) throw new Error('The thread is stopped.');
    clearTimeout(this.#idle);
    if (!this.#thread || this.#thread.hasEnded) this.#thread = this.#begin();
    const thread = this.#thread;
    try {
      return await thread.ask(request);
    } finally {
      if (thread.isIdle) this.#idle = setTimeout(() => void this.#end(), this.#idleMs).unref();
    }
  }

  /** Rejects what has been asked, and what is asked from now on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#idle);
    await this.#end();
  }

  async #end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.stop();
  }
}
