import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { readInSteps, type Scan } from '../../../src/store/sql/stepwise-scan.js';

/** A table of rows in order, which may change during a scan; a row whose name ends with `!` matches. */
type Table = string[];

/** A scan of so many rows a step; `made` gets each call, with the first row of its step, and may change the table. */
function scanOf(table: Table, size: number, made: (call: string) => void = () => {}): Scan<string, string> {
  const after = (place: string | undefined) => table.filter((row) => place === undefined || row > place);
  return {
    async end(from) {
      const last = after(from)[size - 1];
      made(`end ${after(from)[0] ?? 'none'}`);
      return last;
    },
    async match(from, to, limit) {
      const rows = after(from).filter((row) => to === undefined || row <= to);
      made(`match ${rows[0] ?? 'none'}`);
      return rows.filter((row) => row.endsWith('!')).slice(0, limit);
    },
  };
}

const read = (limit: number, ...scans: Scan<string, string>[]) =>
  readInSteps(new Reads(new LightAbortController()), scans, { limit, keyOf: (row) => row.slice(1) });

describe('a page read in steps', () => {
  test('has its rows in order, from as many steps as it takes', async () => {
    const made: string[] = [];
    const table = ['1a!', '2b', '3c', '4d', '5e!', '6f!', '7g!', '8h!'];
    expect(
      await read(
        3,
        scanOf(table, 2, (call) => made.push(call)),
      ),
    ).toEqual(['1a!', '5e!', '6f!']);
    expect(made).toEqual(['end 1a!', 'match 1a!', 'end 3c', 'match 3c', 'end 5e!', 'match 5e!', 'match 1a!']);
  });

  test('ends where the rows do', async () => {
    expect(await read(3, scanOf(['1a', '2b', '3c!'], 2))).toEqual(['3c!']);
    expect(await read(3, scanOf(['1a!', '2b'], 2))).toEqual(['1a!']);
    expect(await read(3, scanOf([], 2))).toEqual([]);
  });

  test('is that of the scan that has it first, whichever that is', async () => {
    const long = Array.from({ length: 90 }, (_, at) => `${at + 10}x`);
    const made: string[] = [];
    const slow = scanOf([...long, '99a!', '99b!'], 2, (call) => made.push(call));
    expect(await read(2, slow, scanOf(['10c', '11c', '99a!', '99b!'], 2))).toEqual(['99a!', '99b!']);
    expect(made).toHaveLength(4);
    expect(await read(2, slow, scanOf(['99a!'], 2))).toEqual(['99a!']);
  });

  /** Reads a page while the table changes at a call. */
  async function readWhile(limit: number, table: Table, at: string, change: (table: Table) => void) {
    let isDue = true;
    const scan = scanOf(table, 2, (call) => {
      if (call !== at || !isDue) return;
      isDue = false;
      change(table);
      table.sort();
    });
    return read(limit, scan);
  }
  const move = (from: string, to: string) => (table: Table) => void table.splice(table.indexOf(from), 1, to);

  test('has all rows though one of a step goes, or another comes, before the step is made', async () => {
    const rows = ['1a!', '2b', '3c!', '4d', '5e!', '6f'];
    expect(await readWhile(3, [...rows], 'end 1a!', move('2b', '0b'))).toEqual(['1a!', '3c!', '5e!']);
    expect(await readWhile(3, [...rows], 'end 1a!', (table) => void table.push('0z'))).toEqual([
      '1a!',
      '3c!',
      '5e!',
    ]);
  });

  test('still has a row that moves to the start of the page while it is read', async () => {
    const rows = ['1a!', '2b', '3c', '4d', '5e!', '6f!'];
    expect(await readWhile(3, [...rows], 'end 3c', move('5e!', '0e!'))).toEqual(['0e!', '1a!', '6f!']);
    expect(await readWhile(2, [...rows], 'match 5e!', move('5e!', '0e!'))).toEqual(['0e!', '1a!']);
  });

  test('has a row that moves on meanwhile once, where it is then', async () => {
    const rows = ['1a', '2b', '3c!', '4d', '5e!', '6f', '8h!'];
    expect(await readWhile(3, [...rows], 'end 5e!', move('3c!', '7c!'))).toEqual(['5e!', '7c!', '8h!']);
    expect(await readWhile(2, ['1a!', ...rows.slice(1)], 'end 3c!', move('1a!', '9a!'))).toEqual([
      '3c!',
      '5e!',
    ]);
  });

  test('makes one step in a turn, however many are read, and ends once nobody waits', async () => {
    const signal = new LightAbortController();
    let steps = 0;
    const endless: Scan<number, number> = {
      end: async (from = 0) => (steps += 1) && from + 1,
      match: async () => [],
    };
    const reading = Array.from({ length: 20 }, () =>
      readInSteps(new Reads(signal), [endless], { limit: 1, keyOf: String }),
    );
    const settled = Promise.allSettled(reading);
    while (steps < 30) await turn();
    const before = steps;
    for (let turns = 0; turns < 10; turns += 1) await turn();
    expect(steps - before).toBeLessThan(15);
    signal.abort();
    for (const outcome of await settled)
      expect(outcome).toMatchObject({ reason: { code: 'QUERY_TOO_COMPLEX' } });
  });
});
