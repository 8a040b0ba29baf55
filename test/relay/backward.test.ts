import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { fillLists } from './fill-lists.js';

const rows = 23;
let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
  await fillLists(testbed, token, rows);
});

afterAll(() => testbed.stop());

const lists = {
  appointments: (list: string) => `appointments${list}`,
  shipments: (list: string) => `shipments${list}`,
  payments: (list: string) => `payments${list}`,
  'Shipment.events': (list: string) => `shipment(shipmentId: "shp_0") { events${list} }`,
  'Payment.events': (list: string) => `payment(paymentId: "pay_0") { events${list} }`,
};

interface Page {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

describe.for(Object.entries(lists))('%s', ([, field]) => {
  const query = `query ($first: Int, $after: String, $last: Int, $before: String) {
    list: ${field(`(first: $first, after: $after, last: $last, before: $before) {
      edges { cursor node { id } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }`)}
  }`;

  async function read(variables: object): Promise<Page> {
    const { data, errors } = await testbed.ask(query, variables, token);
    expect(errors).toBeUndefined();
    const { edges, pageInfo } = (data.list.events ?? data.list) as Page;
    expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([
      edges[0]?.cursor ?? null,
      edges.at(-1)?.cursor ?? null,
    ]);
    return { edges, pageInfo };
  }

  const idsOf = ({ edges }: Page) => edges.map(({ node }) => node.id);

  /** Pages from the start to the end, or backward from the end to the start, with each of the sizes in turn. */
  async function walk(sizes: readonly number[], backward: boolean): Promise<Page[]> {
    const pages: Page[] = [];
    for (let place: string | null = null; ;) {
      const size = sizes[pages.length % sizes.length]!;
      const page = await read(backward ? { last: size, before: place } : { first: size, after: place });
      pages.push(page);
      if (!(backward ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage)) return pages;
      expect(page.edges).toHaveLength(size);
      expect(backward ? page.pageInfo.hasNextPage : page.pageInfo.hasPreviousPage).toBe(pages.length > 1);
      place = backward ? page.pageInfo.startCursor : page.pageInfo.endCursor;
    }
  }

  const sizes = fc.array(fc.integer({ min: 1, max: rows + 2 }), { minLength: 1, maxLength: 4 });

  test('paging backward is the reverse of paging forward, with any page sizes', async () => {
    const all = idsOf(await read({ first: 100 }));
    expect(all.length).toBeGreaterThanOrEqual(rows);
    expect(new Set(all).size).toBe(all.length);
    const same = fc.asyncProperty(sizes, sizes, async (there, back) => {
      expect((await walk(there, false)).flatMap(idsOf)).toEqual(all);
      expect((await walk(back, true)).toReversed().flatMap(idsOf)).toEqual(all);
    });
    await fc.assert(same, { numRuns: 20 });
  });

  test('the rows between two cursors are the same from either end', async () => {
    const { edges } = await read({ first: 100 });
    const index = fc.integer({ min: 0, max: edges.length - 1 });
    const size = fc.integer({ min: 0, max: 30 });
    const between = fc.asyncProperty(index, index, size, async (from, to, count) => {
      const after = edges[from]!.cursor;
      const before = edges[to]!.cursor;
      const inside = edges.slice(from + 1, Math.max(from + 1, to)).map(({ node }) => node.id);
      expect(idsOf(await read({ first: count, after, before }))).toEqual(inside.slice(0, count));
      expect(idsOf(await read({ last: count, after, before }))).toEqual(
        count === 0 ? [] : inside.slice(-count),
      );
    });
    await fc.assert(between, { numRuns: 30 });
  });
});

test('a row that no longer matches the filter does not count as a previous page', async () => {
  const emit = (id: string, type: string) =>
    testbed.sandbox.webhooks.emitShipment({ shipment: { id, carrier: 'Leaver' }, type });
  await emit('shp_stays', 'shipment.created');
  await emit('shp_leaves', 'shipment.created');
  const query = `query ($after: String) {
    shipments(after: $after, filter: { carrier: "Leaver", stage: CREATED }) {
      nodes { shipmentId }
      pageInfo { hasPreviousPage startCursor }
    }
  }`;
  const { data: all } = await testbed.ask(query, {}, token);
  expect(all.shipments.nodes).toEqual([{ shipmentId: 'shp_leaves' }, { shipmentId: 'shp_stays' }]);
  const after = all.shipments.pageInfo.startCursor;
  const rest = async () => (await testbed.ask(query, { after }, token)).data.shipments;
  const nodes = [{ shipmentId: 'shp_stays' }];
  expect(await rest()).toMatchObject({ nodes, pageInfo: { hasPreviousPage: true } });
  await emit('shp_leaves', 'shipment.in_transit');
  expect(await rest()).toMatchObject({ nodes, pageInfo: { hasPreviousPage: false } });
});
