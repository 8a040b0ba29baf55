import { onTestFinished, vi } from 'vitest';

/** Collects what is thrown in microtasks until the test is finished, which would else end the process. */
export function collectUncaught(): readonly unknown[] {
  const uncaught: unknown[] = [];
  const { queueMicrotask } = globalThis;
  vi.stubGlobal('queueMicrotask', (act: () => void) =>
    queueMicrotask(() => {
      try {
        act();
      } catch (error) {
        uncaught.push(error);
      }
    }),
  );
  onTestFinished(() => void vi.unstubAllGlobals());
  return uncaught;
}
