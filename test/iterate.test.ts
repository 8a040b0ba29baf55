import { describe, expect, it } from 'vitest';
import { filterMap } from '../src/iterate.js';

async function* upTo(end: number) {
  for (let n = 1; n <= end; n++) yield n;
}

describe('filterMap', () => {
  it('gives what the map makes, without what it makes nothing of', async () => {
    const odd: string[] = [];
    for await (const item of filterMap(upTo(5), (n) => (n % 2 ? `#${n}` : undefined))) odd.push(item);
    expect(odd).toEqual(['#1', '#3', '#5']);
  });

  it('reaches the source with return() while a next() is pending', async () => {
    let end: (step: IteratorReturnResult<undefined>) => void;
    const pending = new Promise<IteratorReturnResult<undefined>>((resolve) => (end = resolve));
    const source: AsyncIterator<number> = {
      next: () => pending,
      async return() {
        end({ done: true, value: undefined });
        return pending;
      },
    };
    const mapped = filterMap(source, (n) => n);
    const next = mapped.next();
    expect(await mapped.return!()).toEqual({ done: true, value: undefined });
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('passes a failure of the source on', async () => {
    const failing: AsyncIterator<number> = { next: () => Promise.reject(new Error('gone')) };
    await expect(filterMap(failing, (n) => n).next()).rejects.toThrow('gone');
  });
});
