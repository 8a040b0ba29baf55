import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { toGlobalId } from '../../src/graphql/global-id.js';
import { only, type Person, type Harness, startHarness } from '../errors/harness.js';
import { codesOf } from '../support/testbed.js';
import { answer, unhandled } from './acts.js';

const list = `query ($first: Int, $after: String, $filter: NoteFilter) { notes(first: $first, after: $after, filter: $filter) {
  nodes { title } pageInfo { hasNextPage endCursor } } }`;

const rejections = unhandled();
let harness: Harness;
let person: Person;

beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(async () => {
  harness.sandbox.faults.clear();
  Object.assign(harness.sandbox.notes.pageLimit, { max: 100, mode: 'reject' });
  harness.sandbox.notes.nextCursorAtEnd = 'null';
  person = await harness.join();
});
afterAll(() => harness.stop());

/** Adds `count` notes titled 1, 2, …, newest first; returns the titles. */
function insert(count: number, more: object = {}): readonly string[] {
  const now = harness.sandbox.clock.now();
  return Array.from({ length: count }, (_, index) => {
    const title = String(index + 1);
    harness.sandbox.notes.insert(person.email, { ...more, title }, now - index * 1000);
    return title;
  });
}

/** Reads all pages of `first` notes; returns the titles. */
async function walk(first: number): Promise<readonly string[]> {
  const titles: string[] = [];
  for (let after: string | null = null, pages = 0; pages < 500; pages += 1) {
    const { nodes, pageInfo } = only(await person.ask(list, { first, after }));
    expect(nodes.length).toBeLessThanOrEqual(first);
    titles.push(...nodes.map(({ title }: { title: string }) => title));
    if (!pageInfo.hasNextPage) return titles;
    after = pageInfo.endCursor;
  }
  throw new Error('There is no end of pages.');
}

/** Makes the service list this page next, `times` times; a next cursor that is undefined is left out. */
function listOnce(titles: readonly string[], next: unknown, times = 1): void {
  const at = '2026-01-01T00:00:00Z';
  const data = titles.map((title) => ({ id: title, title, content: 'C', created_at: at, updated_at: at }));
  const act = answer(200, JSON.stringify({ data, next_cursor: next }));
  harness.sandbox.faults.add({ service: 'notes', method: 'GET', path: /^\/notes/, times, act });
}

describe('a maximum `limit`', () => {
  let shared: Harness;

  // A gateway keeps what it learns of the service's maximum `limit`, so each test has one of its own.
  beforeEach(async () => {
    shared = harness;
    harness = await startHarness({ sandbox: shared.sandbox });
    person = await harness.join();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await harness.stop();
    harness = shared;
  });

  const services = ([20, 50, 100] as const).flatMap((max) =>
    (['reject', 'clamp'] as const).map((mode) => [max, mode] as const),
  );
  test.each(services)('of %i does not affect the pages (a greater limit: %s)', async (max, mode) => {
    Object.assign(harness.sandbox.notes.pageLimit, { max, mode });
    const titles = insert(121);
    for (const size of [7, 20, 33, 100]) expect([size, await walk(size)]).toEqual([size, titles]);
  });

  test('costs few calls for a page of 100 after a page of one', async () => {
    const titles = insert(121);
    const { nodes, pageInfo } = only(await person.ask(list, { first: 1 }));
    const calls = await harness.callsOf(async () => {
      nodes.push(...only(await person.ask(list, { first: 100, after: pageInfo.endCursor })).nodes);
    });
    expect(nodes.map(({ title }: { title: string }) => title)).toEqual(titles.slice(0, 101));
    expect(calls).toHaveLength(6);
  });

  test('is learnt once it was met again, for ten minutes', async () => {
    Object.assign(harness.sandbox.notes.pageLimit, { max: 50, mode: 'reject' });
    insert(60);
    const limits = async () =>
      (await harness.callsOf(() => person.ask(list, { first: 60 }))).map(
        (call) => /limit=(\d+)/.exec(call)?.[1],
      );
    for (let time = 1; time <= 2; time += 1) expect(await limits()).toEqual(['60', '50', '50']);
    expect(await limits()).toEqual(['50', '50']);
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 10 * 60_000);
    expect(await limits()).toEqual(['60', '50', '50']);
  });

  test('that passes is not learnt', async () => {
    insert(60);
    Object.assign(harness.sandbox.notes.pageLimit, { max: 50, mode: 'reject' });
    await person.ask(list, { first: 60 });
    harness.sandbox.notes.pageLimit.max = 100;
    const calls = await harness.callsOf(() => person.ask(list, { first: 60 }));
    expect(calls).toEqual(['GET /notes?limit=60']);
  });

  test('below 20 is UPSTREAM_INVALID_RESPONSE', async () => {
    Object.assign(harness.sandbox.notes.pageLimit, { max: 10, mode: 'reject' });
    insert(12);
    for (const size of [10, 100])
      expect(codesOf(await person.ask(list, { first: size }))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
  });
});

