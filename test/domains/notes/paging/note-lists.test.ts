import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { toGlobalId } from '../../../../src/graphql/global-id.js';
import { NoteLists } from '../../../../src/domains/notes/paging/note-lists.js';
import { createSightings } from '../../../../src/domains/notes/paging/page-index.js';
import type { ListedPage, NotesClient } from '../../../../src/domains/notes/service/client.js';
import { LightAbortController } from '../../../../src/lib/async/abort.js';
import { MemoryLedger } from '../../../../src/lib/memory/memory-ledger.js';
import { OperationMemory } from '../../../../src/lib/memory/operation-memory.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { startNotes } from '../operations.js';
import { noteOf } from '../service.js';

test('an operation reads at most 250 pages of notes, and handles the errors of reads still in flight', async () => {
  const room = await startNotes();
  const unhandled: unknown[] = [];
  const record = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', record);
  const ask = await room.as('many@example.com');
  const tags = Array.from({ length: 250 }, (_, at) => `tag${at}`);
  room.sandbox.notes.insert('many@example.com', { title: 'T', tags }, room.sandbox.clock.now());
  const list = (below: string) => `notes(first: 1) { nodes { tags { ${below} } } }`;
  const calls = await room.callsOf(async () => {
    const { errors } = await ask(`{ ${list(list('notes(first: 1) { nodes { id } }'))} }`);
    expect(errors).toEqual(['QUERY_TOO_COMPLEX']);
    await sleep(300); // until the first reads in flight have arrived, and try to list notes themselves
  });
  process.off('unhandledRejection', record);
  expect(calls.length).toBeLessThanOrEqual(250);
  expect(unhandled).toEqual([]);
  await room.stop();
});

test('a page that is kept is charged for its tags, however short they are on the wire', async () => {
  const tags = Array.from({ length: 10_000 }, (_, at) => ({ kind: 'Tag' as const, name: at.toString(36) }));
  const page: ListedPage = { notes: [{ ...noteOf(1), tags }], nextCursor: undefined, bytes: 50_000 };
  const client = { list: () => Promise.resolve(page) } as Partial<NotesClient> as NotesClient;
  const memory = new OperationMemory(new MemoryLedger(createTelemetry('silent')), 'user a');
  const owner = { token: '', sessionId: '', signal: new LightAbortController(memory) };
  const lists = new NoteLists({ client, sightings: createSightings() }, owner);
  await lists.kept({}).read({ limit: 20 });
  expect(memory.held).toBeGreaterThan(800_000);
});

describe('an operation reads at most about 64 MiB of notes for connections', () => {
  const email = 'heavy@example.com';
  const tagsOf = (count: number) => Array.from({ length: count }, (_, at) => `tag${at}`);

  /**
   * Reads the first `first` notes of each tag, all of which have the same notes; returns the error codes and the number
   * of pages requested.
   */
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

  test('and requests no further page after that', async () => {
    const note = { notes: 1, kibibytes: 7 * 1024 };
    expect(await ask(1, { ...note, tags: 9 })).toEqual({ codes: undefined, pages: 9 });
    const { codes, pages } = await ask(1, { ...note, tags: 30 });
    expect(codes).toEqual(['QUERY_TOO_COMPLEX']);
    // The tenth exceeds the limit; three others may be in flight by then.
    expect(pages).toBeGreaterThanOrEqual(10);
    expect(pages).toBeLessThanOrEqual(13);
  });

  test('including pages too large to be accepted', async () => {
    const { codes, pages } = await ask(100, { tags: 30, notes: 100, kibibytes: 100 });
    expect(codes).toEqual(['QUERY_TOO_COMPLEX']);
    expect(pages).toBeLessThanOrEqual(13);
  });

  test('excluding pages that are only searched for a note', async () => {
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
