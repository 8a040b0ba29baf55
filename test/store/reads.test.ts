import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Ending } from '../../src/signal.js';
import { Reads } from '../../src/store/reads.js';

describe('what one operation reads', () => {
  test('is read one after another, the first at once, with a turn of the event loop between', async () => {
    const reads = new Reads(new Ending());
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

  test('is not begun once the operation has ended; nor is it held up by a failure', async () => {
    const signal = new Ending();
    const reads = new Reads(signal);
    await expect(reads.next(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    const [under, waiting] = [
      reads.next(async () => signal.abort()),
      reads.next(() => Promise.reject(new Error('begun'))),
    ];
    await under;
    await expect(waiting).rejects.toMatchObject({ code: 'QUERY_TOO_COMPLEX' });
  });
});
