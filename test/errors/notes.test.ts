import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { toGlobalId } from '../../src/graphql/global-id.js';
import { faultsOf, only, type Person, type Harness, startHarness } from './harness.js';

const fields = 'id upstreamId title content isPinned createdAt updatedAt tags { name }';
const faults = 'errors { code message path }';
const create = `mutation ($input: CreateNoteInput!) { createNote(input: $input) {
  note { ${fields} } noteEdge { cursor node { id } } ${faults} } }`;
const update = `mutation ($input: UpdateNoteInput!) { updateNote(input: $input) { note { ${fields} } ${faults} } }`;
const remove = `mutation ($input: DeleteNoteInput!) { deleteNote(input: $input) { deletedNoteId ${faults} } }`;
const share = `mutation ($input: ShareNoteInput!) { shareNote(input: $input) { sharedNoteId ${faults} } }`;

let harness: Harness;
let person: Person;

beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(async () => {
  harness.sandbox.faults.clear();
  person = await harness.join();
});
afterAll(() => harness.stop());

const ask = async (query: string, input: object) => only(await person.ask(query, { input }));
const insert = (note: Parameters<Harness['sandbox']['notes']['insert']>[1] = {}) =>
  harness.sandbox.notes.insert(person.email, note);
const idOf = ({ id }: { readonly id: string }) => toGlobalId('Note', id);
const stored = async () => only(await person.ask(`{ notes { nodes { ${fields} } } }`)).nodes;

describe('createNote', () => {
  test.each<[string, object, readonly string[]]>([
    ['content of 10,001 letters', { title: 'T', content: 'x'.repeat(10_001) }, ['TOO_LONG content']],
    ['content of 10,001 emoji', { title: 'T', content: '😀'.repeat(10_001) }, ['TOO_LONG content']],
  ])('reports %s before any call', async (_, input, expected) => {
    const calls = await harness.callsOf(async () => {
      const payload = await ask(create, input);
      expect(payload).toMatchObject({ note: null, noteEdge: null });
      expect(faultsOf(payload)).toEqual(expected);
    });
    expect(calls).toEqual([]);
  });

  test('stores 10,000 emoji, and every other member', async () => {
    const input = { title: 'T', content: '😀'.repeat(10_000), tags: ['Work', 'Zürich'], isPinned: true };
    const payload = await ask(create, input);
    expect(payload.errors).toEqual([]);
    const { tags, ...rest } = input;
    expect(payload.note).toMatchObject({ ...rest, tags: tags.map((name) => ({ name })) });
    expect(payload.noteEdge).toEqual({ node: { id: payload.note.id }, cursor: expect.any(String) });
    expect(await stored()).toEqual([payload.note]);
  });

  test('uses the defaults for members that are null or absent', async () => {
    const { note } = await ask(create, { title: 'T', content: 'C', tags: null, isPinned: null });
    expect(note).toMatchObject({ tags: [], isPinned: false });
  });

  test('returns an edge whose cursor is valid in `notes`', async () => {
    insert({ title: 'older' });
    const { noteEdge } = await ask(create, { title: 'newer', content: 'C' });
    const list = 'query ($after: String) { notes(after: $after) { nodes { title } } }';
    const answer = await person.ask(list, { after: noteEdge.cursor });
    expect(only(answer).nodes).toEqual([{ title: 'older' }]);
  });

  test.each([
    [{ title: '', content: 'C' }, ['REQUIRED title']],
    [{ title: 'T', content: '' }, ['REQUIRED content']],
    [{ title: '', content: '' }, ['REQUIRED title', 'REQUIRED content']],
  ])('sends %j on, and reports its refusal as REQUIRED', async (input, expected) => {
    const calls = await harness.callsOf(async () => {
      const payload = await ask(create, input);
      expect(payload).toMatchObject({ note: null, noteEdge: null });
      expect(faultsOf(payload)).toEqual(expected);
    });
    expect(calls).toEqual(['POST /notes']);
  });

  test.each(['', ' \n'])('accepts the text %j if the service does, as the schema says', async (text) => {
    const note = { id: 'n1', title: text, content: text, created_at: '2026-01-01T00:00:00Z' };
    const body = JSON.stringify({ ...note, updated_at: note.created_at });
    harness.sandbox.faults.add({ service: 'notes', times: 1, act: { kind: 'answer', status: 201, body } });
    expect(await ask(create, { title: text, content: text })).toMatchObject({
      note: { upstreamId: 'n1', title: text },
      errors: [],
    });
    const described = await person.ask(
      '{ __type(name: "UserErrorCode") { enumValues { name description } } }',
    );
    const required = only(described).enumValues.find(({ name }: { name: string }) => name === 'REQUIRED');
    expect(required.description.replaceAll(/\s+/g, ' ')).toContain(
      'may be empty or blank, unless the notes service refuses',
    );
  });

  test('reports which tag the service does not accept', async () => {
    const payload = await ask(create, { title: 'T', content: 'C', tags: ['good', ''] });
    expect(faultsOf(payload)).toEqual(['INVALID tags.1']);
  });

  test('gives BAD_USER_INPUT for input that does not match the schema, without a call', async () => {
    const calls = await harness.callsOf(async () => {
      for (const input of [{ title: 1 }, { tags: [null] }, { unknown: '' }, { isPinned: 'yes' }]) {
        const { errors } = await person.ask(create, { input: { title: 'T', content: 'C', ...input } });
        expect(errors?.map(({ extensions }) => extensions['code'])).toEqual(['BAD_USER_INPUT']);
      }
    });
    expect(calls).toEqual([]);
  });
});

