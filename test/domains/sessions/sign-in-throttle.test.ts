import { beforeEach, describe, expect, test } from 'vitest';
import { Throttle } from '../../../src/domains/sessions/sign-in-throttle.js';

const windowMs = 60_000;
const isWrong = (settled: PromiseSettledResult<string>) =>
  settled.status === 'fulfilled' && settled.value === 'wrong';
const right = () => Promise.resolve('right');
const wrong = () => Promise.resolve('wrong');

let now: number;
let throttle: Throttle;

beforeEach(() => {
  now = 1_000_000;
  throttle = new Throttle({
    name: 'sign-in',
    refusal: 'Too many.',
    limit: 3,
    windowMs,
    clock: { now: () => now },
  });
});

const attempt = (key: string, run: () => Promise<string>) => throttle.attempt(key, run, isWrong);

async function fail(key: string, times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await attempt(key, wrong);
}

const limited = (retryAfter: number) =>
  expect.objectContaining({
    message: 'Too many.',
    code: 'RATE_LIMITED',
    extensions: { code: 'RATE_LIMITED', retryAfter },
  });

describe('a throttle', () => {
  test('refuses once the limit of failures is reached, and says when to retry', async () => {
    await fail('a', 2);
    now += 10_500;
    await fail('a', 1);
    let ran = false;
    const late = attempt('a', async () => {
      ran = true;
      return 'right';
    });
    await expect(late).rejects.toEqual(limited(50));
    expect(ran).toBe(false);
  });

  test('forgets a failure when its window is over', async () => {
    await fail('a', 3);
    now += windowMs - 1;
    await expect(attempt('a', right)).rejects.toEqual(limited(1));
    now += 1;
    expect(await attempt('a', right)).toBe('right');
  });

  test('forgets failures dated far in the future, but not after a small step back of the clock', async () => {
    now += 24 * 60 * windowMs;
    await fail('a', 3);
    now -= 1_000;
    await expect(attempt('a', right)).rejects.toEqual(limited(61));
    now -= 24 * 60 * windowMs;
    expect(await attempt('a', right)).toBe('right');
    await fail('a', 3);
    await expect(attempt('a', right)).rejects.toEqual(limited(60));
  });

  test('counts only failures, separately for each key', async () => {
    for (let count = 0; count < 10; count += 1) await attempt('a', right);
    await expect(attempt('a', () => Promise.reject(new Error('cut')))).rejects.toThrow('cut');
    await fail('a', 3);
    expect(await attempt('b', right)).toBe('right');
  });

  test('runs no more attempts at once than failures are left', async () => {
    let guessed = 0;
    const guess = async () => {
      guessed += 1;
      await new Promise(setImmediate);
      return 'wrong';
    };
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => attempt('a', guess)));
    expect(guessed).toBe(3);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(47);
  });

  test('lets any number of successful attempts through, a few at a time', async () => {
    let running = 0;
    let most = 0;
    const run = async () => {
      most = Math.max(most, (running += 1));
      await new Promise(setImmediate);
      running -= 1;
      return 'right';
    };
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => attempt('a', run)));
    expect(outcomes).toEqual(Array.from({ length: 40 }, () => 'right'));
    expect(most).toBe(3);
  });

  test('runs waiting attempts in order of arrival, and checks each only a few times, however many wait', async () => {
    let checks = 0;
    const count = () => {
      checks += 1;
      return now;
    };
    throttle = new Throttle({
      refusal: 'Too many.',
      name: 'sign-in',
      limit: 3,
      windowMs,
      clock: { now: count },
    });
    const all = Array.from({ length: 1_000 }, (_, at) => at);
    const ran: number[] = [];
    const run = (at: number) => {
      ran.push(at);
      return right();
    };
    await Promise.all(all.map((at) => attempt('a', () => run(at))));
    expect(ran).toEqual(all);
    expect(checks).toBeLessThan(5_000);
  });

  test('forgets a lock for no 10,000 failures of others, nor for 25,000', async () => {
    await fail('locked', 3);
    for (let key = 0; key < 25_000; key += 1) await attempt(`${key}`, wrong);
    await expect(attempt('locked', right)).rejects.toEqual(limited(60));
  });

  test('remembers 10,000 keys, and forgets those with the fewest failures first', async () => {
    await fail('once', 1);
    await fail('twice', 2);
    for (let key = 0; key < 10_000; key += 1) await attempt(`${key}`, wrong);
    await fail('once', 2);
    expect(await attempt('once', right)).toBe('right');
    await fail('twice', 1);
    await expect(attempt('twice', right)).rejects.toEqual(limited(60));
  });

  test('counts as a failure what the given function calls one, also a rejection', async () => {
    const cut = () => Promise.reject(new Error('cut'));
    for (let count = 0; count < 3; count += 1)
      await expect(throttle.attempt('a', cut, ({ status }) => status === 'rejected')).rejects.toThrow('cut');
    await expect(attempt('a', right)).rejects.toEqual(limited(60));
  });

  test('does not remember keys that never failed', async () => {
    await fail('old', 3);
    for (let key = 0; key < 10_001; key += 1) await attempt(`${key}`, right);
    await expect(attempt('old', right)).rejects.toEqual(limited(60));
  });
});
