import { expect, test } from 'vitest';
import type { LogEntry } from '../../src/events/log.js';
import { createReplays } from '../../src/events/replays.js';

const entry = (seq: number) => ({ seq, weight: 1 }) as LogEntry;

test.each([
  ['at once', (text: string) => text],
  ['later', (text: string) => Promise.resolve(text)],
])('payloads made %s are kept by what they weigh, whatever their events do', async (_, give) => {
  const made: number[] = [];
  const replays = createReplays(({ seq }) => {
    made.push(seq);
    return give('x'.repeat(300_000));
  });
  for (const seq of [1, 2, 3, 1, 2, 3, 4, 1]) await replays.of(entry(seq));
  expect(made).toEqual([1, 2, 3, 4, 1]);
});
