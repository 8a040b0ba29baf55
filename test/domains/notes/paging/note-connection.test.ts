import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newEdge, noteConnection } from '../../../../src/domains/notes/paging/note-connection.js';
import { toNote } from '../../../../src/domains/notes/note.js';
import { createPager, type NoteList } from '../../../../src/domains/notes/paging/pager.js';
import { createCursors } from '../../../../src/graphql/cursors.js';
import { createSealer } from '../../../../src/lib/sealer.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { createService, type End, noteOf, type Service, type ServiceOptions } from '../service.js';

const cursors = createCursors(createSealer([randomBytes(32)]));
const telemetry = createTelemetry('silent');
const place = { connection: 'notes', userId: 'me' };
const usual: ServiceOptions = { cursors: 'key', maxLimit: 100, aboveMax: 'reject', end: 'at once' };

/** Reads pages of a list with a pager of its own, which has not yet learnt the service's maximum limit. */
function reader(list: NoteList) {
  const pager = createPager(telemetry);
  return async (first: number, after?: string) => {
    const page = await noteConnection({ cursors, place, pager, list }, { first, after: after ?? null });
    const { edges, pageInfo } = page;
    return { edges, pageInfo, keys: page.nodes.map(({ upstreamId }) => Number(upstreamId)) };
  };
}

const rangeOf = (count: number) => Array.from({ length: count }, (_, index) => (index + 1) * 100);

/** Reads to the end, `first` at a time; calls `between` after each page. */
async function readAll(
  service: Service,
  first: number,
  { after: start, between = () => {} }: { after?: string; between?: () => void } = {},
): Promise<readonly number[]> {
  const page = reader(service);
  const keys: number[] = [];
  for (let after = start; ;) {
    const { keys: found, pageInfo } = await page(first, after);
    keys.push(...found);
    if (!pageInfo.hasNextPage || pageInfo.endCursor === null) return keys;
    after = pageInfo.endCursor;
    between();
  }
}

const options = fc.record({
  cursors: fc.constantFrom('key' as const, 'offset' as const, 'page' as const),
  maxLimit: fc.constantFrom(20, 30, 50, 100),
  aboveMax: fc.constantFrom('reject' as const, 'clamp' as const),
  end: fc.constantFrom<End>('at once', 'after a full page', 'returning', 'repeated', 'counting'),
});

describe('a list that does not change', () => {
  test('is read completely and in order, however the service handles cursors and limits', async () => {
    const sizes = fc.tuple(fc.integer({ min: 0, max: 130 }), fc.integer({ min: 1, max: 100 }));
    await fc.assert(
      fc.asyncProperty(options, sizes, async (service, [count, first]) => {
        expect(await readAll(createService(rangeOf(count), service), first)).toEqual(rangeOf(count));
      }),
    );
  });

  test('continues after any edge, with any page size', async () => {
    const sizes = fc.tuple(
      fc.integer({ min: 1, max: 90 }),
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 100 }),
    );
    await fc.assert(
      fc.asyncProperty(
        options,
        sizes,
        fc.nat(),
        fc.boolean(),
        async (service, [count, first, next], at, isLast) => {
          const all = rangeOf(count);
          const page = reader(createService(all, service));
          const { edges } = await page(first);
          const index = isLast ? edges.length - 1 : at % edges.length;
          const { keys, pageInfo } = await page(next, edges[index]!.cursor);
          expect(keys).toEqual(all.slice(index + 1, index + 1 + next));
          expect(pageInfo.hasPreviousPage).toBe(true);
        },
      ),
    );
  });

  test('costs one call per page', async () => {
    const service = createService(rangeOf(60), usual);
    expect(await readAll(service, 20)).toHaveLength(60);
    expect(service.calls).toBe(3);
  });

  test('costs one call per page, however small the pages', async () => {
    const service = createService(rangeOf(60), usual);
    const page = reader(service);
    for (let after: string | undefined, read = 0; read < 60; read += 5) {
      const before = service.calls;
      const { keys, pageInfo } = await page(5, after);
      expect([keys, service.calls - before]).toEqual([rangeOf(60).slice(read, read + 5), 1]);
      after = pageInfo.endCursor!;
    }
  });

  test('costs six calls for a page of 100 after a page of one', async () => {
    const service = createService(rangeOf(150), usual);
    const page = reader(service);
    const { pageInfo } = await page(1);
    expect((await page(100, pageInfo.endCursor!)).keys).toEqual(rangeOf(101).slice(1));
    expect(service.calls).toBe(1 + 6);
  });

  test.each([
    ['repeated', 45, [20, 20, 5]],
    ['counting', 45, [20, 20, 5]],
    ['repeated', 40, [20, 20, 0]],
    ['counting', 40, [20, 20, 0]],
    ['returning', 45, [20, 20, 5]],
    ['returning', 40, [20, 20, 0]],
    ['returning', 20, [20]],
    ['repeated', 0, [0]],
    ['counting', 0, [0]],
  ] as const)('ends if the cursors at the end are %s: %i notes', async (end, count, lengths) => {
    const page = reader(createService(rangeOf(count), { ...usual, end }));
    let after: string | undefined;
    for (const [at, length] of lengths.entries()) {
      const { keys, pageInfo } = await page(20, after);
      expect(keys).toEqual(rangeOf(count).slice(at * 20, at * 20 + length));
      expect(pageInfo.hasNextPage).toBe(at < lengths.length - 1);
      expect(pageInfo.endCursor === null).toBe(length === 0);
      after = pageInfo.endCursor ?? undefined;
    }
  });

  test('has the same cursor for the same place each time', async () => {
    const page = reader(createService(rangeOf(5), usual));
    const [one, two] = [await page(3), await page(3)];
    expect(one.edges.map(({ cursor }) => cursor)).toEqual(two.edges.map(({ cursor }) => cursor));
  });

  test('keeps the content of its cursors, as clients hold those of earlier versions', async () => {
    const { edges } = await reader(createService(rangeOf(25), usual))(20);
    const sealed = [edges[0]!, edges[19]!].map(({ cursor }) => cursors.open(place, cursor));
    const seen = (count: number) => expect.stringMatching(new RegExp(`^[\\w-]{${6 * count}}$`)) as string;
    expect(sealed).toEqual([
      [null, 20, seen(1), 1],
      ['2000', 20, seen(20), 0],
    ]);
  });

  test('is not read for a page of 0 notes, which may have a next page', async () => {
    const service = createService(rangeOf(5), usual);
    const { edges, pageInfo } = await reader(service)(0);
    expect([edges, pageInfo.hasNextPage, pageInfo.endCursor, service.calls]).toEqual([[], true, null, 0]);
  });
});

