import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { GatewayError } from '../../../../src/graphql/errors.js';
import {
  createPager,
  type NoteFilter,
  type NoteList,
  type Page,
} from '../../../../src/domains/notes/paging/pager.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { UpstreamError } from '../../../../src/upstream/errors.js';
import { createService, noteOf, type Service, type ServiceOptions } from '../service.js';

let lines: string[];
const telemetry = createTelemetry('info', { write: (line) => void lines.push(line) });
/** The messages in the log. */
const logged = () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg);

beforeEach(() => {
  lines = [];
});

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof GatewayError ? error.code : 'other'),
  );

async function count(pages: AsyncIterable<unknown>): Promise<number> {
  let number = 0;
  for await (const _ of pages) number += 1;
  return number;
}

function refusing(status: number, filter: NoteFilter = {}): NoteList {
  return { filter, read: async () => ({ refused: status }) };
}

describe('the maximum limit', () => {
  test.each([
    [20, 20],
    [49, 20],
    [50, 50],
    [99, 50],
    [100, 100],
  ])(
    'of a service that accepts up to %i is found, as %i, and counts once the greater one was refused again',
    async (maxLimit, found) => {
      const keys = Array.from({ length: 120 }, (_, index) => index);
      const service = createService(keys, { cursors: 'key', maxLimit, aboveMax: 'reject', end: 'at once' });
      const pager = createPager(telemetry);
      for (const _ of ['refused', 'refused again'])
        expect((await pager.read(service, 100)).limit).toBe(found);
      const before = service.calls;
      expect((await pager.read(service, 100)).notes).toHaveLength(found);
      expect(service.calls - before).toBe(1);
    },
  );

  test('is not lowered by a refusal that passes, nor by two with a success in between', async () => {
    const keys = Array.from({ length: 120 }, (_, index) => index);
    const service = createService(keys, {
      cursors: 'key',
      maxLimit: 100,
      aboveMax: 'reject',
      end: 'at once',
    });
    const pager = createPager(telemetry);
    const refusingOnce = (): NoteList => {
      let isFirst = true;
      return {
        filter: {},
        async read(start) {
          const answer = isFirst ? { refused: 400 } : await service.read(start);
          isFirst = false;
          return answer;
        },
      };
    };
    for (const _ of ['one', 'two', 'three']) {
      expect((await pager.read(refusingOnce(), 100)).limit).toBe(50);
      expect((await pager.read(service, 100)).limit).toBe(100);
    }
  });

  test('is tried again after ten minutes, and one refusal then lowers it again', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const keys = Array.from({ length: 120 }, (_, index) => index);
    const options = { cursors: 'key', maxLimit: 50, aboveMax: 'reject', end: 'at once' } as const;
    const pager = createPager(telemetry);
    const callsFor = async (maxLimit: number) => {
      const service = createService(keys, { ...options, maxLimit });
      const { limit } = await pager.read(service, 100);
      return [limit, service.calls];
    };
    expect([await callsFor(50), await callsFor(50), await callsFor(100)]).toEqual([
      [50, 2],
      [50, 2],
      [50, 1],
    ]);
    vi.advanceTimersByTime(600_001);
    expect([await callsFor(50), await callsFor(100)]).toEqual([
      [50, 2],
      [50, 1],
    ]);
    vi.advanceTimersByTime(600_001);
    expect([await callsFor(100), await callsFor(50), await callsFor(100)]).toEqual([
      [100, 1],
      [50, 2],
      [100, 1],
    ]);
  });

  test('is not inferred from a refusal that has another reason', async () => {
    const pager = createPager(telemetry);
    expect(await codeOf(pager.read(refusing(400), 100, 'gone'))).toBe('CURSOR_EXPIRED');
    const keys = Array.from({ length: 120 }, (_, index) => index);
    const service = createService(keys, {
      cursors: 'key',
      maxLimit: 100,
      aboveMax: 'reject',
      end: 'at once',
    });
    expect((await pager.read(service, 100)).limit).toBe(100);
  });
});

describe('a page that is too large', () => {
  const keys = Array.from({ length: 250 }, (_, index) => index);
  const usual = { cursors: 'key', maxLimit: 100, aboveMax: 'reject', end: 'at once' } as const;

  /** A service whose page is too large if it has more than `most` of the notes from key `from` on. */
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
  ])('beyond %i notes is read with limit %i, in %i calls', async (most, limit, calls) => {
    const service = heavy(most);
    expect((await createPager(telemetry).read(service, 100)).limit).toBe(limit);
    expect(service.calls).toBe(calls);
  });

  test('is not requested twice with the same limit', async () => {
    const service = heavy(19);
    expect(await codeOf(createPager(telemetry).read(service, 50))).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(service.calls).toBe(2);
  });

  test('is an error if it is too large even with limit 20', async () => {
    const service = heavy(19);
    expect(await codeOf(createPager(telemetry).read(service, 100))).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(service.calls).toBe(3);
  });

  test('does not lower the limit of later reads, but a refused limit does', async () => {
    const pager = createPager(telemetry);
    expect((await pager.read(heavy(20), 100)).limit).toBe(20);
    expect((await pager.read(heavy(100), 100)).limit).toBe(100);
    for (const _ of ['refused', 'refused again'])
      expect((await pager.read(heavy(20, { maxLimit: 50 }), 100)).limit).toBe(20);
    expect((await pager.read(heavy(100), 100)).limit).toBe(50);
  });

  test.each(['key', 'offset', 'page'] as const)(
    'in the middle of a list hides no note, if cursors are of kind %s',
    async (cursors) => {
      const found = new Set<string>();
      for await (const { notes } of createPager(telemetry).walk(heavy(60, { cursors }, 120), 100))
        for (const { upstreamId } of notes) found.add(upstreamId);
      expect([...found].map(Number)).toEqual(keys);
    },
  );
});

