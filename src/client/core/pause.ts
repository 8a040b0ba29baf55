const firstPauseMs = 500;
const maxPauseMs = 30_000;
/** How soon: a page that is shown again finds out within this time that its connection is gone. */
const skipsForMs = 5_000;

/** Pauses between attempts, which can be cut short. */
export interface Pauses {
  /** Waits after this many failed attempts: longer each time, at most half a minute, at random by half; at least so long. */
  wait(attempts: number, leastMs?: number): Promise<void>;
  /** Ends all waits at once; if there is none, the next one does not take place, if it begins soon. */
  skip(): void;
}

/**
 * Creates pauses that double with each attempt, up to a maximum, with a random half so that clients do not come back
 * at once.
 */
export function createPauses(): Pauses {
  const ends = new Set<() => void>();
  let skippedAt = -Infinity;
  return {
    wait(attempts, leastMs = 0) {
      const isSkipped = performance.now() - skippedAt < skipsForMs;
      skippedAt = -Infinity;
      if (isSkipped) return Promise.resolve();
      const usual = Math.min(2 ** attempts * firstPauseMs, maxPauseMs) * (0.5 + Math.random() / 2);
      const ms = Math.max(usual, leastMs);
      return new Promise((resolve) => {
        const end = () => {
          clearTimeout(timer);
          ends.delete(end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        ends.add(end);
      });
    },
    skip() {
      if (ends.size === 0) skippedAt = performance.now();
      for (const end of ends) end();
    },
  };
}
