import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Pace, isTurnShort, noteArrival } from '../../../src/lib/async/pace.js';

/** Keeps the event loop busy. */
function work(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('a pace', () => {
  test('does a limited number of pieces in a turn of the event loop, in the order of the calls', async () => {
    const pace = new Pace(2);
    const ran: string[] = [];
    const schedule = (name: string) => void pace.do(() => ran.push(name));
    const turns: string[] = [];
    const recordTurn = async () => {
      const before = ran.length;
      await nextTurn();
      turns.push(ran.slice(before).join(' '));
    };

    for (const name of ['a', 'b', 'c', 'd', 'e']) schedule(name);
    while (ran.length < 5) await recordTurn();
    expect(ran.join('')).toBe('abcde');
    for (const turn of turns) expect(turn.length).toBeLessThanOrEqual(3);
  });

  test('goes round the lanes', async () => {
    const pace = new Pace(1);
    const order: string[] = [];
    const schedule = (lane: string) => pace.do(() => order.push(lane), lane);
    await Promise.all(['many', 'many', 'many', 'many', 'few', 'few'].map(schedule));
    // The first may have gone on at once.
    expect(order.slice(1).join(' ')).toMatch(/^(many )?few many few/);
  });

  test('ends a turn with the piece that makes it long', async () => {
    const pace = new Pace(10);
    let done = 0;
    const all = Array.from({ length: 6 }, () => pace.do(() => (work(5), (done += 1))));
    expect(done).toBeLessThan(3); // at once
    await Promise.all(all);
    expect(done).toBe(6);
  });

  test('leaves the event loop to others for as long as a long piece took, and keeps its order', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const pace = new Pace(1);
    const order: string[] = [];
    void pace.do(() => {
      vi.advanceTimersByTime(100);
      order.push('first');
    });
    const second = pace.do(() => order.push('second'));
    vi.advanceTimersByTime(99);
    for (let turns = 0; turns < 5; turns += 1) await nextTurn();
    expect(order).toEqual(['first']);
    vi.advanceTimersByTime(1);
    await second;
    expect(order).toEqual(['first', 'second']);
  });

  test('does no work at once while other waits, of whatever lane', async () => {
    const pace = new Pace(4);
    const order: string[] = [];
    const now = vi.spyOn(performance, 'now').mockReturnValue(Infinity); // this turn is long
    const first = pace.do(() => order.push('first'), 'one');
    now.mockReturnValue(0);
    const second = pace.do(() => order.push('second'), 'another');
    now.mockRestore();
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
  });

  test('begins a piece in every second turn, however long other work makes all of them', async () => {
    const pace = new Pace(1);
    let turns = 0;
    const others = () => {
      isTurnShort();
      work(10);
      if ((turns += 1) < 50) setImmediate(others);
    };
    setImmediate(others);
    for (let pieces = 0; pieces < 5; pieces += 1) await pace.turn();
    expect(turns).toBeLessThan(15);
    turns = 50;
  });

  test('does less in a turn in which a connection has arrived', async () => {
    const pace = new Pace(10);
    /** The most of several tries: the machine may be busy. */
    async function doneAtOnce(before: () => void): Promise<number> {
      const found: number[] = [];
      for (let tries = 0; tries < 5; tries += 1) {
        await sleep(20); // in a turn of its own
        before();
        let done = 0;
        const all = Array.from({ length: 3 }, () => pace.do(() => (work(2), (done += 1))));
        found.push(done);
        await Promise.all(all);
      }
      return Math.max(...found);
    }
    expect(await doneAtOnce(() => undefined)).toBe(3);
    expect(await doneAtOnce(noteArrival)).toBe(1);
  });

  test('goes on once no connection arrives, or in every 16th turn', async () => {
    const pace = new Pace(4);
    const pieces = Array.from({ length: 3 }, (_, at) => pace.turn(`caller ${at}`));
    let turns = 0;
    let isArriving = true;
    const others = () => {
      if (isArriving) noteArrival();
      turns += 1;
      if (turns < 1_000) setImmediate(others);
    };
    setImmediate(others);
    await pieces[0];
    await pieces[1];
    expect(turns).toBeGreaterThanOrEqual(30);
    expect(turns).toBeLessThan(37);
    isArriving = false;
    const before = turns;
    await pieces[2];
    expect(turns - before).toBeLessThan(5);
    turns = 1_000;
  });

  test('tells of work that throws, which holds up nobody', async () => {
    const pace = new Pace(1);
    const failing = pace.do(() => {
      throw new Error('no');
    });
    const next = pace.do(() => 'done');
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('done');
  });
});