test.each([
  [400, { tag: 'a' }, 'next', 'CURSOR_EXPIRED'],
  [400, { tag: 'a' }, undefined, 'BAD_USER_INPUT'],
  [414, { tag: 'a' }, undefined, 'BAD_USER_INPUT'],
  [431, { tag: 'a' }, 'next', 'BAD_USER_INPUT'],
  [431, {}, 'next', 'UPSTREAM_INVALID_RESPONSE'],
  [400, { pinned: true }, undefined, 'UPSTREAM_INVALID_RESPONSE'],
])('a refusal with %i, given filter %j and cursor %s, is %s', async (status, filter, cursor, code) => {
  expect(await codeOf(createPager(telemetry).read(refusing(status, filter), 20, cursor))).toBe(code);
  expect(logged()).toEqual(
    code === 'UPSTREAM_INVALID_RESPONSE' ? ['the notes service refused to list notes'] : [],
  );
});

test.each([{}, { tag: 'a' }, { pinned: true }])(
  'a refusal with 400 of a cursor that a walk was given on its way is no expired cursor, given filter %j',
  async (filter) => {
    const read: NoteList['read'] = async ({ cursor }) =>
      cursor === 'next' ? { refused: 400 } : { notes: [noteOf(1)], nextCursor: 'next' };
    for (const start of [undefined, 'start'])
      expect(await codeOf(count(createPager(telemetry).walk({ filter, read }, 20, start)))).toBe(
        'UPSTREAM_INVALID_RESPONSE',
      );
    expect(await codeOf(count(createPager(telemetry).walk({ filter, read }, 20, 'next')))).toBe(
      'CURSOR_EXPIRED',
    );
    const line = 'the notes service refused a cursor that it had just given';
    expect(logged()).toEqual([line, line]);
  },
);

describe('an endless series of pages', () => {
  const walk = (nextCursor: (call: number) => string, rows: (call: number) => number[]) => {
    let calls = 0;
    const list: NoteList = {
      filter: {},
      read: async () => ({ notes: rows((calls += 1)).map(noteOf), nextCursor: nextCursor(calls) }),
    };
    return codeOf(count(createPager(telemetry).walk(list, 20)));
  };

  test.each([
    ['each page gives the cursor that was sent', () => 'same', (call: number) => [call]],
    ['cursors form a cycle', (call: number) => String(call % 3), (call: number) => [call]],
    [
      'empty pages lead back',
      (call: number) => (call % 2 ? 'a' : 'b'),
      (call: number) => (call % 3 ? [call] : []),
    ],
    ['each page has the same rows', String, () => [1, 2, 3]],
  ])('is an error: %s', async (_, nextCursor, rows) => {
    expect(await walk(nextCursor, rows)).toBe('UPSTREAM_INVALID_RESPONSE');
    expect(logged()).toEqual(['the notes service returned an endless series of pages']);
  });

  test('is not assumed if the last page leads to itself', async () => {
    const next = (call: number) => String(Math.min(call, 2));
    expect(await walk(next, (call) => [Math.min(call, 3)])).toBe('none');
  });

  test.each([
    ['has other notes', (page: number) => [page]],
    ['starts with the last note of the page before', (page: number) => [page, page + 1]],
  ])('is not assumed of 401 pages if each %s', async (_, rows) => {
    const list: NoteList = {
      filter: {},
      read: async ({ cursor = '0' }) => ({
        notes: rows(Number(cursor)).map(noteOf),
        nextCursor: cursor === '400' ? undefined : String(Number(cursor) + 1),
      }),
    };
    expect(await count(createPager(telemetry).walk(list, 20))).toBe(401);
  });
});

describe('empty pages', () => {
  const byTag = { tag: 'a' };

  /** Three notes, each after `gap` empty pages; then either the end is marked, or empty pages follow for ever. */
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

  async function walk(list: NoteList, pager = createPager(telemetry)) {
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
    ['the first page', 'repeated', 0, 1],
    ['after a page that is not full', 'repeated', 45, 4],
    ['after a full page', 'repeated', 40, 3],
    ['the first thirty pages', 'counting', 0, 30],
    ['thirty after other pages', 'counting', 45, 33],
  ] as const)('end a list: %s, if cursors at the end are %s', async (_, end, length, pages) => {
    const keys = Array.from({ length }, (__, index) => index);
    for (const cursors of ['key', 'offset', 'page'] as const) {
      const service = createService(keys, { cursors, maxLimit: 100, aboveMax: 'reject', end });
      expect(await walk(service)).toEqual({ notes: length, pages, nextCursor: undefined });
    }
  });

  test('end a list if their cursors form a cycle', async () => {
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
    ['a list of all notes', {}, 30],
    ['a list by tag', byTag, 100],
    ['a list by pin', { pinned: false }, 100],
  ])('end %s only after many in a row', async (_, filter, most) => {
    const fewer = sparse(most - 1, 'unmarked', filter);
    expect(await walk(fewer)).toMatchObject({ notes: 3, pages: 4 * most });
    expect(await walk(sparse(most, 'unmarked', filter))).toMatchObject({ notes: 0, pages: most });
  });
});
