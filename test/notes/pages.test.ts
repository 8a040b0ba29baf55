import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { createPager, type NoteFilter, type NoteList, type Page } from '../../src/notes/pages.js';
import { UpstreamError } from '../../src/upstream/failure.js';
import { createService, noteOf, type Service, type ServiceOptions } from './service.js';

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof GatewayError ? error.code : 'other'),
  );

async function count(pages: AsyncIterable<unknown>): Promise<number> {
  let pagesSeen = 0;
  for await (const _ of pages) pagesSeen += 1;
  return pagesSeen;
}

function refusing(status: number, filter: NoteFilter = {}): NoteList {
  return { filter, read: async () => ({ refused: status }) };
}

describe('the greatest limit', () => {
  test.each([
    [20, 20],
    [49, 20],
    [50, 50],
    [99, 50],
    [100, 100],
  ])('of a service that takes %i is found once', async (greatest, found) => {
    const keys = Array.from({ length: 120 }, (_, index) => index);
    const service = createService(keys, { cursors: 'key', greatest, above: 'reject', end: 'at once' });
    const pager = createPager();
    expect((await pager.read(service, 100)).limit).toBe(found);
    const before = service.calls;
    expect((await pager.read(service, 100)).notes).toHaveLength(found);
    expect(service.calls - before).toBe(1);
  });

  test('is not learned from a refusal of something else', async () => {
    const pager = createPager();
    expect(await codeOf(pager.read(refusing(400), 100, 'gone'))).toBe('CURSOR_EXPIRED');
    const keys = Array.from({ length: 120 }, (_, index) => index);
    const service = createService(keys, { cursors: 'key', greatest: 100, above: 'reject', end: 'at once' });
    expect((await pager.read(service, 100)).limit).toBe(100);
  });
});

describe('a page too large', () => {
  const keys = Array.from({ length: 250 }, (_, index) => index);
  const usual = { cursors: 'key', greatest: 100, above: 'reject', end: 'at once' } as const;

  /** Gives no page of more than `most` of the notes from `from` on. */
  function heavy(most: number, options: Partial<ServiceOptions> = {}, from = 0): Service {
    const service = createService(keys, { ...usual, ...options });
    const { read } = service;
    service.read = async (start) => {
      const answer = await read(start);
      const weight = 'notes' in answer && answer.notes.filter(({ upstreamId }) => Number(upstreamId) >= from);
      return weight && weight.length > most ? { tooLarge: new UpstreamError('notes', 'oversized') } : answer;
    };
    return service;
  }

  test.each([
    [100, 100, 1],
    [99, 50, 2],
    [20, 20, 3],
  ])('of more than %i is asked for by %i', async (most, limit, calls) => {
    const service = heavy(most);
    expect((await createPager().read(service, 100)).limit).toBe(limit);
    expect(service.calls).toBe(calls);
  });

  test('is not asked for twice by the same limit', async () => {
    const service = heavy(19);
    expect(await codeOf(createPager().read(service, 50))).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(service.calls).toBe(2);
  });

  test('even by 20 is given up', async () => {
    const service = heavy(19);
    expect(await codeOf(createPager().read(service, 100))).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(service.calls).toBe(3);
  });

  test('is not remembered, but a refused limit is', async () => {
    const pager = createPager();
    expect((await pager.read(heavy(20), 100)).limit).toBe(20);
    expect((await pager.read(heavy(100), 100)).limit).toBe(100);
    expect((await pager.read(heavy(20, { greatest: 50 }), 100)).limit).toBe(20);
    expect((await pager.read(heavy(100), 100)).limit).toBe(50);
  });

  test.each(['key', 'offset', 'page'] as const)(
    'in the middle hides no note, where cursors are a %s',
    async (cursors) => {
      const found = new Set<string>();
      for await (const { notes } of createPager().walk(heavy(60, { cursors }, 120), 100))
        for (const { upstreamId } of notes) found.add(upstreamId);
      expect([...found].map(Number)).toEqual(keys);
    },
  );
});

test.each([
  [400, { tag: 'a' }, 'next', 'CURSOR_EXPIRED'],
  [400, { tag: 'a' }, undefined, 'BAD_USER_INPUT'],
  [400, { pinned: true }, undefined, 'UPSTREAM_INVALID_RESPONSE'],
  [403, {}, 'next', 'UPSTREAM_INVALID_RESPONSE'],
])('a refusal with %i of the filter %j at cursor %s is %s', async (status, filter, cursor, code) => {
  expect(await codeOf(createPager().read(refusing(status, filter), 20, cursor))).toBe(code);
});

