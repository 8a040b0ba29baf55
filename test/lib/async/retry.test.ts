import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { growingPauses, retry, retryFailed, Waker } from '../../../src/lib/async/retry.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that fails so many times, and the times at which it was tried. */
function failing(times: number) {
  const triedAt: number[] = [];
  const began = Date.now();
  const work = async () => {
    triedAt.push(Date.now() - began);
    if (triedAt.length <= times) throw new Error(`failure ${triedAt.length}`);
    return 'done';
  };
  return { work, triedAt };
}

/** The message of what it rejects with. */
const failureOf = (result: Promise<unknown>): Promise<unknown> =>
  result.catch((error: unknown) => (error as Error).message);

const pauseMs = growingPauses({ firstMs: 100, maxMs: 300 });

describe('retry', () => {
  test('tries again after pauses that grow up to a bound, until it succeeds', async () => {
    const { work, triedAt } = failing(4);
    const done = retry(work, { pauseMs });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await done).toBe('done');
    expect(triedAt).toEqual([0, 100, 300, 600, 900]);
  });

  test('gives up with the last error after as many failures as are allowed', async () => {
    const { work, triedAt } = failing(9);
    const last = failureOf(retry(work, { pauseMs: growingPauses({ firstMs: 1, maxMs: 1, most: 2 }) }));
    await vi.advanceTimersByTimeAsync(10);
    expect(await last).toBe('failure 3');
    expect(triedAt).toHaveLength(3);
  });

  test('tells each failure and its number, and rejects as that does', async () => {
    const told: unknown[] = [];
    const tell = (failures: number, error: unknown) => {
      told.push([failures, (error as Error).message]);
      if (failures === 2) throw new Error('no more');
      return 1;
    };
    const last = failureOf(retry(failing(9).work, { pauseMs: tell }));
    await vi.advanceTimersByTimeAsync(10);
    expect(await last).toBe('no more');
    expect(told).toEqual([
      [1, 'failure 1'],
      [2, 'failure 2'],
    ]);
  });

  test('tries no more once nobody wants the result, neither after a failure nor after a pause', async () => {
    const { work, triedAt } = failing(9);
    let isWanted = true;
    const last = failureOf(retry(work, { pauseMs, isWanted: () => isWanted }));
    await vi.advanceTimersByTimeAsync(50);
    isWanted = false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await last).toBe('failure 1');
    const unwanted = failing(9);
    await expect(retry(unwanted.work, { pauseMs, isWanted: () => false })).rejects.toThrow('failure 1');
    expect([triedAt.length, unwanted.triedAt.length]).toEqual([1, 1]);
  });

  test('tries at once when it is woken, and counts anew from there', async () => {
    const { work, triedAt } = failing(4);
    const waker = new Waker();
    const done = retry(work, { pauseMs, waker });
    await vi.advanceTimersByTimeAsync(400);
    waker.wake();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await done).toBe('done');
    expect(triedAt).toEqual([0, 100, 300, 400, 500]);
  });

  test('pauses only shortly after an attempt during which it was woken', async () => {
    const { work, triedAt } = failing(4);
    const waker = new Waker();
    const slow = async () => {
      const result = work();
      if (triedAt.length === 4) waker.wake();
      return result;
    };
    const done = retry(slow, { pauseMs, waker });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await done).toBe('done');
    expect(triedAt).toEqual([0, 100, 300, 600, 700]);
  });

  test('does not pause if it was woken while it found out for how long', async () => {
    const { work, triedAt } = failing(3);
    const waker = new Waker();
    const asked = async (failures: number) => {
      if (failures === 2) waker.wake();
      return pauseMs(failures);
    };
    const done = retry(work, { pauseMs: asked, waker });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await done).toBe('done');
    expect(triedAt).toEqual([0, 100, 100, 200]);
  });

  test('counts a failure as the first again after work that got so far', async () => {
    const failures: number[] = [];
    let attempts = 0;
    const done = retry(
      async (restart) => {
        attempts += 1;
        if (attempts === 3) restart();
        if (attempts < 5) throw new Error('lost');
      },
      { pauseMs: (count) => failures.push(count) },
    );
    await vi.advanceTimersByTimeAsync(100);
    await done;
    expect(failures).toEqual([1, 2, 1, 2]);
  });

  test('goes on after a first attempt that was made elsewhere', async () => {
    const { work, triedAt } = failing(0);
    const done = retryFailed(new Error('failed before'), work, { pauseMs });
    await vi.advanceTimersByTimeAsync(100);
    expect(await done).toBe('done');
    expect(triedAt).toEqual([100]);
  });
});

test('pauses that are spread are up to a half shorter or longer', () => {
  const spread = growingPauses({ firstMs: 100, maxMs: 100, spread: true });
  const all = Array.from({ length: 200 }, () => spread(1)!);
  expect(Math.min(...all)).toBeGreaterThanOrEqual(50);
  expect(Math.max(...all)).toBeLessThanOrEqual(150);
  expect(new Set(all).size).toBeGreaterThan(100);
});
