import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Turns } from '../../../src/lib/async/turns.js';

/** Keeps the event loop busy. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Counts the turns of the event loop until the test is over; the function that it returns tells how many there were. */
function countLoops(): () => number {
  let loops = 0;
  let next = setImmediate(count);
  function count(): void {
    loops += 1;
    next = setImmediate(count);
  }
  onTestFinished(() => clearImmediate(next));
  return () => loops;
}

describe('turns', () => {
  test('let short work of a caller go on at once, up to its limit', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(0); // no turn is long
    onTestFinished(() => void vi.restoreAllMocks());
    const turns = new Turns(() => 2);
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
    const turns = new Turns(() => 4);
    const order: string[] = [];
    const loops = countLoops();
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
    expect(order).toHaveLength(32);
    expect(loops()).toBeGreaterThan(25);
  });

  test('let nobody overtake a caller who waits', async () => {
    const turns = new Turns(() => 4);
    const now = vi.spyOn(performance, 'now').mockReturnValue(Infinity); // this turn is long
    const waiting = turns.enter('a');
    now.mockReturnValue(0);
    const later = turns.enter('b');
    now.mockRestore();
    const order: string[] = [];
    await Promise.all([waiting?.then(() => order.push('a')), later?.then(() => order.push('b'))]);
    expect(order).toEqual(['a', 'b']);
  });

  test('begin short pieces without a turn of the event loop for each', async () => {
    const turns = new Turns(() => 4);
    const loops = countLoops();
    const run = async () => {
      await turns.enter('a');
      await Promise.resolve();
      turns.leave('a');
    };
    await Promise.all(Array.from({ length: 1_000 }, run));
    expect(loops()).toBeLessThan(1_000);
  });
});

test('let work that has begun go on at once in a short turn, and in a turn of its own each after a long one', async () => {
  const turns = new Turns(() => 8);
  await new Promise((resolve) => setTimeout(resolve)); // a turn that nothing has worked in
  expect(turns.breathe()).toBeUndefined();
  await turn();
  const loops = countLoops();
  const went: number[] = [];
  const goOn = async () => {
    const pause = turns.breathe();
    if (pause) await pause;
    went.push(loops());
    work(10);
  };
  await Promise.all([goOn(), goOn(), goOn()]);
  expect(new Set(went).size).toBe(3);
});

test('go round the callers whose work goes on', async () => {
  const turns = new Turns(() => 40);
  const order: string[] = [];
  const goOn = async (caller: string) => {
    await turns.breathe(caller);
    work(10);
    order.push(caller);
  };
  work(10);
  const many = Array.from({ length: 20 }, () => goOn('many'));
  await goOn('few');
  expect(order.filter((caller) => caller === 'many').length).toBeLessThan(5);
  await Promise.all(many);
  expect(order).toHaveLength(21);
});
