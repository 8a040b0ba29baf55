import type { OperationResult } from '@urql/core';
import { parse } from 'graphql';
import { pipe, subscribe } from 'wonka';
import { expect, onTestFinished, test } from 'vitest';
import { ShipmentsDocument, ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';
import { TriviumError, type Sink, type Trivium } from '../../../src/client/core/trivium.js';
import { createUrqlClient } from '../../../src/client/urql/urql.js';

const Both = parse(`
  query Both($s: String, $p: String) {
    liveCursor
    shipments(first: 1, after: $s) { edges { node { id revision updatedAt shipmentId } } pageInfo { hasNextPage endCursor } }
    payments(first: 1, after: $p) { edges { node { id revision updatedAt paymentId } } pageInfo { hasNextPage endCursor } }
  }
`);

interface Lists {
  readonly [name: string]: { readonly edges: readonly { readonly node: { readonly id: string } }[] };
}

/** A client of a gateway that has four shipments and four payments, and gives one of each at a time. */
function fourRows() {
  const asked: (readonly unknown[])[] = [];
  const sinks: Sink[] = [];
  const gateway = { isDown: false };
  const pageOf = (after: string | null | undefined) => {
    const row = after == null ? 1 : Number(after) + 1;
    const node = { id: String(row), shipmentId: String(row), paymentId: String(row), revision: 1 };
    const edges = [{ cursor: '', node: { ...node, updatedAt: `2026-01-01T00:00:0${9 - row}Z` } }];
    return { edges, pageInfo: { hasNextPage: row < 4, endCursor: String(row) } };
  };
  const trivium = {
    url: 'http://127.0.0.1:4000',
    session: { status: 'signed-in', viewer: { id: 'somebody' }, ended: false },
    onSession: () => {},
    async execute(_: unknown, { after, s = after, p, n }: Record<string, string | null>) {
      asked.push([s ?? null, p ?? null, n ?? null]);
      await new Promise((resolve) => setTimeout(resolve));
      if (gateway.isDown) throw new TriviumError('UNREACHABLE', 'No answer came.');
      return { data: { liveCursor: 'place', shipments: pageOf(s), payments: pageOf(p), next: pageOf(n) } };
    },
    subscribe(_: unknown, __: unknown, sink: Sink) {
      sinks.push(sink);
      return () => {};
    },
  };
  const urql = createUrqlClient(trivium as unknown as Trivium);
  /** Mounts a query; returns what tells the rows that it shows of a list. */
  const mount = (document: typeof Both, variables: object) => {
    let shown: Pick<OperationResult<Lists>, 'data' | 'error'> = {};
    const watching = pipe(
      urql.query<Lists, object>(document, variables),
      subscribe((result) => (shown = result)),
    );
    onTestFinished(() => watching.unsubscribe());
    const rows = (list: string) => shown.data?.[list]?.edges.map(({ node }) => node.id).join();
    return Object.assign(rows, { isFailed: () => shown.error !== undefined });
  };
  return { urql, mount, asked, sinks, gateway };
}

/** Waits until the gateway is asked for nothing more. */
async function rest(asked: readonly unknown[]): Promise<void> {
  let before: number;
  do {
    before = asked.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (asked.length > before && asked.length < 100);
}

test('all further pages that are mounted are asked for once more, in turn, when their list begins anew', async () => {
  const { urql, mount, asked, sinks } = fourRows();
  const shown: ReturnType<typeof mount>[] = [];
  for (const after of [null, '1', '2']) {
    shown.push(mount(ShipmentsDocument, { first: 1, after }));
    await rest(asked);
  }
  const rows = () => shown.map((of) => of('shipments'));
  expect(rows()).toEqual(['1,2,3', '1,2,3', '1,2,3']);
  asked.splice(0);
  void urql
    .query(ShipmentsDocument, { first: 1, after: null }, { requestPolicy: 'network-only' })
    .toPromise();
  await rest(asked);
  expect(asked.map(([after]) => after)).toEqual([null, '1', '2']);
  expect(rows()).toEqual(['1,2,3', '1,2,3', '1,2,3']);

  const following = pipe(
    urql.subscription(ShipmentUpdatesDocument, {}),
    subscribe(() => {}),
  );
  onTestFinished(() => following.unsubscribe());
  await expect.poll(() => sinks.length).toBe(1);
  asked.splice(0);
  sinks[0]!.error(new TriviumError('CURSOR_EXPIRED', 'Too long ago.'));
  await rest(asked);
  expect(asked.length).toBeLessThan(10);
  expect(rows()).toEqual(['1,2,3', '1,2,3', '1,2,3']);
});

test('two operations that each page another of their two lists do not have each other ask without end', async () => {
  const { mount, asked } = fourRows();
  const shipments = mount(Both, { s: '1' });
  const payments = mount(Both, { p: '1' });
  await rest(asked);
  mount(Both, {});
  await rest(asked);
  expect(asked.length).toBeLessThan(10);
  expect(payments('payments')).toBe('1,2');
  expect(shipments('payments')).toBe('1,2');
});

test('an operation that pages one of its two lists goes on with it once both have begun anew', async () => {
  const { urql, mount, asked } = fourRows();
  mount(Both, {});
  await rest(asked);
  const shown = mount(Both, { s: '1' });
  await rest(asked);
  expect(shown('shipments')).toBe('1,2');
  asked.splice(0);
  void urql.query<Lists, object>(Both, {}, { requestPolicy: 'network-only' }).toPromise();
  await rest(asked);
  expect(asked).toEqual([
    [null, null, null],
    ['1', null, null],
  ]);
  expect([shown('shipments'), shown('payments')]).toEqual(['1,2', '1']);
});

test('an operation that has a list twice, with other cursors, does not have itself ask without end', async () => {
  const Twice = parse(`
    query Twice($n: String) {
      liveCursor
      next: shipments(first: 1, after: $n) { edges { node { id revision updatedAt shipmentId } } pageInfo { hasNextPage endCursor } }
      shipments(first: 1) { edges { node { id revision updatedAt shipmentId } } pageInfo { hasNextPage endCursor } }
    }
  `);
  const { mount, asked } = fourRows();
  mount(Twice, {});
  await rest(asked);
  mount(Twice, { n: '1' });
  await rest(asked);
  expect(asked.length).toBeLessThan(10);
});

test('a further page that fails leaves the rows, beside the error, also as they change, until it is asked for again', async () => {
  const { urql, mount, asked, sinks, gateway } = fourRows();
  const first = mount(ShipmentsDocument, { first: 1, after: null });
  const following = pipe(
    urql.subscription(ShipmentUpdatesDocument, {}),
    subscribe(() => {}),
  );
  onTestFinished(() => following.unsubscribe());
  await rest(asked);
  gateway.isDown = true;
  const further = mount(ShipmentsDocument, { after: '1', first: 1 });
  await rest(asked);
  expect([further('shipments'), further.isFailed()]).toEqual(['1', true]);

  const shipment = { id: 'new', shipmentId: 'new', revision: 1, updatedAt: '2026-01-02T00:00:00Z' };
  sinks.at(-1)!.next({ data: { shipmentUpdates: { cursor: 'next', shipment } } });
  await rest(asked);
  expect([first('shipments'), first.isFailed()]).toEqual(['new,1', false]);
  expect([further('shipments'), further.isFailed()]).toEqual(['new,1', true]);

  gateway.isDown = false;
  const again = urql.query(ShipmentsDocument, { after: '1', first: 1 }, { requestPolicy: 'network-only' });
  void again.toPromise();
  await rest(asked);
  expect([further('shipments'), further.isFailed()]).toEqual(['new,1,2', false]);
  expect(first('shipments')).toBe('new,1,2');
});

test('an operation that awaits its answer is not told the rows of another page in place of it', async () => {
  const { urql, mount, asked, sinks } = fourRows();
  mount(ShipmentsDocument, { first: 1, after: null });
  const following = pipe(
    urql.subscription(ShipmentUpdatesDocument, {}),
    subscribe(() => {}),
  );
  onTestFinished(() => following.unsubscribe());
  await rest(asked);
  const awaited = urql.query<Lists, object>(ShipmentsDocument, { first: 1, after: '1' }).toPromise();
  const shipment = { id: 'new', shipmentId: 'new', revision: 1, updatedAt: '2026-01-02T00:00:00Z' };
  sinks.at(-1)!.next({ data: { shipmentUpdates: { cursor: 'next', shipment } } });
  const { data } = await awaited;
  expect(data?.['shipments']?.edges.map(({ node }) => node.id)).toEqual(['new', '1', '2']);
});
