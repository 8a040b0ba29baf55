import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';

const mebibyte = 1024 * 1024;

describe('what one operation reads', () => {
  const tooComplex = { code: 'QUERY_TOO_COMPLEX' };
  const rowsOf = (...sizes: readonly number[]) => sizes.map((octets, at) => ({ at, octets }));

  test('is read one statement at a time, the first at once, with a turn of the event loop between two', async () => {
    const reads = new Reads(new LightAbortController());
    const seen: unknown[] = [];
    const work = [0, 1, 2].map((at) =>
      reads.next(async () => {
        seen.push(`${at} begins`);
        await Promise.resolve();
        seen.push(`${at} ends`);
      }),
    );
    const others = setImmediate().then(() => seen.push('others'));
    expect(seen).toEqual(['0 begins']);
    await Promise.all([...work, others]);
    expect(seen).toEqual(['0 begins', '0 ends', 'others', '1 begins', '1 ends', '2 begins', '2 ends']);
  });

  test('is not read once the operation has ended; a failed read does not block the next', async () => {
    const signal = new LightAbortController();
    const reads = new Reads(signal);
    await expect(reads.next(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    const [under, waiting] = [
      reads.next(async () => signal.abort()),
      reads.next(() => Promise.reject(new Error('begun'))),
    ];
    await under;
    await expect(waiting).rejects.toMatchObject(tooComplex);
    expect(() => reads.take(0)).toThrow('took too long to read what it requests: request less, or try');
  });

  test('is read 4 MiB at a time, and a row that is longer by itself', async () => {
    const reads = new Reads(new LightAbortController());
    const m = mebibyte;
    const asked: number[][] = [];
    const found = await reads.long(rowsOf(3 * m, 2 * m, m, m + 1, 9 * m, 1, 4 * m), async (some) => {
      asked.push(some.map(({ at }) => at));
      return some.map(({ at }) => at);
    });
    expect(asked).toEqual([[0], [1, 2], [3], [4], [5], [6]]);
    expect(found).toEqual(asked.flat());
  });

  test('is counted before it is read: beyond the limit, nothing more is read', async () => {
    const reads = new Reads(new LightAbortController(), 2);
    const never = () => Promise.reject(new Error('read'));
    reads.take(mebibyte);
    expect(await reads.long(rowsOf(mebibyte), async () => ['read'])).toEqual(['read']);
    const beyond = reads.long(rowsOf(1), never);
    await expect(beyond).rejects.toThrow('One operation may read no more than about 2 MiB from the database');
    await expect(reads.next(never)).rejects.toMatchObject(tooComplex);
  });
});