describe('a list that changes between two pages', () => {
  test('neither skips nor repeats notes that stay, if the service’s cursors are keys', async () => {
    const changes = fc.array(fc.record({ insert: fc.boolean(), at: fc.integer({ min: 0, max: 6_000 }) }), {
      maxLength: 12,
    });
    const run = fc.record({
      first: fc.integer({ min: 1, max: 40 }),
      changes: fc.array(changes, { maxLength: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(options, run, async (other, { first, changes: rounds }) => {
        const initial = rangeOf(60);
        const service = createService(initial, { ...other, cursors: 'key' });
        const deleted = new Set<number>();
        const waiting = [...rounds];
        const between = () => {
          for (const { insert, at } of waiting.shift() ?? []) {
            if (insert) service.insert(at);
            else {
              const key = service.keys[at % service.keys.length];
              if (key === undefined) continue;
              deleted.add(key);
              service.delete(key);
            }
          }
        };
        const keys = await readAll(service, first, { between });
        expect(new Set(keys).size).toBe(keys.length);
        const old = keys.filter((key) => initial.includes(key));
        expect(old).toEqual(old.toSorted((a, b) => a - b));
        expect(initial.filter((key) => !deleted.has(key) && !keys.includes(key))).toEqual([]);
      }),
    );
  });

  test.each(['offset', 'page'] as const)(
    'repeats nothing after fewer insertions than a page holds, if cursors are of kind %s',
    async (kind) => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 2, max: 20 }), fc.nat(), async (first, seed) => {
          const service = createService(rangeOf(60), { ...usual, cursors: kind });
          let key = 99;
          const between = () => {
            for (let left = seed % first; left > 0; left -= 1) service.insert((key -= 0.001));
          };
          const keys = await readAll(service, first, { between });
          expect(keys.filter((found) => found >= 100)).toEqual(rangeOf(60));
        }),
      );
    },
  );

  test.each(['offset', 'page'] as const)(
    'repeats rows only after more insertions than a page holds, if cursors are of kind %s',
    async (kind) => {
      for (const [inserted, repeated] of [
        [20, []],
        [25, rangeOf(20).slice(15)],
      ] as const) {
        const service = createService(rangeOf(60), { ...usual, cursors: kind });
        const page = reader(service);
        const one = await page(20);
        const two = await page(20, one.pageInfo.endCursor!);
        for (let key = 1; key <= inserted; key += 1) service.insert(key);
        const three = await page(20, two.pageInfo.endCursor!);
        const before = [...one.keys, ...two.keys];
        expect(three.keys.filter((key) => before.includes(key))).toEqual(repeated);
      }
    },
  );

  test('continues within a page after the last row read that is left', async () => {
    const service = createService(rangeOf(20), usual);
    const page = reader(service);
    const { edges } = await page(10);
    for (const key of [300, 400, 500]) service.delete(key);
    for (const key of [1, 2, 250]) service.insert(key);
    expect((await page(3, edges[4]!.cursor)).keys).toEqual([250, 600, 700]);
  });

  test('finds its place again when insertions have pushed it to a later page', async () => {
    const service = createService(rangeOf(30), usual);
    const page = reader(service);
    const { edges } = await page(10);
    for (let key = 1; key <= 35; key += 1) service.insert(key);
    expect((await page(3, edges[4]!.cursor)).keys).toEqual([600, 700, 800]);
  });

  test.each([5, 80])('starts the page again when all rows read of it are gone: of %i', async (count) => {
    const service = createService(rangeOf(count), usual);
    const page = reader(service);
    const { edges } = await page(10);
    for (const key of [100, 200, 300]) service.delete(key);
    expect((await page(2, edges[2]!.cursor)).keys).toEqual([400, 500]);
  });

  test('gives each row once, even if a row read before has moved back', async () => {
    let order = ['a', 'b', 'c', 'd', 'e', 'f'];
    const list: NoteList = {
      filter: {},
      async read({ limit, cursor = '0' }) {
        const end = Number(cursor) + Math.min(limit, 3);
        const notes = order.slice(Number(cursor), end).map((id) => toNote({ ...noteOf(0), upstreamId: id }));
        return { notes, nextCursor: end < order.length ? String(end) : undefined };
      },
    };
    const pager = createPager(telemetry);
    const source = { cursors, place, pager, list };
    const { pageInfo } = await noteConnection(source, { first: 3 });
    order = ['a', 'c', 'd', 'e', 'b', 'f'];
    const next = await noteConnection(source, { first: 10, after: pageInfo.endCursor });
    expect(next.nodes.map(({ upstreamId }) => upstreamId)).toEqual(['e', 'f']);
  });

  test('continues after a new note, wherever the service lists it', async () => {
    const service = createService(rangeOf(5), usual);
    service.insert(250);
    const edge = newEdge({ cursors, place }, noteOf(250));
    expect((await reader(service)(10, edge.cursor)).keys).toEqual([300, 400, 500]);
  });
});

