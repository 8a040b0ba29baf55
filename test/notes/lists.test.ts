import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { toGlobalId } from '../../src/relay.js';
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

describe('an operation reads about 64 MiB of notes for connections', () => {
  const email = 'heavy@example.com';
  const tagsOf = (count: number) => Array.from({ length: count }, (_, at) => `tag${at}`);

  /** Asks for so many notes of each of so many tags, which all have the same notes; gives the errors, and the pages asked for. */
  async function ask(
    first: number,
    { tags, notes, kibibytes }: Record<'tags' | 'notes' | 'kibibytes', number>,
  ) {
    const room = await startNotes();
    const operation = await room.as(email);
    const fields = { title: 'x'.repeat(kibibytes * 1024), tags: tagsOf(tags) };
    for (let left = notes; left > 0; left -= 1)
      room.sandbox.notes.insert(email, fields, room.sandbox.clock.now());
    const query = `{ tags(first: 100) { nodes { notes(first: ${first}) { nodes { id } } } } }`;
    let codes: readonly unknown[] | undefined;
    const calls = await room.callsOf(async () => ({ errors: codes } = await operation(query)));
    await room.stop();
    return { codes, pages: calls.filter((call) => call.startsWith('GET /notes')).length };
  }

  test('and begins no other page once it has', async () => {
    const note = { notes: 1, kibibytes: 7 * 1024 };
    expect(await ask(1, { ...note, tags: 9 })).toEqual({ codes: undefined, pages: 9 });
    const { codes, pages } = await ask(1, { ...note, tags: 30 });
    expect(codes).toEqual(['QUERY_TOO_COMPLEX']);
    // Ten are more; three others are under way by then.
    expect(pages).toBeGreaterThanOrEqual(10);
    expect(pages).toBeLessThanOrEqual(13);
  });

  test('counting those too large to be taken', async () => {
    const { codes, pages } = await ask(100, { tags: 30, notes: 100, kibibytes: 100 });
    expect(codes).toEqual(['QUERY_TOO_COMPLEX']);
    expect(pages).toBeLessThanOrEqual(13);
  });

  test('not counting those among which one is looked for, which are not kept', async () => {
    const room = await startNotes();
    const operation = await room.as(email);
    const fields = { content: '\u{1F600}'.repeat(9_000) };
    const ids = Array.from({ length: 2_600 }, (_, at) => room.sandbox.notes.insert(email, fields, at).id);
    const id = toGlobalId('Note', ids[0]!);
    const calls = await room.callsOf(async () =>
      expect(await operation('query ($id: ID!) { node(id: $id) { id } }', { id })).toEqual({
        data: { node: { id } },
        errors: undefined,
      }),
    );
    expect(calls).toHaveLength(26);
    await room.stop();
  });
});
