import { expect, test } from 'vitest';
import { readNote } from '../../src/notes/answer.js';

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
