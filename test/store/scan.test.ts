import { describe, expect, test } from 'vitest';
import { Reads } from '../../src/store/reads.js';
import { readInSteps, type Scan } from '../../src/store/scan.js';
import { LightAbortController } from '../../src/signal.js';

interface Row {
  readonly key: string;
  readonly step: number;
}

/** A scan over steps of rows, all of which match; `made` are the calls, with the place each starts at. */
function scanOver(name: string, steps: readonly (readonly string[])[], made: string[]): Scan<number, Row> {
  return {
    async match(from = 0, limit) {
      made.push(`${name}: ${limit} from ${from}`);
      return steps[from]!.slice(0, limit).map((key) => ({ key, step: from }));
    },
    async end(from = 0) {
      return from + 1 < steps.length ? from + 1 : undefined;
    },
  };
}

const read = (limit: number, ...scans: Scan<number, Row>[]) =>
  readInSteps(new Reads(new LightAbortController()), scans, { limit, keyOf: ({ key }) => key });
const keysOf = (rows: readonly Row[]) => rows.map(({ key }) => key);

describe('a page read in steps', () => {
  test('has its rows in order, from as many steps as it takes', async () => {
    const made: string[] = [];
    expect(keysOf(await read(3, scanOver('a', [['1'], [], ['2', '3', '4'], ['5']], made)))).toEqual([
      '1',
      '2',
      '3',
    ]);
    expect(made).toEqual(['a: 3 from 0', 'a: 2 from 1', 'a: 2 from 2']);
  });

  test('ends where the rows do', async () => {
    expect(keysOf(await read(3, scanOver('a', [[], ['1'], []], [])))).toEqual(['1']);
    expect(await read(3, scanOver('a', [[]], []))).toEqual([]);
  });

  test('is that of the scan that has it first, whichever that is', async () => {
    const made: string[] = [];
    const long = scanOver('long', [['1'], [], [], ['2']], made);
    expect(keysOf(await read(2, long, scanOver('full', [[], ['1', '2'], []], made)))).toEqual(['1', '2']);
    expect(made).toEqual(['long: 2 from 0', 'full: 2 from 0', 'long: 1 from 1', 'full: 2 from 1']);
    expect(keysOf(await read(2, long, scanOver('short', [['1']], [])))).toEqual(['1']);
  });

  test('has a row that moves on meanwhile once, where it is then', async () => {
    const rows = await read(
      3,
      scanOver(
        'a',
        [
          ['1', '2'],
          ['1', '3'],
        ],
        [],
      ),
    );
    expect(rows).toEqual([
      { key: '2', step: 0 },
      { key: '1', step: 1 },
    ]);
  });

  test('serves others between two statements, and ends once nobody waits', async () => {
    const signal = new LightAbortController();
    let steps = 0;
    const endless: Scan<number, Row> = {
      match: async () => [],
      end: async (from = 0) => (steps += 1) && from + 1,
    };
    const reading = readInSteps(new Reads(signal), [endless], { limit: 1, keyOf: ({ key }) => key });
    setImmediate(() => setImmediate(() => signal.abort()));
    await expect(reading).rejects.toMatchObject({ code: 'QUERY_TOO_COMPLEX' });
    expect(steps).toBeLessThan(5);
  });
});
