import { expect, onTestFinished, test, vi } from 'vitest';
import { createPauses } from '../../../src/client/core/pause.js';

/** Whether a wait that begins so long after a skip takes place. */
async function waitsAfter(ms: number): Promise<boolean> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const pauses = createPauses();
  pauses.skip();
  await vi.advanceTimersByTimeAsync(ms);
  let isOver = false;
  void pauses.wait(0).then(() => (isOver = true));
  await vi.advanceTimersByTimeAsync(0);
  return !isOver;
}

test('a pause that begins soon after it was skipped does not take place, a later one does: not all come back at once', async () => {
  expect(await waitsAfter(3_000)).toBe(false);
  expect(await waitsAfter(60_000)).toBe(true);
});
