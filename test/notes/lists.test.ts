import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startNotes } from './operations.js';

test('notes are listed 2,000 times an operation, and no fault of what is still read goes unheard', async () => {
  const room = await startNotes();
  const unheard: unknown[] = [];
  const hear = (reason: unknown) => void unheard.push(reason);
  process.on('unhandledRejection', hear);
  const ask = await room.as('many@example.com');
  const tags = Array.from({ length: 2_001 }, (_, at) => `tag${at}`);
  room.sandbox.notes.insert('many@example.com', { title: 'T', tags }, room.sandbox.clock.now());
  const list = (below: string) => `notes(first: 1) { nodes { tags { ${below} } } }`;
  const { errors } = await ask(`{ ${list(list(list('id')))} }`);
  expect(errors).toEqual(['QUERY_TOO_COMPLEX']);
  await sleep(300); // the first of those still read are there, and list notes themselves
  process.off('unhandledRejection', hear);
  expect(unheard).toEqual([]);
  await room.stop();
});

test('tags are counted as they turn out to be, and no more are told of than one answer should have', async () => {
  const room = await startNotes();
  const ask = await room.as('many@example.com');
  const tags = Array.from({ length: 30_000 }, (_, at) => `tag${at}`);
  room.sandbox.notes.insert('many@example.com', { title: 'T', tags }, room.sandbox.clock.now());
  const note = (fields: string) => ask(`{ notes(first: 1) { nodes { ${fields} } } }`);
  const all = await note('tags { name }');
  expect(all.data.notes.nodes[0].tags.length).toBe(tags.length);
  for (const tooMuch of [
    'tags { id name }',
    'tags { id } tags { name }',
    'tags { ... { id ... { name } } }',
    'one: tags { name } other: tags { name }',
    'tags { notes(first: 0) { pageInfo { endCursor } } }',
  ])
    expect(await note(tooMuch)).toEqual({ data: null, errors: ['QUERY_TOO_COMPLEX'] });
  await room.stop();
});

test('pages below tags are weighed before any of them is read', async () => {
  const room = await startNotes();
  const ask = await room.as('many@example.com');
  const tags = Array.from({ length: 300 }, (_, at) => `tag${at}`);
  room.sandbox.notes.insert('many@example.com', { title: 'T', tags }, room.sandbox.clock.now());
  const query = `query ($first: Int) {
    notes(first: 1) { nodes { tags { notes(first: $first) { nodes { id title } } } } }
  }`;
  const calls = (first: number) =>
    room.callsOf(async () => {
      const { errors } = await ask(query, { first });
      expect(errors).toEqual(first === 100 ? ['QUERY_TOO_COMPLEX'] : undefined);
    });
  expect(await calls(100)).toEqual(['GET /notes?limit=20']);
  expect((await calls(50)).length).toBe(1 + tags.length);
  await room.stop();
});
