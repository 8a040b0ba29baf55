import { expect, test } from 'vitest';
import { createdMs } from '../../src/console/data/live-event.js';

test.each([
  ['seconds', 1_764_226_800],
  ['milliseconds', 1_764_226_800_000],
  ['microseconds', 1_764_226_800_000_000],
])('a payment that says when it was created in %s is dated by that', (_, created) => {
  expect(createdMs(created)).toBe(Date.parse('2025-11-27T07:00:00Z'));
});
