import { onTestFinished, vi } from 'vitest';
import type { Trivium } from '../../src/client/core/trivium.js';
import { ShipmentUpdatesDocument } from '../../src/client/generated/index.js';

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

/** Follows the shipments with callbacks that throw the failure, which is collected. */
export function subscribeThrowing(trivium: Trivium, after: string) {
  const uncaught = collectUncaught();
  const failure = new Error('of the application');
  const fail = () => {
    throw failure;
  };
  trivium.subscribe(ShipmentUpdatesDocument, { after }, { next: fail, error() {}, complete: fail });
  return { failure, uncaught };
}
