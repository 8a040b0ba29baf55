import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { createLiveList, type LiveList } from '../../../src/client/live/store.js';
import type { ShipmentFilter, ShipmentPartsFragment } from '../../../src/client/generated/index.js';
import { useProxiedGateway } from '../proxied-gateway.js';

const proxied = useProxiedGateway();

const types = ['created', 'in_transit', 'out_for_delivery', 'delivery_failed', 'delivered'];
const filters: readonly ShipmentFilter[] = [{}, { stage: 'IN_TRANSIT' }, { carrier: 'ups' }];

/** Listens to a list as a page does; fails if a row's revision ever falls. */
function observe(list: LiveList<ShipmentPartsFragment>): () => void {
  const greatest = new Map<string, number>();
  return list.listen(() => {
    for (const { id, revision } of list.state.entities) {
      expect(revision).toBeGreaterThanOrEqual(greatest.get(id) ?? 0);
      greatest.set(id, revision);
    }
  });
}

const idsOf = (list: LiveList<ShipmentPartsFragment>) =>
  list.state.entities.map(({ shipmentId, revision }) => `${shipmentId} ${revision}`);

/** The first so many rows of the gateway's own list. */
async function listed(filter: ShipmentFilter, first: number): Promise<string[]> {
  const { data } = await proxied.testbed.ask(
    'query ($filter: ShipmentFilter, $first: Int) { shipments(filter: $filter, first: $first) { nodes { shipmentId revision } } }',
    { filter, first },
    proxied.token,
  );
  return data.shipments.nodes.map(
    (node: { shipmentId: string; revision: number }) => `${node.shipmentId} ${node.revision}`,
  );
}

/** Whether a list shows what the gateway's own list has; all of it, if it says that there is no more. */
async function isRight(list: LiveList<ShipmentPartsFragment>, filter: ShipmentFilter): Promise<string> {
  const theirs = await listed(filter, 100);
  const { loading, hasMore } = list.state;
  const shown = idsOf(list);
  if (loading) return 'loading';
  const wanted = hasMore ? theirs.slice(0, shown.length) : theirs;
  return shown.join() === wanted.join() ? 'right' : `${shown.join()} instead of ${wanted.join()}`;
}

let emitted = 0;
async function emit(run: string, shipment: number, type: number, age: number): Promise<void> {
  await proxied.testbed.sandbox.webhooks.emitShipment({
    id: `evt_live_${run}_${emitted++}`,
    type: `shipment.${types[type]}`,
    created_at: new Date(Date.UTC(2030, 0, 1) + emitted * 1_000 - age * 7_000).toISOString(),
    shipment: { id: `shp_live_${shipment}`, carrier: shipment % 2 ? 'ups' : 'dhl' },
  });
}

type Step =
  | { readonly kind: 'emit'; readonly shipment: number; readonly type: number; readonly age: number }
  | { readonly kind: 'mount' | 'unmount' | 'more' | 'reload'; readonly list: number }
  | { readonly kind: 'cut' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('emit' as const),
      shipment: fc.nat(7),
      type: fc.nat(4),
      age: fc.nat(3),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constantFrom('mount', 'unmount', 'more', 'reload'), list: fc.nat(2) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'cut' as const }) },
);

async function play(trivium: Trivium, steps: readonly Step[]): Promise<void> {
  const lists = filters.map((filter) => createLiveList(trivium, 'shipments', { filter, first: 3 }));
  const leave = lists.map(() => undefined as (() => void) | undefined);
  for (const one of steps) {
    if (one.kind === 'emit') await emit('random', one.shipment, one.type, one.age);
    else if (one.kind === 'cut') proxied.proxy.cut();
    else if (one.kind === 'mount') leave[one.list] ??= observe(lists[one.list]!);
    else if (one.kind === 'unmount') {
      leave[one.list]?.();
      leave[one.list] = undefined;
    } else void lists[one.list]![one.kind]();
  }
  for (const [index, list] of lists.entries()) {
    leave[index] ??= observe(list);
    if (list.state.error) await list.reload();
  }
  for (const [index, list] of lists.entries())
    await expect.poll(() => isRight(list, filters[index]!), { timeout: 20_000, interval: 100 }).toBe('right');
  for (const stop of leave) stop?.();
}

test("random events, mounts, pages and cuts: at rest each list is the gateway's own, and no revision ever fell", async () => {
  for (let shipment = 0; shipment < 8; shipment++) await emit('first', shipment, 0, 0);
  const seed = Number(process.env['SEED'] ?? 34);
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), (steps) =>
    play(proxied.connect(), steps),
  );
  const played = fc.assert(property, { seed, numRuns: 6, endOnFailure: true });
  await expect(played).resolves.toBeUndefined();
});

test('a list that is shown again goes on where it was, without a new request or replay', async () => {
  const trivium = proxied.connect();
  const list = createLiveList(trivium, 'shipments', { first: 5 });
  const leave = observe(list);
  await expect.poll(() => isRight(list, {})).toBe('right');
  await emit('again', 1, 1, 0);
  await expect.poll(() => isRight(list, {})).toBe('right');
  leave();
  const asked = proxied.proxy.said().toString('latin1').split('query Shipments').length;
  await emit('again', 2, 1, 0);
  let changes = 0;
  onTestFinished(list.listen(() => void changes++));
  await expect.poll(() => isRight(list, {})).toBe('right');
  expect(changes).toBe(1);
  expect(proxied.proxy.said().toString('latin1').split('query Shipments')).toHaveLength(asked);
});
