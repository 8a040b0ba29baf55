import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createTurns } from '../../../src/lib/async/turns.js';

/** Keeps the event loop busy. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('turns', () => {
  test('let short work of a caller go on at once, up to its limit', async () => {
    const turns = createTurns(() => 2);
    expect(turns.enter('a')).toBeUndefined();
    expect(turns.enter('a')).toBeUndefined();
    let third = 'waits';
    const entering = turns.enter('a')!.then(() => (third = 'begun'));
    for (let loops = 0; loops < 5; loops += 1) await turn();
    expect(third).toBe('waits');
    expect(turns.enter('b')).toBeUndefined();
    turns.leave('a');
    await entering;
    expect(third).toBe('begun');
  });

  test('go round the callers, and leave the event loop its own between long pieces', async () => {
    const turns = createTurns(() => 4);
    const order: string[] = [];
    let loops = 0;
    let counting = true;
    const count = () => {
      loops += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const run = async (caller: string) => {
      await turns.enter(caller);
      work(10);
      order.push(caller);
      turns.leave(caller);
    };
    const many = Array.from({ length: 30 }, () => run('many'));
    const few = [run('few'), run('few')];
    await Promise.all(few);
    expect(order.filter((caller) => caller === 'many').length).toBeLessThan(8);
    await Promise.all(many);
    counting = false;
    expect(order).toHaveLength(32);
    expect(loops).toBeGreaterThan(25);
  });

  test('begin short pieces without a turn of the event loop for each', async () => {
    const turns = createTurns(() => 4);
    let loops = 0;
    let counting = true;
    const count = () => {
      loops += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const run = async () => {
      await turns.enter('a');
      await Promise.resolve();
      turns.leave('a');
    };
    await Promise.all(Array.from({ length: 1_000 }, run));
    counting = false;
    expect(loops).toBeLessThan(1_000);
  });
});

test('let work that has begun go on at once in a short turn, and in a turn of its own each after a long one', async () => {
  const turns = createTurns(() => 8);
  expect(turns.breathe()).toBeUndefined();
  await turn();
  let loops = 0;
  let counting = true;
  const count = () => {
    loops += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const went: number[] = [];
  const goOn = async () => {
    const pause = turns.breathe();
    if (pause) await pause;
    went.push(loops);
    work(10);
  };
  await Promise.all([goOn(), goOn(), goOn()]);
  counting = false;
  expect(new Set(went).size).toBe(3);
});
