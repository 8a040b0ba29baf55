import { afterAll, afterEach, beforeEach, beforeAll, describe, expect, test } from 'vitest';
import { toGlobalId } from '../../../src/graphql/global-id.js';
import { startNotes } from './operations.js';

type Room = Awaited<ReturnType<typeof startNotes>>;
type Ask = Awaited<ReturnType<Room['as']>>;

let room: Room;
let ask: Ask;
let email: string;
let users = 0;

beforeAll(async () => {
  room = await startNotes();
});
beforeEach(async () => {
  room.sandbox.faults.clear();
  Object.assign(room.sandbox.notes.pageLimit, { max: 100, mode: 'reject' });
  email = `user${(users += 1)}@example.com`;
  ask = await room.as(email);
});
afterAll(() => room.stop());

/** Adds `count` notes titled 1, 2, …, newest first. */
function addNotes(count: number, tags: readonly string[] = []) {
  const now = room.sandbox.clock.now();
  return Array.from({ length: count }, (_, index) =>
    room.sandbox.notes.insert(email, { title: String(index + 1), tags }, now - index * 1000),
  );
}

const noteId = (id: string) => toGlobalId('Note', id);

describe('reading', () => {
  test('gives every field of a note and of its tags', async () => {
    const note = room.sandbox.notes.insert(email, {
      title: 'T',
      content: 'C',
      tags: ['Work'],
      is_pinned: true,
    });
    const { data, errors } = await ask(`{ notes { nodes { __typename id upstreamId title content isPinned
      createdAt updatedAt tags { __typename id name count notes { nodes { title } } } } } }`);
    expect(errors).toBeUndefined();
    expect(data.notes.nodes).toEqual([
      {
        __typename: 'Note',
        id: noteId(note.id),
        upstreamId: note.id,
        title: 'T',
        content: 'C',
        isPinned: true,
        createdAt: note.created_at,
        updatedAt: note.updated_at,
        tags: [
          {
            __typename: 'Tag',
            id: toGlobalId('Tag', 'work'),
            name: 'Work',
            count: 1,
            notes: { nodes: [{ title: 'T' }] },
          },
        ],
      },
    ]);
  });

  test('costs one call per page, and one more only if tag counts are selected', async () => {
    addNotes(30, ['Work', 'Home']);
    const page = `{ notes(first: 20) { edges { cursor node { title tags { name } } } pageInfo { hasNextPage endCursor } } }`;
    expect(await room.callsOf(() => ask(page))).toEqual(['GET /notes?limit=20']);
    const counted = `{ notes(first: 20) { nodes { ...N } } } fragment N on Note { tags { ... on Tag { count } } }`;
    expect((await room.callsOf(() => ask(counted))).toSorted()).toEqual(['GET /notes?limit=20', 'GET /tags']);
    const skipped = `{ notes(first: 20) { nodes { tags { name count @skip(if: true) } } } }`;
    expect(await room.callsOf(() => ask(skipped))).toEqual(['GET /notes?limit=20']);
  });

  test('filters by tag, ignoring case, and by pin', async () => {
    addNotes(3, ['Work']);
    room.sandbox.notes.insert(email, { title: 'pinned', tags: ['work'], is_pinned: true });
    const { data } = await ask(`{ notes(filter: { tag: "WORK", pinned: true }) { nodes { title } }
      tag(name: "wORK") { id name count notes(first: 2, pinned: false) { nodes { title } } } }`);
    expect(data.notes.nodes).toEqual([{ title: 'pinned' }]);
    expect(data.tag).toEqual({
      id: toGlobalId('Tag', 'work'),
      name: 'Work',
      count: 4,
      notes: { nodes: [{ title: '1' }, { title: '2' }] },
    });
  });

  test('gives BAD_USER_INPUT for a tag that the service refuses', async () => {
    expect((await ask(`{ notes(filter: { tag: "" }) { nodes { id } } }`)).errors).toEqual(['BAD_USER_INPUT']);
  });

  test('gives null for a tag that no note has', async () => {
    const id = toGlobalId('Tag', 'nothing');
    const { data, errors } = await ask(`{ tag(name: "nothing") { id } node(id: "${id}") { id } }`);
    expect([data, errors]).toEqual([{ tag: null, node: null }, undefined]);
  });

  describe('spells a tag the same way throughout an answer', () => {
    const names = (value: unknown) => [...new Set(JSON.stringify(value).match(/(?<="name":")[^"]*/g))];
    const newest = 'WORK';
    const listed = 'work';
    beforeEach(() => {
      room.sandbox.notes.tagSpelling = 'given';
      const now = room.sandbox.clock.now();
      room.sandbox.notes.insert(email, { tags: ['Work'] }, now - 1000);
      room.sandbox.notes.insert(email, { tags: [newest] }, now);
    });
    afterEach(() => void (room.sandbox.notes.tagSpelling = 'first'));

    test.each([
      ['{ notes { nodes { tags { name } } } }', newest],
      ['{ notes { nodes { tags { name count } } } }', listed],
      ['{ notes { nodes { tags { name } } } tag(name: "wORK") { name } }', listed],
      ['{ tag(name: "work") { name } notes { nodes { tags { name } } } }', listed],
      ['{ tags { nodes { name notes { nodes { tags { name } } } } } }', listed],
      [
        `{ notes { nodes { tags { name } } } node(id: "${toGlobalId('Tag', 'work')}") { ... on Tag { name } } }`,
        listed,
      ],
      [
        '{ a: notes { nodes { tags { name } } } b: notes(first: 1) { nodes { tags { name count } } } }',
        listed,
      ],
      ['{ notes { nodes { tags { name notes(first: 2) { nodes { tags { name count } } } } } } }', newest],
    ])('%s', async (query, spelling) => {
      const { data, errors } = await ask(query);
      expect([errors, names(data)]).toEqual([undefined, [spelling]]);
    });

    test.each([
      ['name count', 'name', listed],
      ['name', 'name count', 'Work'],
      ['name count', 'name count', listed],
    ])('after a write too: { %s }, then { %s }', async (before, after, spelling) => {
      const { id: upstreamId } = room.sandbox.notes.insert(email, { tags: ['Work'] });
      const { data, errors } = await ask(
        `mutation ($a: UpdateNoteInput!, $b: UpdateNoteInput!) {
          a: updateNote(input: $a) { note { tags { ${before} } } }
          b: updateNote(input: $b) { note { tags { ${after} } } } }`,
        { a: { id: noteId(upstreamId), title: 'a' }, b: { id: noteId(upstreamId), title: 'b' } },
      );
      expect([errors, names(data)]).toEqual([undefined, [spelling]]);
      const counts = [data.a, data.b].flatMap(({ note }) => note.tags[0].count ?? []);
      expect(new Set(counts)).toEqual(new Set([3]));
    });

    test('even if GET /tags lacks the tag', async () => {
      const act = { kind: 'answer', status: 200, body: '{"tags":[]}' } as const;
      room.sandbox.faults.add({ service: 'notes', path: /tags/, act });
      const { data, errors } = await ask('{ notes { nodes { tags { name count } } } }');
      expect([errors, names(data)]).toEqual([undefined, [newest]]);
    });

    test('as in the notes, if GET /tags fails', async () => {
      room.sandbox.faults.add({ service: 'notes', path: /tags/, act: { kind: 'answer', status: 500 } });
      const { data, errors } = await ask('{ notes { nodes { tags { name } } } tag(name: "work") { name } }');
      expect(errors).toEqual(['UPSTREAM_UNAVAILABLE']);
      expect([names(data), data.tag]).toEqual([[newest], null]);
    });
  });

  test('pages through tags', async () => {
    room.sandbox.notes.insert(email, { tags: ['c', 'A', 'b'] });
    const list = `query ($after: String) { tags(first: 2, after: $after) { nodes { name count }
      pageInfo { hasNextPage hasPreviousPage endCursor } } }`;
    const { data: one } = await ask(list);
    expect(one.tags.nodes).toEqual([
      { name: 'c', count: 1 },
      { name: 'A', count: 1 },
    ]);
    expect(one.tags.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    const { data: two } = await ask(list, { after: one.tags.pageInfo.endCursor });
    expect(two.tags.nodes).toEqual([{ name: 'b', count: 1 }]);
    expect(two.tags.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
  });

  test('has no previous page if all tags before it are gone', async () => {
    const note = room.sandbox.notes.insert(email, { tags: ['a'] });
    room.sandbox.notes.insert(email, { tags: ['b'] }, room.sandbox.clock.now() - 1000);
    const list = `query ($after: String) { tags(after: $after) { nodes { name } pageInfo { hasPreviousPage startCursor } } }`;
    const { data: all } = await ask(list);
    expect(all.tags.nodes).toEqual([{ name: 'a' }, { name: 'b' }]);
    await ask(`mutation ($id: ID!) { deleteNote(input: { id: $id }) { errors { code } } }`, {
      id: noteId(note.id),
    });
    const { data: rest } = await ask(list, { after: all.tags.pageInfo.startCursor });
    expect(rest.tags).toMatchObject({ nodes: [{ name: 'b' }], pageInfo: { hasPreviousPage: false } });
  });

  test('continues from the place of a tag that is gone', async () => {
    const [, middle] = [['a', 'b'], ['c'], ['d']].map((tags) => room.sandbox.notes.insert(email, { tags }));
    const list = `query ($after: String) { tags(first: 1, after: $after) { nodes { name } pageInfo { endCursor } } }`;
    const all = await ask('{ tags { edges { cursor node { name } } } }');
    const names = all.data.tags.edges.map(({ node }: { node: { name: string } }) => node.name);
    const at = names.indexOf('c');
    room.sandbox.notes.delete(email, middle!.id);
    const { data } = await ask(list, { after: all.data.tags.edges[at].cursor });
    expect(data.tags.nodes.map(({ name }: { name: string }) => name)).toEqual(names.slice(at + 1, at + 2));
    const other = await room.as(`other-${email}`);
    expect((await other(list, { after: data.tags.pageInfo.endCursor })).errors).toEqual(['CURSOR_INVALID']);
  });

  test('accepts a cursor under another spelling of its tag, but only in its own connection', async () => {
    addNotes(3, ['Work']);
    const filtered = `notes(first: 1, filter: { tag: "Work" }) { nodes { title } pageInfo { endCursor } }`;
    const ofTag = `notes(first: 1) { nodes { title } pageInfo { endCursor } }`;
    const { data } = await ask(`{ ${filtered} tag(name: "Work") { ${ofTag} } }`);
    const next = `query ($one: String, $other: String) {
      notes(first: 1, after: $one, filter: { tag: "wORK" }) { nodes { title } }
      tag(name: "wORK") { notes(first: 1, after: $other) { nodes { title } } } }`;
    const [one, other] = [data.notes, data.tag.notes].map(({ pageInfo }) => pageInfo.endCursor as string);
    const titles = { nodes: [{ title: '2' }] };
    expect((await ask(next, { one, other })).data).toEqual({ notes: titles, tag: { notes: titles } });
    for (const crossed of [{ one: other }, { other: one }])
      expect((await ask(next, crossed)).errors).toEqual(['CURSOR_INVALID']);
  });

  test('refuses a cursor of another caller, connection or filter', async () => {
    addNotes(2, ['Work']);
    const { data } = await ask('{ notes(first: 1) { pageInfo { endCursor } } }');
    const after = data.notes.pageInfo.endCursor as string;
    const other = await room.as(`other-${email}`);
    const list = `query ($after: String) { notes(after: $after) { nodes { title } } }`;
    expect((await ask(list, { after })).data.notes.nodes).toEqual([{ title: '2' }]);
    expect((await other(list, { after })).errors).toEqual(['CURSOR_INVALID']);
    const filtered = `query ($after: String) { notes(after: $after, filter: { pinned: false }) { nodes { id } } }`;
    expect((await ask(filtered, { after })).errors).toEqual(['CURSOR_INVALID']);
    const empty = `query ($after: String) { notes(after: $after, filter: { tag: null }) { nodes { title } } }`;
    expect((await ask(empty, { after })).data.notes.nodes).toEqual([{ title: '2' }]);
    const tags = `query ($after: String) { tag(name: "Work") { notes(after: $after) { nodes { id } } } }`;
    expect((await ask(tags, { after })).errors).toEqual(['CURSOR_INVALID']);
  });

  test('costs one call for the notes of each tag', async () => {
    room.sandbox.notes.insert(email, { tags: Array.from({ length: 12 }, (_, index) => `tag${index}`) });
    const calls = await room.callsOf(async () => {
      const { data } = await ask('{ tags(first: 12) { nodes { notes(first: 1) { nodes { id } } } } }');
      expect(data.tags.nodes).toHaveLength(12);
    });
    expect(calls).toHaveLength(13);
  });

  test('requires a session', async () => {
    for (const field of ['notes { nodes { id } }', 'tags { nodes { id } }', 'tag(name: "a") { id }']) {
      const { errors } = await room.anonymous(`{ ${field} }`);
      expect(errors?.map(({ extensions }) => extensions['code'])).toEqual(['UNAUTHENTICATED']);
    }
  });
});

describe('node', () => {
  const get = 'query ($id: ID!) { node(id: $id) { id ... on Note { title } } }';
  const getAll = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { title } } }';

  test('reads the page where the note was last seen, in one call', async () => {
    const notes = addNotes(60);
    const page = 'query ($after: String) { notes(first: 20, after: $after) { pageInfo { endCursor } } }';
    const { data } = await ask(page);
    await ask(page, { after: data.notes.pageInfo.endCursor });
    const calls = await room.callsOf(async () => {
      const found = await ask(get, { id: noteId(notes[25]!.id) });
      expect(found.data.node.title).toBe('26');
    });
    expect(calls).toHaveLength(1);
    expect(calls[0]).toContain('limit=20&cursor=');
  });

  test('finds notes not seen before in a single scan, and gives null for those that do not exist', async () => {
    const notes = addNotes(150);
    const ids = [notes[120]!.id, 'note_none', notes[3]!.id, notes[120]!.id].map(noteId);
    const calls = await room.callsOf(async () => {
      const { data, errors } = await ask(getAll, { ids });
      expect(errors).toBeUndefined();
      expect(data.nodes).toEqual([{ title: '121' }, null, { title: '4' }, { title: '121' }]);
    });
    expect(calls).toHaveLength(2);
  });

  test('does not read the page of a note again that a scan for others has found', async () => {
    const notes = addNotes(60);
    await ask('{ notes(first: 20) { nodes { id } } }');
    const ids = [notes[5]!.id, notes[50]!.id].map(noteId);
    const calls = await room.callsOf(async () => {
      expect((await ask(getAll, { ids })).data.nodes).toEqual([{ title: '6' }, { title: '51' }]);
    });
    expect(calls).toHaveLength(1);
  });

  test('finds a note that has moved to another page, but not one that is deleted', async () => {
    const notes = addNotes(5);
    await ask('{ notes(first: 2) { nodes { id } } }');
    addNotes(30);
    room.sandbox.notes.delete(email, notes[0]!.id);
    const { data } = await ask(getAll, { ids: notes.slice(0, 2).map(({ id }) => noteId(id)) });
    expect(data.nodes).toEqual([null, { title: '2' }]);
  });

  test("gives null for another user's note", async () => {
    const [note] = addNotes(1);
    await ask('{ notes { nodes { id } } }');
    const other = await room.as(`other-${email}`);
    expect((await other(get, { id: noteId(note!.id) })).data).toEqual({ node: null });
  });

  test.each(['reject', 'clamp'])('finds a note far down if the service %ss larger pages', async (mode) => {
    Object.assign(room.sandbox.notes.pageLimit, { max: 20, mode });
    const notes = addNotes(2300);
    const { data, errors } = await ask(get, { id: noteId(notes[2299]!.id) });
    expect([data.node?.title, errors]).toEqual(['2300', undefined]);
  });

  test('gives an error, not a mere null, if the scan reaches its limit', async () => {
    const notes = addNotes(5001);
    const calls = await room.callsOf(async () => {
      const { data, errors } = await ask(get, { id: noteId(notes[5000]!.id) });
      expect([data, errors]).toEqual([{ node: null }, ['QUERY_TOO_COMPLEX']]);
    });
    expect(calls).toHaveLength(50);
    expect((await ask(get, { id: noteId(notes[4999]!.id) })).data.node).toMatchObject({ title: '5000' });
  });

  test('gives null, once it has seen all of 5,000 notes', async () => {
    addNotes(5000);
    const { data, errors } = await ask(get, { id: noteId('note_none') });
    expect([data, errors]).toEqual([{ node: null }, undefined]);
  });
});