describe('pages without an end', () => {
  const walk = (nextCursor: (call: number) => string, rows: (call: number) => number[]) => {
    let calls = 0;
    const list: NoteList = {
      filter: {},
      read: async () => ({ notes: rows((calls += 1)).map(noteOf), nextCursor: nextCursor(calls) }),
    };
    return codeOf(count(createPager().walk(list, 20)));
  };

  test.each([
    ['the cursor that was sent', () => 'same', (call: number) => [call]],
    ['cursors in a cycle', (call: number) => String(call % 3), (call: number) => [call]],
    [
      'an empty page that leads back',
      (call: number) => (call % 2 ? 'a' : 'b'),
      (call: number) => (call % 3 ? [call] : []),
    ],
    ['the same rows for ever', String, () => [1, 2, 3]],
  ])('are not read for ever: %s', async (_, nextCursor, rows) => {
    expect(await walk(nextCursor, rows)).toBe('UPSTREAM_INVALID_RESPONSE');
  });

  test('are not taken for it: a last page that leads to itself', async () => {
    const next = (call: number) => String(Math.min(call, 2));
    expect(await walk(next, (call) => [Math.min(call, 3)])).toBe('none');
  });

  test.each([
    ['of other notes', (page: number) => [page]],
    ['that begin with the last note of the one before', (page: number) => [page, page + 1]],
  ])('are not taken for it: pages %s, however many', async (_, rows) => {
    const list: NoteList = {
      filter: {},
      read: async ({ cursor = '0' }) => ({
        notes: rows(Number(cursor)).map(noteOf),
        nextCursor: cursor === '400' ? undefined : String(Number(cursor) + 1),
      }),
    };
    expect(await count(createPager().walk(list, 20))).toBe(401);
  });
});

describe('empty pages', () => {
  const byTag = { tag: 'a' };

  /** Three notes, each behind so many empty pages; then the end is marked, or cursors count on for ever. */
  function sparse(gap: number, end: 'marked' | 'unmarked', filter: NoteFilter = {}): NoteList {
    return {
      filter,
      async read({ cursor = '0' }) {
        const page = Number(cursor) + 1;
        const isLast = page === 3 * (gap + 1);
        const hasNote = page % (gap + 1) === 0 && page <= 3 * (gap + 1);
        const nextCursor = isLast && end === 'marked' ? undefined : String(page);
        return { notes: hasNote ? [noteOf(page)] : [], nextCursor };
      },
    };
  }

  async function walk(list: NoteList, pager = createPager()) {
    let notes = 0;
    let pages = 0;
    let last: Page | undefined;
    for await (last of pager.walk(list, 20)) {
      notes += last.notes.length;
      pages += 1;
    }
    return { notes, pages, nextCursor: last?.nextCursor };
  }

  test.each([
    ['the first', 'repeated', 0, 1],
    ['after a page that is not full', 'repeated', 45, 4],
    ['after a full page', 'repeated', 40, 3],
    ['the first thirty', 'counting', 0, 30],
    ['thirty after others', 'counting', 45, 33],
  ] as const)('are the end: %s, cursors being %s', async (_, end, length, pages) => {
    const keys = Array.from({ length }, (__, index) => index);
    for (const cursors of ['key', 'offset', 'page'] as const) {
      const service = createService(keys, { cursors, greatest: 100, above: 'reject', end });
      expect(await walk(service)).toEqual({ notes: length, pages, nextCursor: undefined });
    }
  });

  test('are the end where they lead to one another', async () => {
    const nextOf: Record<string, string> = { a: 'b', b: 'c', c: 'b' };
    const list: NoteList = {
      filter: byTag,
      read: async ({ cursor }) =>
        cursor === undefined
          ? { notes: [noteOf(1)], nextCursor: 'a' }
          : { notes: [], nextCursor: nextOf[cursor] },
    };
    expect(await walk(list)).toEqual({ notes: 1, pages: 4, nextCursor: undefined });
  });

  test.each([
    ['a list of all', {}, 30],
    ['a list by tag', byTag, 100],
    ['a list by pin', { pinned: false }, 100],
  ])('are not the end of %s until there are many in a row', async (_, filter, most) => {
    const fewer = sparse(most - 1, 'unmarked', filter);
    expect(await walk(fewer)).toMatchObject({ notes: 3, pages: 4 * most });
    expect(await walk(sparse(most, 'unmarked', filter))).toMatchObject({ notes: 0, pages: most });
  });
});
