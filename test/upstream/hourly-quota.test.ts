import { describe, expect, it } from 'vitest';
import { Account } from '../../src/upstream/hourly-quota.js';
import { createPerCaller } from '../../src/lib/cache/per-caller.js';

const minute = 60_000;

function start(perHour: number, at = 0) {
  const clock = { at, now: () => clock.at };
  const quota = { of: createPerCaller(() => new Account({ perHour, clock })) };
  const take = (count: number, token = 'token') =>
    Array.from({ length: count }, () => quota.of(token).take());
  return { clock, quota, take };
}

describe('a quota', () => {
  it('allows a token its calls per hour, then tells how long to wait until the first no longer counts', () => {
    const { clock, quota, take } = start(1000, 30_000);
    expect(Array.from({ length: 2000 }, () => quota.of('token').wait())).toEqual(Array(2000).fill(undefined));
    expect(take(1000)).toEqual(Array(1000).fill(undefined));
    expect([quota.of('token').wait(), ...take(1)]).toEqual([3630, 3630]);
    clock.at += 3_629_000;
    expect(take(1)).toEqual([1]);
    clock.at += 1_000;
    expect(take(1000)).toEqual(Array(1000).fill(undefined));
  });

  it('is a sliding window: calls expire in the order in which they were made', () => {
    const { clock, take } = start(10);
    take(4);
    clock.at = 30 * minute;
    take(6);
    expect(take(1)).toEqual([31 * 60]);
    clock.at = 61 * minute;
    expect(take(4)).toEqual(Array(4).fill(undefined));
    expect(take(1)).toEqual([30 * 60]);
  });

  it('counts no calls from over an hour ago, even after a long pause', () => {
    const { clock, take } = start(10);
    take(5);
    clock.at = minute;
    take(5);
    clock.at = 62 * minute;
    expect(take(10)).toEqual(Array(10).fill(undefined));
  });

  it('never allows more than the limit in any hour', () => {
    const { clock, take } = start(60);
    const given: number[] = [];
    for (; clock.at < 200 * minute; clock.at += 17_000) if (take(1)[0] === undefined) given.push(clock.at);
    const busiest = given.map((from) => given.filter((at) => at >= from && at < from + 60 * minute).length);
    expect(Math.max(...busiest)).toBe(60);
  });

  it('counts no call that was given back, and the others as before', () => {
    const { clock, quota, take } = start(2);
    take(1);
    clock.at = 2 * minute;
    take(1);
    quota.of('token').giveBack(clock.at);
    quota.of('token').giveBack(clock.at);
    expect(take(2)).toEqual([undefined, 59 * 60]);
  });

  it('counts each token separately', () => {
    const { take } = start(1);
    expect([...take(2, 'one'), ...take(1, 'two')]).toEqual([undefined, 3660, undefined]);
  });

  it('refuses a paused token until its pause is over, and no other token', () => {
    const { clock, quota, take } = start(Infinity);
    quota.of('token').pause(90);
    expect([...take(1), ...take(1, 'other')]).toEqual([90, undefined]);
    clock.at = 90_000;
    expect(take(1)).toEqual([undefined]);
  });

  it('pauses a token for the longer of two pauses, whichever comes first', () => {
    const { clock, quota, take } = start(Infinity);
    for (const [first, second] of [
      [600, 1],
      [1, 600],
    ] as const) {
      quota.of('token').pause(first);
      quota.of('token').pause(second);
      clock.at += 599_000;
      expect(take(1)).toEqual([1]);
      clock.at += 1_000;
      expect(take(1)).toEqual([undefined]);
    }
  });

  it('starts over when the clock goes back by more than a few minutes', () => {
    const { clock, quota, take } = start(2, 300 * minute);
    take(2);
    quota.of('token').pause(90);
    clock.at = 100 * minute;
    expect(take(3)).toEqual([undefined, undefined, 3660]);
    clock.at += 61 * minute;
    expect(take(2)).toEqual([undefined, undefined]);
  });

  it('does not start over when the clock goes back by a few seconds', () => {
    const { clock, quota, take } = start(2, 10 * minute);
    take(2);
    clock.at -= 5_000;
    expect(take(1)).toEqual([3665]);
    quota.of('other').pause(90);
    clock.at -= 5_000;
    expect(quota.of('other').wait()).toBe(95);
  });

  it('rounds the wait up to whole seconds', () => {
    const { clock, quota, take } = start(Infinity);
    quota.of('token').pause(1);
    clock.at = 400;
    expect(take(1)).toEqual([1]);
    clock.at = 999;
    expect(take(1)).toEqual([1]);
  });

  it('forgets the least recently used tokens beyond 10,000', () => {
    const { take } = start(1);
    for (let number = 0; number < 10_001; number += 1) take(1, `token ${number}`);
    expect([...take(1, 'token 10000'), ...take(1, 'token 0')]).toEqual([3660, undefined]);
  });
});
