import { expect, onTestFinished, test } from 'vitest';
import { createClock } from '../../src/sandbox/clock.js';

function startClock() {
  const clock = createClock();
  onTestFinished(() => clock.stop());
  return clock;
}

test('advance runs due timers in order, each at its own time, including those set meanwhile', async () => {
  const clock = startClock();
  const start = clock.now();
  const seen: [string, number][] = [];
  const note = (name: string) => void seen.push([name, Math.round((clock.now() - start) / 1000)]);
  clock.setTimeout(() => note('late'), 3_000_000);
  clock.setTimeout(() => {
    note('first');
    clock.setTimeout(() => note('set on the way'), 1_000_000);
  }, 1_000_000);
  clock.setTimeout(() => note('never'), 9_000_000);
  await clock.advance(5_000_000);
  expect(seen).toEqual([
    ['first', 1000],
    ['set on the way', 2000],
    ['late', 3000],
  ]);
  expect(clock.now() - start).toBeGreaterThanOrEqual(5_000_000);
});

test('advance waits for a task to end before it runs the next', async () => {
  const clock = startClock();
  const seen: string[] = [];
  clock.setTimeout(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    seen.push('slow');
  }, 1000);
  clock.setTimeout(() => void seen.push('next'), 2000);
  await clock.advance(2000);
  expect(seen).toEqual(['slow', 'next']);
});

test('a timer also fires in real time, unless it was cancelled', async () => {
  const clock = startClock();
  const seen: string[] = [];
  const start = clock.now();
  clock.setTimeout(() => void seen.push('late'), 20);
  clock.setTimeout(() => void seen.push('early'), 10);
  clock.setTimeout(() => void seen.push('cancelled'), 10)();
  await clock.sleep(30);
  expect(seen).toEqual(['early', 'late']);
  expect(clock.now() - start).toBeGreaterThanOrEqual(30);
});

test('a timer longer than the platform supports does not fire early', async () => {
  const clock = startClock();
  let fired = false;
  clock.setTimeout(() => void (fired = true), 30 * 24 * 3_600_000);
  await clock.sleep(30);
  expect(fired).toBe(false);
  await clock.advance(30 * 24 * 3_600_000);
  expect(fired).toBe(true);
});

test('a clock that is stopped drops its timers, and accepts no more', async () => {
  const clock = startClock();
  const seen: string[] = [];
  clock.setTimeout(() => void seen.push('before'), 1000);
  clock.stop();
  clock.setTimeout(() => void seen.push('after'), 1000);
  await clock.advance(2000);
  expect(seen).toEqual([]);
});
