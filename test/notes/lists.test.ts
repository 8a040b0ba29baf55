import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startNotes } from './operations.js';

test('an operation reads 250 pages of notes, and no fault of what is still read goes unheard', async () => {
  const room = await startNotes();
  const unheard: unknown[] = [];
  const hear = (reason: unknown) => void unheard.push(reason);
  process.on('unhandledRejection', hear);
  const ask = await room.as('many@example.com');
  const tags = Array.from({ length: 250 }, (_, at) => `tag${at}`);
  room.sandbox.notes.insert('many@example.com', { title: 'T', tags }, room.sandbox.clock.now());
  const list = (below: string) => `notes(first: 1) { nodes { tags { ${below} } } }`;
  const { errors } = await ask(`{ ${list(list('notes(first: 1) { nodes { id } }'))} }`);
  expect(errors).toEqual(['QUERY_TOO_COMPLEX']);
  await sleep(300); // the first of those still read are there, and list notes themselves
  process.off('unhandledRejection', hear);
  expect(unheard).toEqual([]);
  await room.stop();
});