describe('with 50 notes pinned', () => {
  test.each([400, 403, 409, 422])('a pin refused with %i is TOO_MANY_PINNED', async (status) => {
    for (let left = 50; left > 0; left -= 1) insert({ is_pinned: true });
    const loose = insert();
    harness.sandbox.faults.add({ service: 'notes', method: 'POST', act: { kind: 'answer', status } });
    harness.sandbox.faults.add({ service: 'notes', method: 'PATCH', act: { kind: 'answer', status } });
    const created = await ask(create, { title: 'T', content: 'C', isPinned: true });
    const updated = await ask(update, { id: idOf(loose), isPinned: true });
    expect([created.note, updated.note]).toEqual([null, null]);
    expect(faultsOf(created)).toEqual(['TOO_MANY_PINNED isPinned']);
    expect(faultsOf(updated)).toEqual(['TOO_MANY_PINNED isPinned']);
    const plain = await ask(create, { title: 'T', content: 'C', isPinned: false });
    expect(faultsOf(plain)).not.toContain('TOO_MANY_PINNED isPinned');
  });

  test.each([405, 423])(
    'a pin refused with %i is TOO_MANY_PINNED, though that status does not concern the note',
    async (status) => {
      for (let left = 50; left > 0; left -= 1) insert({ is_pinned: true });
      harness.sandbox.faults.add({ service: 'notes', method: 'POST', act: { kind: 'answer', status } });
      const created = await ask(create, { title: 'T', content: 'C', isPinned: true });
      expect(faultsOf(created)).toEqual(['TOO_MANY_PINNED isPinned']);
    },
  );

  test('a pinned note can be changed, and unpinning one makes room for another', async () => {
    const [first] = Array.from({ length: 50 }, () => insert({ is_pinned: true }));
    const again = await ask(update, { id: idOf(first!), isPinned: true, title: 'still' });
    expect(again).toMatchObject({ note: { title: 'still', isPinned: true }, errors: [] });
    expect(faultsOf(await ask(create, { title: 'T', content: 'C', isPinned: true }))).toEqual([
      'TOO_MANY_PINNED isPinned',
    ]);
    await ask(update, { id: idOf(first!), isPinned: false });
    expect((await ask(create, { title: 'T', content: 'C', isPinned: true })).errors).toEqual([]);
  });

  test('a refused pin is INVALID if only 49 are pinned', async () => {
    for (let left = 49; left > 0; left -= 1) insert({ is_pinned: true });
    harness.sandbox.faults.add({ service: 'notes', method: 'POST', act: { kind: 'answer', status: 422 } });
    expect(faultsOf(await ask(create, { title: 'T', content: 'C', isPinned: true }))).toEqual(['INVALID ']);
  });
});

