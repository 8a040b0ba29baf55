import { expect, test } from 'vitest';
import { latestFirst, moveRows } from '../../src/console/data/use-moving-list.js';

interface Row {
  readonly id: string;
  readonly revision: number;
  readonly updatedAt: string;
}

const row = (id: string, time: string, revision = 1): Row => ({
  id,
  revision,
  updatedAt: `2026-11-21T${time}Z`,
});
const rows = [row('c', '12:00:00'), row('b', '11:00:00'), row('a', '10:00:00')];
const order = { matches: ({ id }: Row) => id !== 'gone', isBefore: latestFirst((one: Row) => one.id) };
const after = (moved: readonly Row[], end?: Row) =>
  moveRows(rows, moved, order, end)
    .map(({ id }) => id)
    .join(' ');

test('a row goes to the top by what happened last, and stays where it is by what happened before', () => {
  expect(after([row('a', '13:00:00', 2)])).toBe('a c b');
  expect(after([row('a', '10:00:00', 2)])).toBe('c b a');
  expect(after([row('a', '10:00:00', 2)], rows.at(-1))).toBe('c b a');
  expect(after([row('a', '13:00:00', 0)])).toBe('c b a'); // a state before the one that is known
});

test('a new row goes to its place, or waits for the page that has it', () => {
  expect(after([row('new', '11:30:00'), row('newest', '13:00:00')])).toBe('newest c new b a');
  expect(after([row('new', '09:00:00')])).toBe('c b a new');
  expect(after([row('new', '09:00:00')], rows.at(-1))).toBe('c b a');
  expect(after([row('gone', '11:30:00')])).toBe('c b a');
});

test('of rows with one time the greater id is first; a time that cannot be read is the latest', () => {
  expect(after([row('bb', '11:00:00'), row('aa', '11:00:00')])).toBe('c bb b aa a');
  expect(after([{ ...row('odd', ''), updatedAt: '2026-W47-6' }], rows.at(-1))).toBe('odd c b a');
});
