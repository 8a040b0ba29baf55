import { expect, test } from 'vitest';
import { mergeEvents } from '../../src/console/parts/merge-events.js';

test('live events are before or after those that were read, as the log has them, and each is there once', () => {
  const merge = (live: string, read: string): string =>
    mergeEvents(
      Array.from(live, (id) => ({ id })),
      Array.from(read, (id) => ({ id })),
    )
      .map(({ id }) => id)
      .join('');
  expect(merge('', '321')).toBe('321');
  expect(merge('54', '321')).toBe('54321');
  expect(merge('543', '432')).toBe('5432');
  expect(merge('65432', '543')).toBe('65432');
  expect(merge('654321', '65')).toBe('654321');
});