describe('updateNote', () => {
  const before = { title: 'old', content: 'words', tags: ['a', 'B'], is_pinned: false };
  const shown = { title: 'old', content: 'words', tags: [{ name: 'a' }, { name: 'B' }], isPinned: false };

  test.each<[object, object]>([
    [{ title: 'new' }, { title: 'new' }],
    [{ content: 'x'.repeat(10_000) }, { content: 'x'.repeat(10_000) }],
    [{ tags: [] }, { tags: [] }],
    [{ tags: ['c', 'C'] }, { tags: [{ name: 'c' }] }],
    [{ isPinned: true }, { isPinned: true }],
    [
      { title: 'new', isPinned: true },
      { title: 'new', isPinned: true },
    ],
  ])('changes only what is sent: case %#', async (change, expected) => {
    const note = insert(before);
    const payload = await ask(update, { id: idOf(note), ...change });
    expect(payload.errors).toEqual([]);
    const { createdAt, upstreamId, ...rest } = payload.note;
    expect(rest).toMatchObject({ ...shown, ...expected });
    expect([createdAt, upstreamId]).toEqual([note.created_at, note.id]);
    expect(await stored()).toEqual([payload.note]);
  });

  test.each<[object, readonly string[]]>([
    [{ title: null }, ['INVALID title']],
    [{ content: null }, ['INVALID content']],
    [{ tags: null }, ['INVALID tags']],
    [{ isPinned: null }, ['INVALID isPinned']],
    [{ title: null, content: '😀'.repeat(10_001) }, ['INVALID title', 'TOO_LONG content']],
  ])('reports errors before any call: case %#', async (change, expected) => {
    const note = insert(before);
    const calls = await harness.callsOf(async () => {
      const payload = await ask(update, { id: idOf(note), ...change });
      expect([payload.note, faultsOf(payload)]).toEqual([null, expected]);
    });
    expect(calls).toEqual([]);
  });

  test('reports an id that is not a note’s along with other errors, before any call', async () => {
    const calls = await harness.callsOf(async () => {
      const payload = await ask(update, { id: toGlobalId('Tag', 'a'), title: null });
      expect(faultsOf(payload)).toEqual(['NOT_FOUND id', 'INVALID title']);
    });
    expect(calls).toEqual([]);
  });

  test.each([
    [{ title: '' }, ['REQUIRED title']],
    [{ content: '' }, ['REQUIRED content']],
  ])('sends %j on, and reports its refusal as REQUIRED', async (change, expected) => {
    const note = insert(before);
    const calls = await harness.callsOf(async () => {
      expect(faultsOf(await ask(update, { id: idOf(note), ...change }))).toEqual(expected);
    });
    expect(calls).toEqual([`PATCH /notes/${note.id}`]);
  });

  test('reports NOT_FOUND for a note that does not exist, is deleted, or is another user’s', async () => {
    const stranger = await harness.join();
    const gone = insert();
    harness.sandbox.notes.delete(person.email, gone.id);
    const theirs = harness.sandbox.notes.insert(stranger.email, {});
    for (const id of ['nothing', gone.id, theirs.id]) {
      const payload = await ask(update, { id: toGlobalId('Note', id), title: 'new' });
      expect([payload.note, faultsOf(payload)]).toEqual([null, ['NOT_FOUND id']]);
    }
  });
});

