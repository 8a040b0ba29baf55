import { expect, test } from 'vitest';
import type { LogEntry } from '../../../src/events/log/log.js';
import { createReplays } from '../../../src/events/feed/replay-cache.js';

const entry = (seq: number) => ({ seq, weight: 1 }) as LogEntry;

test.each([
  ['synchronously', (text: string) => text],
  ['asynchronously', (text: string) => Promise.resolve(text)],
])(
  'payloads rendered %s are kept by their own size, whatever the size of their events',
  async (_, render) => {
    const rendered: number[] = [];
    const replays = createReplays(({ seq }) => {
      rendered.push(seq);
      return render('x'.repeat(300_000));
    });
    for (const seq of [1, 2, 3, 1, 2, 3, 4, 1]) await replays.of(entry(seq));
    expect(rendered).toEqual([1, 2, 3, 4, 1]);
  },
);
