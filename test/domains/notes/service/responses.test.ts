import { expect, test } from 'vitest';
import { readNote } from '../../../../src/domains/notes/service/responses.js';

const date = '2026-01-02T03:04:05Z';
const note = { id: 'n', title: '', content: '', created_at: date, updated_at: date };
const namesOf = (tags: readonly string[]) => readNote({ ...note, tags })?.tags.map(({ name }) => name);

test('a note has each tag once, in its first spelling', () => {
  expect(namesOf(['Work', 'home', 'WORK', 'Home', 'work', 'garden'])).toEqual(['Work', 'home', 'garden']);
});

test('reads a note with 200,000 tags', () => {
  const many = Array.from({ length: 200_000 }, (_, at) => at.toString(36));
  expect(namesOf(many)).toEqual(many);
});

test.each(['2026-W47-6T09:30:00Z', '2026W476T093000Z', '2026-325T09:30:00.125Z', '2026325'])(
  'takes the date %s',
  (written) => {
    expect(readNote({ ...note, created_at: written })?.createdAt).toBe(written);
  },
);

test.each(['2026-W47-8', '2026-W4-1', '2026-32', '202632', 'W47-6', '2026-11', 'yesterday', ''])(
  'refuses the date %j',
  (written) => {
    expect(readNote({ ...note, created_at: written })).toBeUndefined();
  },
);