describe('deleteNote', () => {
  const node = 'query ($id: ID!) { node(id: $id) { id } }';

  test('deletes a note, which `node` and `notes` then no longer have', async () => {
    const note = insert();
    const id = idOf(note);
    expect(only(await person.ask(node, { id }))).toEqual({ id });
    expect(await ask(remove, { id })).toEqual({ deletedNoteId: id, errors: [] });
    expect(only(await person.ask(node, { id }))).toBeNull();
    expect(await stored()).toEqual([]);
    expect(harness.sandbox.notes.deletedCount(person.email)).toBe(1);
    const again = await ask(remove, { id });
    expect([again.deletedNoteId, faultsOf(again)]).toEqual([null, ['NOT_FOUND id']]);
  });

  test.each(['', 'no id', toGlobalId('User', 'user_1'), toGlobalId('Note', '..')])(
    'reports NOT_FOUND for the id %j, without a call',
    async (id) => {
      const calls = await harness.callsOf(async () => {
        for (const query of [remove, update, share]) {
          const more = query === share ? { email: 'a@example.com', permission: 'READ' } : { title: 'new' };
          const input = query === remove ? { id } : { id, ...more };
          expect(faultsOf(await ask(query, input))).toEqual(['NOT_FOUND id']);
        }
      });
      expect(calls).toEqual([]);
    },
  );
});

describe('shareNote', () => {
  test.each([
    ['READ', 'read'],
    ['COMMENT', 'comment'],
    ['EDIT', 'edit'],
  ])('shares with the permission %s', async (permission, sent) => {
    const note = insert();
    const input = { id: idOf(note), email: 'friend@example.com', permission };
    expect(await ask(share, input)).toEqual({ sharedNoteId: input.id, errors: [] });
    expect(harness.sandbox.notes.shares.at(-1)).toMatchObject({ noteId: note.id, permission: sent });
  });

  test.each([
    [200, ''],
    [201, ''],
    [204, ''],
    [200, 'Shared.'],
    [200, '{"shared":true}'],
  ])('succeeds if the service answers %i %j', async (status, body) => {
    harness.sandbox.faults.add({
      service: 'notes',
      path: /share/,
      times: 1,
      act: { kind: 'answer', status, body },
    });
    const input = { id: idOf(insert()), email: 'friend@example.com', permission: 'READ' };
    expect(await ask(share, input)).toEqual({ sharedNoteId: input.id, errors: [] });
  });

  test.each<[object, readonly string[]]>([
    [{ email: '', permission: 'READ' }, ['REQUIRED email']],
    [{ email: 'friend', permission: 'READ' }, ['INVALID email']],
  ])('reports errors before any call: %j', async (given, expected) => {
    const note = insert();
    const calls = await harness.callsOf(async () => {
      const payload = await ask(share, { id: idOf(note), ...given });
      expect([payload.sharedNoteId, faultsOf(payload)]).toEqual([null, expected]);
    });
    expect(calls).toEqual([]);
  });

  test.each([
    [404, 'NOT_FOUND email'],
    [409, 'CONFLICT email'],
    [400, 'INVALID email'],
    [422, 'INVALID email'],
  ])('refused with %i is %s', async (status, expected) => {
    harness.sandbox.faults.add({
      service: 'notes',
      path: /share/,
      times: 1,
      act: { kind: 'answer', status },
    });
    const input = { id: idOf(insert()), email: 'friend@example.com', permission: 'READ' };
    expect(faultsOf(await ask(share, input))).toEqual([expected]);
  });
});

