/** The lock on the connection that writes: it has one holder at a time, and is granted in the order of requests. */
export interface WriterLock {
  /** Takes the lock and resolves with the function that releases it; rejects if it is not free in time. */
  acquire(): Promise<() => void>;
  /** Does the work while holding the lock. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** A lock whose callers wait at most `patienceMs` for the lock. */
export function createWriterLock(patienceMs: number): WriterLock {
  const waiting: (() => void)[] = [];
  let locked = false;

  const release = () => {
    const next = waiting.shift();
    if (next) next();
    else locked = false;
  };

  const wait = () =>
    new Promise<void>((resolve, reject) => {
      const grant = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(grant), 1);
        reject(new Error(`The database was busy for ${patienceMs} ms.`));
      }, patienceMs);
      waiting.push(grant);
    });

  async function acquire(): Promise<() => void> {
    if (locked) await wait();
    locked = true;
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
