/** Lets one through at a time, in the order of asking. */
export interface Mutex {
  /** Resolves with a function that lets the next one through; rejects when the turn does not come in time. */
  acquire(): Promise<() => void>;
  /** Does the work in its turn. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** A mutex whose callers wait at most `patienceMs` for their turn. */
export function createMutex(patienceMs: number): Mutex {
  const waiting: (() => void)[] = [];
  let taken = false;

  const release = () => {
    const next = waiting.shift();
    if (next) next();
    else taken = false;
  };

  const wait = () =>
    new Promise<void>((resolve, reject) => {
      const turn = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(turn), 1);
        reject(new Error(`The database was busy for ${patienceMs} ms.`));
      }, patienceMs);
      waiting.push(turn);
    });

  async function acquire(): Promise<() => void> {
    if (taken) await wait();
    taken = true;
    return release;
  }

  return {
    acquire,
    async run(work) {
      await acquire();
      try {
        return await work();
      } finally {
        release();
      }
    },
  };
}
