import { expect, test } from 'vitest';
import { timeline } from '../../src/console/parts/timeline.js';

test('events are in the order in which they occurred; one whose time cannot be read stays above the one before it', () => {
  const order = (...newestFirst: readonly string[]): string => {
    const events = newestFirst.map((name) => ({ name, receivedAt: '2026-01-01T00:00:00Z' }));
    return timeline(events, ({ name }) => Number(name))
      .map(({ event }) => event.name)
      .join(' ');
  };
  expect(order('3', '1', '2')).toBe('3 2 1');
  expect(order('3', 'noon', '1', '2')).toBe('3 2 noon 1');
  expect(order('3', 'noon', '2', 'night', 'day')).toBe('3 noon 2 night day');
});
