import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OutcomeWriter } from '../../../../src/domains/appointments/booking/outcome-writer.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';

const minuteMs = 60_000;
const retrying = 'the outcome of a booking could not be stored yet; retrying';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Settles a booking in a database that takes it only after so many minutes, and returns what is logged. */
async function settle(
  minutes: number,
  onFailure?: (outcomes: OutcomeWriter, passedMs: number) => void,
): Promise<readonly string[]> {
  const logged: string[] = [];
  const write = (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg);
  const outcomes = new OutcomeWriter(createTelemetry('info', { write }));
  const began = Date.now();
  const settled = outcomes.settle('booking', async () => {
    const passedMs = Date.now() - began;
    if (passedMs >= minutes * minuteMs) return;
    onFailure?.(outcomes, passedMs);
    throw new Error('The database is away.');
  });
  await vi.runAllTimersAsync();
  await settled;
  expect(outcomes.pending('booking')).toBeUndefined();
  return logged;
}

test('stores an outcome once the database takes it, ten minutes later', async () => {
  expect(await settle(10)).toEqual([retrying, 'the outcome of a booking was stored after retries']);
});

test('gives up soon after ten minutes', async () => {
  expect(await settle(11)).toEqual([retrying, 'the outcome of a booking could not be stored']);
});

test('gives up at the next failure once it is stopped', async () => {
  const stopAfterAMinute = (outcomes: OutcomeWriter, passedMs: number) => {
    if (passedMs > minuteMs) outcomes.stop();
  };
  expect(await settle(2, stopAfterAMinute)).toEqual([
    retrying,
    'the outcome of a booking could not be stored',
  ]);
});

test('tries again at once when it is told to, and four times a second from then on', async () => {
  const outcomes = new OutcomeWriter(createTelemetry('silent'));
  const attempts: number[] = [];
  const write = async () => {
    attempts.push(Date.now());
    if (attempts.length < 10) throw new Error('The database is away.');
  };
  const settled = outcomes.settle('booking', write);
  await vi.advanceTimersByTimeAsync(5_000);
  await settled;
  expect(attempts).toHaveLength(5);
  const toldAt = Date.now();
  outcomes.retryNow();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(attempts.slice(5).map((at) => at - toldAt)).toEqual([0, 250, 500, 750, 1_000]);
  expect(outcomes.pending('booking')).toBeUndefined();
});

test('waits some seconds for a database that hangs, and stores the outcome once it answers', async () => {
  const logged: string[] = [];
  const write = (line: string) => void logged.push((JSON.parse(line) as { msg: string }).msg);
  const outcomes = new OutcomeWriter(createTelemetry('info', { write }));
  const attempts: (() => void)[] = [];
  const settled = outcomes.settle('booking', () => new Promise((resolve) => void attempts.push(resolve)));
  await vi.advanceTimersByTimeAsync(5_000);
  await settled;
  const pending = outcomes.pending('booking');
  await vi.advanceTimersByTimeAsync(minuteMs);
  expect(attempts).toHaveLength(1);
  attempts[0]!();
  await pending;
  expect(outcomes.pending('booking')).toBeUndefined();
  expect(logged).toEqual([retrying, 'the outcome of a booking was stored after retries']);
});