describe('notes too large for one answer', () => {
  /** Escaped, each character takes six bytes, the most that a UTF-16 unit can. */
  const content = (characters: number) => '\u0001'.repeat(characters);
  const limitsOf = (calls: readonly string[]) => calls.map((call) => /limit=(\d+)/.exec(call)?.[1]);
  const node = 'query ($id: ID!) { node(id: $id) { ... on Note { title } } }';

  test('are listed and scanned in smaller pages', async () => {
    const titles = insert(130, { content: content(20_000) });
    const calls = await harness.callsOf(async () => expect(await walk(100)).toEqual(titles));
    expect(limitsOf(calls)).toEqual(['100', '50', '50', '50']);
    expect(only(await person.ask(node, { id: toGlobalId('Note', 'nothing') }))).toBeNull();
  });

  test('are an error if twenty are still too large, without affecting other users', async () => {
    insert(100, { content: content(100_000) });
    const calls = await harness.callsOf(async () => {
      expect(codesOf(await person.ask(list, { first: 100 }))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    });
    expect(limitsOf(calls)).toEqual(['100', '50', '20']);
    person = await harness.join();
    const titles = insert(100);
    const others = await harness.callsOf(async () => expect(await walk(100)).toEqual(titles));
    expect(limitsOf(others)).toEqual(['100']);
  });

  test('are found even if the page on which they were last seen has grown too large', async () => {
    const { id } = harness.sandbox.notes.insert(person.email, { title: 'Seen' });
    await walk(20);
    harness.sandbox.faults.add({
      service: 'notes',
      times: 1,
      act: answer(200, JSON.stringify({ data: content(2_000_000) })),
    });
    expect(only(await person.ask(node, { id: toGlobalId('Note', id) }))).toEqual({ title: 'Seen' });
  });
});

describe('the last page', () => {
  test.each(['null', 'empty', 'absent', 'repeated'] as const)(
    'may have a next cursor that is %s',
    async (end) => {
      harness.sandbox.notes.nextCursorAtEnd = end;
      const titles = insert(45);
      expect(await walk(20)).toEqual(titles);
      expect(await walk(45)).toEqual(titles);
      const node = 'query ($id: ID!) { node(id: $id) { id } }';
      expect(only(await person.ask(node, { id: toGlobalId('Note', 'nothing') }))).toBeNull();
    },
  );

  test('may be empty', async () => {
    listOnce(['1', '2'], 'more');
    listOnce([], null);
    expect(await walk(2)).toEqual(['1', '2']);
  });

  test('may follow empty pages', async () => {
    listOnce([], 'a');
    listOnce([], 'b');
    listOnce(['1'], null);
    expect(await walk(5)).toEqual(['1']);
  });
});

describe('an endless series of pages', () => {
  const cycles: readonly (readonly [string, () => void])[] = [
    ['the same cursor again and again', () => listOnce(['1'], 'again', Infinity)],
    [
      'a cycle of cursors',
      () => {
        for (let round = 0; round < 40; round += 1)
          for (const cursor of ['a', 'b', 'c']) listOnce(['1'], cursor);
      },
    ],
  ];
  const listMany = (notes: readonly string[]) => {
    for (let page = 0; page < 300; page += 1) listOnce(notes, `cursor${page}`);
  };
  const repeat = () => listMany(['1', '2']);
  const bounded = [
    ...cycles.map((way) => [...way, 30] as const),
    ['new cursors to the same notes', repeat, 202] as const,
  ];

  test.each(bounded)('is an error: %s', async (_, begin, callsAtMost) => {
    begin();
    const calls = await harness.callsOf(async () => {
      expect(codesOf(await person.ask(list, { first: 20 }))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    });
    expect(calls.length).toBeLessThanOrEqual(callsAtMost);
    harness.sandbox.faults.clear();
    insert(3);
    expect(await walk(2)).toEqual(['1', '2', '3']);
  });

  test.each(bounded)('is an error for `node` too: %s', async (_, begin) => {
    begin();
    const query = 'query ($id: ID!) { node(id: $id) { id } }';
    const { data, errors } = await person.ask(query, { id: toGlobalId('Note', 'nothing') });
    expect([data, codesOf({ errors })]).toEqual([{ node: null }, ['UPSTREAM_INVALID_RESPONSE']]);
  });

  test.each([
    ['the same cursor', () => listOnce([], 'again', Infinity), 2],
    // Even though this service has marked the end of a list before.
    ['new cursors', () => listMany([]), 30],
  ])('ends the list if the pages are empty: %s', async (_, begin, callsAtMost) => {
    insert(2);
    await walk(20);
    begin();
    const query = `query ($id: ID!) { node(id: $id) { id } notes { nodes { id } pageInfo { hasNextPage } } }`;
    const calls = await harness.callsOf(async () => {
      const { data, errors } = await person.ask(query, { id: toGlobalId('Note', 'nothing') });
      const notes = { nodes: [], pageInfo: { hasNextPage: false } };
      expect([data, errors]).toEqual([{ node: null, notes }, undefined]);
    });
    expect(calls.length).toBeLessThanOrEqual(2 * callsAtMost);
  });

  test('is QUERY_TOO_COMPLEX after 5,000 notes if each page has new ones', async () => {
    const idsOf = (page: number) => Array.from({ length: 50 }, (_, at) => `${page} ${at}`);
    for (let page = 0; page < 120; page += 1) listOnce(idsOf(page), `cursor${page}`);
    const query = 'query ($id: ID!) { node(id: $id) { id } }';
    const calls = await harness.callsOf(async () => {
      const given = await person.ask(query, { id: toGlobalId('Note', 'nothing') });
      expect(codesOf(given)).toEqual(['QUERY_TOO_COMPLEX']);
    });
    expect(calls).toHaveLength(100);
  });
});

describe('a failure in the middle of a list', () => {
  let titles: readonly string[];
  beforeEach(() => {
    titles = insert(60);
    Object.assign(harness.sandbox.notes.pageLimit, { max: 20, mode: 'clamp' });
  });

  test.each([
    ['a failing page', answer(500), 'UPSTREAM_UNAVAILABLE'],
    ['a page of the wrong shape', answer(200, '{}'), 'UPSTREAM_INVALID_RESPONSE'],
    ['a cursor that is refused', answer(400), 'UPSTREAM_INVALID_RESPONSE'],
    ['429', answer(429), 'RATE_LIMITED'],
  ] as const)('is an error, without the notes before it: %s', async (_, act, code) => {
    harness.sandbox.faults.add({ service: 'notes', path: /cursor=/, act });
    const { data, errors } = await person.ask(list, { first: 60 });
    expect([data, codesOf({ errors })]).toEqual([null, [code]]);
    harness.sandbox.faults.clear();
    await harness.sandbox.clock.advance(60_000);
    expect(await walk(60)).toEqual(titles);
  });

  test('does not make a note seem deleted', async () => {
    harness.sandbox.faults.add({ service: 'notes', path: /cursor=/, act: answer(500) });
    const query = 'query ($id: ID!) { node(id: $id) { id } }';
    const { data, errors } = await person.ask(query, { id: toGlobalId('Note', 'nothing') });
    expect([data, codesOf({ errors })]).toEqual([{ node: null }, ['UPSTREAM_UNAVAILABLE']]);
  });

  test('does not hide that a pin was refused, though it hides why', async () => {
    harness.sandbox.faults.add({ service: 'notes', method: 'POST', times: 1, act: answer(422) });
    harness.sandbox.faults.add({ service: 'notes', path: /pinned=true/, act: answer(500) });
    const create =
      'mutation { createNote(input: { title: "T", content: "C", isPinned: true }) { note { id } errors { code } } }';
    const { data, errors } = await person.ask(create);
    expect([data, errors]).toEqual([
      { createNote: { note: null, errors: [{ code: 'INVALID' }] } },
      undefined,
    ]);
  });
});

test('no promise rejection was left unhandled', () => {
  expect(rejections).toEqual([]);
});