describe('writing', () => {
  const create = `mutation ($input: CreateNoteInput!) { createNote(input: $input) {
    note { title tags { name count } isPinned } noteEdge { cursor node { id upstreamId } } errors { code path } } }`;
  const update = `mutation ($input: UpdateNoteInput!) { updateNote(input: $input) {
    note { title content isPinned tags { name } } errors { code path } } }`;
  const remove = `mutation ($input: DeleteNoteInput!) { deleteNote(input: $input) { deletedNoteId errors { code path } } }`;
  const share = `mutation ($input: ShareNoteInput!) { shareNote(input: $input) { sharedNoteId errors { code path } } }`;

  test('creates a note, whose edge has its place in the list', async () => {
    addNotes(3);
    room.sandbox.notes.insert(email, { title: 'soon' }, room.sandbox.clock.now() + 60_000);
    const { data } = await ask(create, {
      input: { title: 'T', content: 'C', tags: ['New'], isPinned: null },
    });
    const { note, noteEdge, errors } = data.createNote;
    expect([note, errors]).toEqual([{ title: 'T', tags: [{ name: 'New', count: 1 }], isPinned: false }, []]);
    const list = 'query ($after: String) { notes(after: $after) { nodes { title } } }';
    const { data: next } = await ask(list, { after: noteEdge.cursor });
    expect(next.notes.nodes.map(({ title }: { title: string }) => title)).toEqual(['1', '2', '3']);
  });

  test.each([
    [{ title: 'T', content: 'x'.repeat(10_001) }, [['TOO_LONG', 'content']]],
    [{ title: '', content: '😀'.repeat(10_001) }, [['TOO_LONG', 'content']]],
  ])('checks a new note before any call: case %#', async (input, expected) => {
    const calls = await room.callsOf(async () => {
      const { data } = await ask(create, { input });
      expect(data.createNote).toEqual({
        note: null,
        noteEdge: null,
        errors: expected.map(([code, ...path]) => ({ code, path })),
      });
    });
    expect(calls).toEqual([]);
  });

  test('counts content in code points', async () => {
    const { data } = await ask(create, { input: { title: 'T', content: '😀'.repeat(10_000) } });
    expect(data.createNote.errors).toEqual([]);
  });

  test('reports TOO_LONG if refused content is too long when counted in bytes', async () => {
    room.sandbox.faults.add({
      service: 'notes',
      method: 'POST',
      times: 1,
      act: { kind: 'answer', status: 400 },
    });
    const { data } = await ask(create, { input: { title: 'T', content: 'ü'.repeat(6_000) } });
    expect(data.createNote.errors).toEqual([{ code: 'TOO_LONG', path: ['content'] }]);
  });

  test.each([
    ['long in bytes', '漢'.repeat(3_400)],
    ['blank', ' '],
  ])('reports no fault in a text that is %s if the refusal is not of a body', async (_, content) => {
    const act = { kind: 'answer', status: 409 } as const;
    room.sandbox.faults.add({ service: 'notes', method: 'PATCH', times: 1, act });
    const [note] = addNotes(1);
    const { data } = await ask(update, { input: { id: noteId(note!.id), content } });
    expect(data.updateNote.errors).toEqual([{ code: 'INVALID', path: ['content'] }]);
  });

  test('reports TOO_MANY_PINNED though a text is blank, which the service may accept', async () => {
    for (let left = 50; left > 0; left -= 1) room.sandbox.notes.insert(email, { is_pinned: true });
    const { data } = await ask(create, { input: { title: 'T', content: ' ', isPinned: true } });
    expect(data.createNote.errors).toEqual([{ code: 'TOO_MANY_PINNED', path: ['isPinned'] }]);
  });

  test('sends empty texts on, and reports their refusal as REQUIRED', async () => {
    const calls = await room.callsOf(async () => {
      const { data } = await ask(create, { input: { title: '', content: '', isPinned: true } });
      expect(data.createNote.errors).toEqual([
        { code: 'REQUIRED', path: ['title'] },
        { code: 'REQUIRED', path: ['content'] },
      ]);
    });
    expect(calls).toEqual(['POST /notes']);
  });

  test('reports TOO_MANY_PINNED if 50 notes are pinned', async () => {
    for (let left = 50; left > 0; left -= 1) room.sandbox.notes.insert(email, { is_pinned: true });
    const [note] = addNotes(1);
    const { data: one } = await ask(create, { input: { title: 'T', content: 'C', isPinned: true } });
    const { data: two } = await ask(update, { input: { id: noteId(note!.id), isPinned: true } });
    const expected = [{ code: 'TOO_MANY_PINNED', path: ['isPinned'] }];
    expect([one.createNote.errors, two.updateNote.errors]).toEqual([expected, expected]);
  });

  test('reports TOO_MANY_PINNED also if the refusal looks like a rate limit that does not say how long', async () => {
    const input = { title: 'T', content: 'C', isPinned: true };
    const refuse = (method: string, headers = {}) =>
      room.sandbox.faults.add({
        service: 'notes',
        method,
        times: 1,
        act: { kind: 'answer', status: 429, headers },
      });
    const first = room.sandbox.notes.insert(email, { is_pinned: true });
    for (let left = 49; left > 0; left -= 1) room.sandbox.notes.insert(email, { is_pinned: true });
    const [note] = addNotes(1);
    refuse('POST');
    refuse('PATCH');
    const { data: one } = await ask(create, { input });
    const { data: two } = await ask(update, { input: { id: noteId(note!.id), isPinned: true } });
    const expected = [{ code: 'TOO_MANY_PINNED', path: ['isPinned'] }];
    expect([one.createNote.errors, two.updateNote.errors]).toEqual([expected, expected]);

    room.sandbox.notes.delete(email, first.id);
    refuse('POST');
    expect((await ask(create, { input })).errors).toEqual(['RATE_LIMITED']);
    refuse('POST', { 'retry-after': '5' });
    const calls = await room.callsOf(async () =>
      expect((await ask(create, { input })).errors).toEqual(['RATE_LIMITED']),
    );
    expect(calls).toEqual(['POST /notes']);
  });

  test('does not report TOO_MANY_PINNED for a note that is one of the 50', async () => {
    const pinned = Array.from({ length: 50 }, () => room.sandbox.notes.insert(email, { is_pinned: true }));
    const act = { kind: 'answer', status: 422 } as const;
    room.sandbox.faults.add({ service: 'notes', method: 'PATCH', times: 1, act });
    const { data } = await ask(update, { input: { id: noteId(pinned[0]!.id), isPinned: true } });
    expect(data.updateNote.errors).toEqual([{ code: 'INVALID', path: ['isPinned'] }]);
  });

  test('counts a pinned note once, though the pages overlap', async () => {
    const note = {
      title: 'T',
      content: 'C',
      created_at: '2026-01-01T00:00:00Z',
      updated_at: '2026-01-01T00:00:00Z',
    };
    const pages = [0, 20].map((from) =>
      Array.from({ length: 25 }, (_, at) => ({ ...note, id: String(from + at) })),
    );
    for (const [at, data] of pages.entries()) {
      const body = JSON.stringify({ data, next_cursor: at === 0 ? 'next' : null });
      const act = { kind: 'answer', status: 200, body } as const;
      room.sandbox.faults.add({ service: 'notes', method: 'GET', path: /pinned=true/, times: 1, act });
    }
    const act = { kind: 'answer', status: 422 } as const;
    room.sandbox.faults.add({ service: 'notes', method: 'POST', times: 1, act });
    const { data } = await ask(create, { input: { title: 'T', content: 'C', isPinned: true } });
    expect(data.createNote.errors).toEqual([{ code: 'INVALID', path: [] }]);
  });

  test('reports a refusal though the pinned notes cannot be counted, but not to an ended session', async () => {
    const answer = (method: string, status: number) =>
      room.sandbox.faults.add({ service: 'notes', method, act: { kind: 'answer', status } });
    const input = { title: 'T', content: 'C', isPinned: true };
    const failing = answer('GET', 503);
    const limiting = answer('POST', 429);
    expect((await ask(create, { input })).errors).toEqual(['RATE_LIMITED']);
    limiting();
    answer('POST', 400);
    const { data } = await ask(create, { input });
    expect(data.createNote.errors).toEqual([{ code: 'INVALID', path: [] }]);
    failing();
    answer('GET', 401);
    expect((await ask(create, { input })).errors).toEqual(['UNAUTHENTICATED']);
  });

  test('names the input at fault, as far as known, if a write is refused', async () => {
    const refuse = () =>
      room.sandbox.faults.add({
        service: 'notes',
        method: 'POST',
        times: 1,
        act: { kind: 'answer', status: 422 },
      });
    refuse();
    const { data: pinned } = await ask(create, { input: { title: 'T', content: 'C', isPinned: true } });
    expect(pinned.createNote.errors).toEqual([{ code: 'INVALID', path: [] }]);
    const { data: tagged } = await ask(create, { input: { title: 'T', content: 'C', tags: ['a', ''] } });
    expect(tagged.createNote.errors).toEqual([{ code: 'INVALID', path: ['tags', '1'] }]);
  });

  test('changes the members that are given and leaves the others', async () => {
    const note = room.sandbox.notes.insert(email, { title: 'old', content: 'kept', tags: ['a'] });
    const { data } = await ask(update, { input: { id: noteId(note.id), title: 'new', tags: [] } });
    expect(data.updateNote).toEqual({
      note: { title: 'new', content: 'kept', isPinned: false, tags: [] },
      errors: [],
    });
  });

  test('writes nothing if there is nothing to change', async () => {
    const note = room.sandbox.notes.insert(email, { title: 'old' });
    const calls = await room.callsOf(async () => {
      const { data } = await ask(update, { input: { id: noteId(note.id) } });
      expect(data.updateNote.note.title).toBe('old');
    });
    expect(calls.filter((call) => !call.startsWith('GET'))).toEqual([]);
  });

  test('shows in each mutation of an operation what those before it have changed', async () => {
    const note = room.sandbox.notes.insert(email, { title: 'old', tags: ['a'] });
    const id = noteId(note.id);
    const shown = '{ note { title tags { name count notes { nodes { title } } } } }';
    const { data, errors } = await ask(
      `mutation ($none: UpdateNoteInput!, $change: UpdateNoteInput!, $new: CreateNoteInput!) {
        one: updateNote(input: $none) ${shown}
        two: updateNote(input: $change) ${shown}
        three: createNote(input: $new) { errors { code } }
        four: updateNote(input: $none) ${shown} }`,
      { none: { id }, change: { id, title: 'new' }, new: { title: 'other', content: 'C', tags: ['a'] } },
    );
    const payloadOf = (title: string, ...titles: readonly string[]) => ({
      note: {
        title,
        tags: [
          { name: 'a', count: titles.length, notes: { nodes: titles.map((each) => ({ title: each })) } },
        ],
      },
    });
    expect(errors).toBeUndefined();
    expect(data).toEqual({
      one: payloadOf('old', 'old'),
      two: payloadOf('new', 'new'),
      three: { errors: [] },
      four: payloadOf('new', expect.any(String), expect.any(String)),
    });
    expect(new Set(data.four.note.tags[0].notes.nodes.map((each: { title: string }) => each.title))).toEqual(
      new Set(['new', 'other']),
    );
  });

  test('refuses null for every member of a change', async () => {
    const [note] = addNotes(1);
    const input = { id: noteId(note!.id), title: null, content: null, tags: null, isPinned: null };
    const { data } = await ask(update, { input });
    const faults = (data.updateNote.errors as { code: string; path: string[] }[]).map(
      ({ code, path }) => `${code} ${path.join('.')}`,
    );
    expect(faults.toSorted()).toEqual([
      'INVALID content',
      'INVALID isPinned',
      'INVALID tags',
      'INVALID title',
    ]);
  });

  test.each([noteId('note_none'), toGlobalId('Tag', 'work'), 'no id', noteId('../me'), noteId('')])(
    'reports NOT_FOUND for a write to the id %s',
    async (id) => {
      const { data: changed } = await ask(update, { input: { id, title: 'new' } });
      const { data: removed } = await ask(remove, { input: { id } });
      const { data: shared } = await ask(share, {
        input: { id, email: 'a@example.com', permission: 'READ' },
      });
      const expected = [{ code: 'NOT_FOUND', path: ['id'] }];
      expect([changed.updateNote, removed.deleteNote, shared.shareNote]).toEqual([
        { note: null, errors: expected },
        { deletedNoteId: null, errors: expected },
        { sharedNoteId: null, errors: expected },
      ]);
    },
  );

  test('deletes a note once', async () => {
    const [note] = addNotes(1);
    const input = { id: noteId(note!.id) };
    expect((await ask(remove, { input })).data.deleteNote).toEqual({ deletedNoteId: input.id, errors: [] });
    expect((await ask(remove, { input })).data.deleteNote.errors).toEqual([
      { code: 'NOT_FOUND', path: ['id'] },
    ]);
  });

  test('shares a note', async () => {
    const [note] = addNotes(1);
    const input = { id: noteId(note!.id), email: 'friend@example.com', permission: 'COMMENT' };
    expect((await ask(share, { input })).data.shareNote).toEqual({ sharedNoteId: input.id, errors: [] });
    const { noteId: id, email: to, permission } = room.sandbox.notes.shares.at(-1)!;
    expect([id, to, permission]).toEqual([note!.id, 'friend@example.com', 'comment']);
  });

  test.each([
    [{ email: '', permission: 'READ' }, [['REQUIRED', 'email']]],
    [{ email: 'nobody', permission: 'READ' }, [['INVALID', 'email']]],
  ])('checks a share before any call: case %#', async (given, expected) => {
    const [note] = addNotes(1);
    const calls = await room.callsOf(async () => {
      const { data } = await ask(share, { input: { id: noteId(note!.id), ...given } });
      expect(data.shareNote.errors).toEqual(expected.map(([code, ...path]) => ({ code, path })));
    });
    expect(calls).toEqual([]);
  });

  test('reports a share answered 404 at the e-mail address if the note is listed, else at its id', async () => {
    const [note] = addNotes(1);
    room.sandbox.faults.add({
      service: 'notes',
      path: /share/,
      times: 1,
      act: { kind: 'answer', status: 404 },
    });
    const faultsOf = async (id: string) => {
      const input = { id: noteId(id), email: 'friend@example.com', permission: 'EDIT' };
      return (await ask(share.replace('code path', 'code message path'), { input })).data.shareNote.errors;
    };
    const nobody = expect.stringMatching(/no user with this e-mail/);
    expect(await faultsOf(note!.id)).toEqual([{ code: 'NOT_FOUND', message: nobody, path: ['email'] }]);
    expect(await faultsOf('none')).toEqual([
      { code: 'NOT_FOUND', message: 'There is no such note.', path: ['id'] },
    ]);
  });

  test('reports a share answered 404 without saying whose fault it is if the notes cannot be read', async () => {
    room.sandbox.faults.add({ service: 'notes', method: 'GET', act: { kind: 'answer', status: 422 } });
    const input = { id: noteId('none'), email: 'friend@example.com', permission: 'EDIT' };
    const { data } = await ask(share.replace('code path', 'code message path'), { input });
    const message = expect.stringMatching(/no such note, or .* no user/);
    expect(data.shareNote.errors).toEqual([{ code: 'NOT_FOUND', message, path: [] }]);
  });

  test('reports a session that has ended, though a share was answered 404 before', async () => {
    const refuse = (method: string, status: number) =>
      room.sandbox.faults.add({ service: 'notes', method, act: { kind: 'answer', status } });
    refuse('POST', 404);
    refuse('GET', 401);
    const input = { id: noteId('none'), email: 'friend@example.com', permission: 'EDIT' };
    expect((await ask(share, { input })).errors).toEqual(['UNAUTHENTICATED']);
  });

  test.each([
    [409, 'CONFLICT'],
    [422, 'INVALID'],
  ])('reports a share answered %i as %s', async (status, code) => {
    const [note] = addNotes(1);
    room.sandbox.faults.add({ service: 'notes', path: /share/, times: 1, act: { kind: 'answer', status } });
    const input = { id: noteId(note!.id), email: 'friend@example.com', permission: 'EDIT' };
    expect((await ask(share, { input })).data.shareNote.errors).toEqual([{ code, path: ['email'] }]);
  });
});
