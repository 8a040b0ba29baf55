import fc from 'fast-check';
import { buildSchema, graphql, type GraphQLResolveInfo } from 'graphql';
import { expect, test } from 'vitest';
import { createCursors } from '../../src/graphql/cursors.js';
import { rowConnection, type RowQuery } from '../../src/graphql/connection.js';
import type { PageArguments } from '../../src/graphql/page-size.js';
import { createSealer } from '../../src/lib/sealer.js';

const cursors = createCursors(createSealer([Buffer.alloc(32, 'key')]));
const caller = { sessionId: 's', userId: 'u', email: 'u@example.com', grants: new Set<never>() };
const place = { connection: 'numbers', filter: { even: false } };
const schema = buildSchema(`
  type Query { numbers(first: Int, after: String, last: Int, before: String): Numbers! }
  type Numbers { nodes: [Int!]! pageInfo: PageInfo! }
  type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
`);

/** Numbers in ascending order, each its own position. */
function createList(numbers: readonly number[]) {
  let reads = 0;
  const read = async ({ limit, backward, after = -Infinity, before = Infinity }: RowQuery<number>) => {
    reads += 1;
    const found = numbers.filter((number) => after < number && number < before);
    return (backward ? found.toReversed() : found).slice(0, limit);
  };
  const resolve = (page: PageArguments, _: unknown, info: GraphQLResolveInfo) =>
    rowConnection({ caller, cursors }, place, page, info, { read, position: (number) => number });
  return {
    reads: () => reads,
    async ask(selections: string, page: PageArguments) {
      const { data, errors } = await graphql({
        schema,
        source: `query ($first: Int, $after: String, $last: Int, $before: String) {
          numbers(first: $first, after: $after, last: $last, before: $before) ${selections}
        }`,
        rootValue: { numbers: resolve },
        variableValues: { ...page },
      });
      expect(errors).toBeUndefined();
      return (data as { numbers: { nodes: readonly number[]; pageInfo: Readonly<Record<string, unknown>> } })
        .numbers;
    },
  };
}

const everything = '{ nodes pageInfo { hasNextPage hasPreviousPage } }';
const cursorOf = (number: number) => cursors.seal({ ...place, userId: 'u' }, number);

test('a page reports whether there is more on either side, even if the row of its cursor is gone', async () => {
  // The row of the cursor may be gone, and rows may have been inserted on a side that had none.
  const given = fc.record({
    numbers: fc.uniqueArray(fc.nat(12)).map((all) => all.toSorted((a, b) => a - b)),
    cursor: fc.nat(12),
    size: fc.nat(4),
  });
  const reportsBothSides = fc.asyncProperty(given, async ({ numbers, cursor, size }) => {
    const { ask } = createList(numbers);
    const [after, behind] = [numbers.filter((one) => one > cursor), numbers.filter((one) => one <= cursor)];
    expect(await ask(everything, { first: size, after: cursorOf(cursor) })).toEqual({
      nodes: after.slice(0, size),
      pageInfo: { hasNextPage: after.length > size, hasPreviousPage: behind.length > 0 },
    });
    const [before, beyond] = [numbers.filter((one) => one < cursor), numbers.filter((one) => one >= cursor)];
    expect(await ask(everything, { last: size, before: cursorOf(cursor) })).toEqual({
      nodes: before.slice(Math.max(0, before.length - size)),
      pageInfo: { hasNextPage: beyond.length > 0, hasPreviousPage: before.length > size },
    });
  });
  await fc.assert(reportsBothSides);
});

test('a page between two cursors reports whether it was cut short, and whether there is more beyond its start', async () => {
  const given = fc.record({
    numbers: fc.uniqueArray(fc.nat(12)).map((all) => all.toSorted((a, b) => a - b)),
    from: fc.nat(12),
    length: fc.integer({ min: 1, max: 12 }),
    size: fc.nat(4),
  });
  const reportsBothSides = fc.asyncProperty(given, async ({ numbers, from, length, size }) => {
    const { ask } = createList(numbers);
    const to = from + length;
    const page = { after: cursorOf(from), before: cursorOf(to) };
    const isMore = numbers.filter((one) => from < one && one < to).length > size;
    const { pageInfo: forward } = await ask(everything, { first: size, ...page });
    expect(forward).toEqual({ hasNextPage: isMore, hasPreviousPage: numbers.some((one) => one <= from) });
    const { pageInfo: backward } = await ask(everything, { last: size, ...page });
    expect(backward).toEqual({ hasNextPage: numbers.some((one) => one >= to), hasPreviousPage: isMore });
  });
  await fc.assert(reportsBothSides);
});

test('a cursor is the same as those that clients hold, under the same key', async () => {
  const { pageInfo } = await createList([7]).ask('{ nodes pageInfo { startCursor } }', { first: 1 });
  expect(pageInfo).toEqual({ startCursor: 'zP5COTvh2lpxQvk862l9K3L4YqMFiiw4o02T60rdQHYd' });
});

const [forward, backward] = [
  { first: 2, after: cursorOf(3) },
  { last: 2, before: cursorOf(3) },
];

test.each<readonly [title: string, page: PageArguments, selections: string, reads: number]>([
  ['without a cursor, forward', { first: 2 }, everything, 1],
  ['without a cursor, backward', { last: 2 }, everything, 1],
  ['not selected, forward', forward, '{ nodes pageInfo { hasNextPage startCursor endCursor } }', 1],
  ['not selected, backward', backward, '{ nodes pageInfo { hasPreviousPage startCursor endCursor } }', 1],
  ['selected, forward', forward, '{ nodes pageInfo { hasPreviousPage } }', 2],
  ['selected, backward', backward, '{ nodes pageInfo { hasNextPage } }', 2],
])(
  'whether there is more behind the cursor is read only if it is selected: %s',
  async (_, page, selections, reads) => {
    const list = createList([1, 2, 3, 4, 5]);
    await list.ask(selections, page);
    expect(list.reads()).toBe(reads);
  },
);