describe('the cursor of a new note', () => {
  const edgeOf = (key: number) => newEdge({ cursors, place }, noteOf(key));

  test('leads to the notes after it, wherever it is in the list', async () => {
    const counts = fc.tuple(fc.integer({ min: 1, max: 400 }), fc.nat());
    await fc.assert(
      fc.asyncProperty(options, counts, async (service, [count, at]) => {
        const all = rangeOf(count);
        const index = at % count;
        const keys = await readAll(createService(all, service), 30, { after: edgeOf(all[index]!).cursor });
        expect(keys).toEqual(all.slice(index + 1));
      }),
    );
  });

  test.each([
    ['is the last of many', rangeOf(131)],
    ['has been deleted', rangeOf(130)],
    ['was the only one, and has been deleted', []],
  ])('leads to the end, never to the start, if the note %s', async (_, keys) => {
    const page = await reader(createService(keys, usual))(3, edgeOf(13_100).cursor);
    expect(page.keys).toEqual([]);
    expect(page.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true, endCursor: null });
  });

  test('leads to the notes after it, however many small pages are before it', async () => {
    const service = createService(rangeOf(1_200), { ...usual, maxLimit: 20, aboveMax: 'clamp' });
    expect((await reader(service)(2, edgeOf(119_800).cursor)).keys).toEqual([119_900, 120_000]);
  });

  test('is an error if the note is further back than is searched', async () => {
    const page = reader(createService(rangeOf(5_002), usual));
    expect((await page(3, edgeOf(499_900).cursor)).keys).toEqual([500_000, 500_100, 500_200]);
    await expect(page(3, edgeOf(500_100).cursor)).rejects.toMatchObject({ code: 'QUERY_TOO_COMPLEX' });
  });
});

describe('a page longer than requested', () => {
  test('is used in full', async () => {
    const all = rangeOf(65);
    const list: NoteList = {
      filter: {},
      async read({ cursor = '0' }) {
        const start = Number(cursor);
        const more = start + 30 < all.length;
        return {
          notes: all.slice(start, start + 30).map(noteOf),
          nextCursor: more ? String(start + 30) : undefined,
        };
      },
    };
    const page = reader(list);
    const keys: number[] = [];
    for (let after: string | undefined; ;) {
      const found = await page(7, after);
      keys.push(...found.keys);
      if (!found.pageInfo.hasNextPage) break;
      after = found.pageInfo.endCursor!;
    }
    expect(keys).toEqual(all);
  });
});