describe('a refused write', () => {
  const unavailable = [408, 421, 423, 425].map((status) => [status, 'UPSTREAM_UNAVAILABLE'] as const);
  const invalid = [405, 406, 411, 415, 426, 431].map(
    (status) => [status, 'UPSTREAM_INVALID_RESPONSE'] as const,
  );

  test.each([...unavailable, ...invalid])('with %i is the error %s', async (status, code) => {
    const id = idOf(insert());
    for (const method of ['POST', 'PATCH', 'DELETE'])
      harness.sandbox.faults.add({ service: 'notes', method, act: { kind: 'answer', status } });
    const writes: readonly (readonly [string, object])[] = [
      [create, { title: 'T', content: 'C', isPinned: true }],
      [create, { title: '', content: '' }],
      [update, { id, title: 'new' }],
      [share, { id, email: 'friend@example.com', permission: 'READ' }],
      [remove, { id }],
    ];
    for (const [query, input] of writes) {
      const { errors } = await person.ask(query, { input });
      expect(errors?.map(({ extensions }) => extensions['code'])).toEqual([code]);
      expect(harness.testbed.logged()).toContain(
        `"status":${status},"suppressed":0,"msg":"the notes service refused a write`,
      );
    }
  });

  test.each([
    ['createNote', 402, true],
    ['createNote', 403, true],
    ['createNote', 404, true],
    ['createNote', 413, false],
    ['createNote', 422, false],
    ['deleteNote', 451, true],
    ['deleteNote', 403, false],
    ['deleteNote', 410, false],
  ])('is reported as data: %s with %i, and logged: %s', async (mutation, status, isLogged) => {
    const id = idOf(insert());
    for (const method of ['POST', 'DELETE'])
      harness.sandbox.faults.add({ service: 'notes', method, act: { kind: 'answer', status } });
    const before = harness.testbed.logged().length;
    const [query, input, expected] =
      mutation === 'deleteNote'
        ? [remove, { id }, 'INVALID id']
        : [create, { title: 'T', content: 'C' }, 'INVALID '];
    expect(faultsOf(await ask(query, input))).toEqual([expected]);
    expect(harness.testbed.logged().slice(before).includes(`"status":${status},"suppressed"`)).toBe(isLogged);
  });
});

describe('reading', () => {
  const titles = async (query: string, variables = {}) =>
    (only(await person.ask(query, variables)).nodes as { title: string }[])
      .map(({ title }) => title)
      .toSorted();

  test('filters notes by tag, ignoring case, by pin, and by both', async () => {
    insert({ title: '1', tags: ['Work'], is_pinned: true });
    insert({ title: '2', tags: ['work', 'home'] });
    insert({ title: '3', tags: ['home'], is_pinned: true });
    const list = 'query ($filter: NoteFilter) { notes(filter: $filter) { nodes { title } } }';
    expect(await titles(list, { filter: { tag: 'WORK' } })).toEqual(['1', '2']);
    expect(await titles(list, { filter: { pinned: true } })).toEqual(['1', '3']);
    expect(await titles(list, { filter: { pinned: false } })).toEqual(['2']);
    expect(await titles(list, { filter: { tag: 'hoME', pinned: true } })).toEqual(['3']);
    expect(await titles(list, { filter: null })).toEqual(['1', '2', '3']);
  });

  test('gives one tag for all its spellings, with the notes of all of them', async () => {
    insert({ title: '1', tags: ['Work'], is_pinned: true });
    insert({ title: '2', tags: ['WORK'] });
    const tag = only(
      await person.ask(
        `{ tag(name: "wORK") { id name count notes(first: 1) { nodes { title } pageInfo { hasNextPage } } } }`,
      ),
    );
    expect(tag).toEqual({
      id: toGlobalId('Tag', 'work'),
      name: 'Work',
      count: 2,
      notes: { nodes: [{ title: '2' }], pageInfo: { hasNextPage: true } },
    });
    const pinned = '{ tag(name: "work") { notes(pinned: true) { nodes { title } } } }';
    expect(only(await person.ask(pinned)).notes.nodes).toEqual([{ title: '1' }]);
    expect(only(await person.ask('{ tag(name: "play") { id } }'))).toBeNull();
  });
});
