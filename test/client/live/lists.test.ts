import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TriviumError } from '../../../src/client/core/error.js';
import { createTrivium, type Answer, type Sink, type Trivium } from '../../../src/client/core/trivium.js';
import { createLiveList, type LiveList } from '../../../src/client/live/store.js';
import type { ShipmentFilter, ShipmentPartsFragment } from '../../../src/client/generated/index.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { collectUncaught } from '../uncaught.js';
import { fakeTimeouts, neverAnswered } from '../fake-timeouts.js';

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

test('a list of which rows leave goes on to show as many as were asked for, while there are more', async () => {
  const shipments = [40, 41, 42, 43, 44, 45, 46];
  for (const shipment of shipments) await emit('refill', shipment, 1, 0);
  const list = createLiveList(proxied.connect(), 'shipments', { filter: { stage: 'IN_TRANSIT' }, first: 3 });
  onTestFinished(observe(list));
  await expect.poll(() => idsOf(list)).toHaveLength(3);
  for (const shipment of [46, 45, 44, 43]) await emit('refill', shipment, 4, 0);
  const shown = () => list.state.entities.map(({ shipmentId }) => shipmentId);
  await expect.poll(() => shown().slice(0, 3)).toEqual(['shp_live_42', 'shp_live_41', 'shp_live_40']);
  expect(await isRight(list, { stage: 'IN_TRANSIT' })).toBe('right');
});

test('a list that cannot be asked for is asked for again until it comes', async () => {
  const list = createLiveList(proxied.connect(), 'shipments', { first: 5 });
  proxied.proxy.shut(true);
  onTestFinished(observe(list));
  await expect.poll(() => list.state.error?.code).toBe('UNREACHABLE');
  proxied.proxy.shut(false);
  await expect.poll(() => isRight(list, {})).toBe('right');
  expect(list.state.error).toBeUndefined();
});

test('a list whose place does not count, however often it is asked for, is asked for ever more rarely', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const page = { edges: [], pageInfo: { hasNextPage: false, endCursor: null } };
  let asked = 0;
  const trivium = {
    execute() {
      asked++;
      return Promise.resolve({ data: { liveCursor: 'of another replica', shipments: page } });
    },
    subscribe(_: unknown, __: unknown, sink: Sink) {
      setTimeout(() => sink.error(new TriviumError('CURSOR_INVALID', 'Other keys.')), 10);
      return () => {};
    },
  } as unknown as Trivium;
  const leave = createLiveList(trivium, 'shipments').listen(() => {});
  await vi.advanceTimersByTimeAsync(10_000);
  expect(asked).toBeGreaterThan(2);
  expect(asked).toBeLessThan(10);
  leave();
  const before = asked;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toBe(before);
});

test("a list that was asked for while the gateway's database was down is asked for again", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const page = { edges: [], pageInfo: { hasNextPage: false, endCursor: null } };
  const down = { message: 'down', extensions: { code: 'INTERNAL_SERVER_ERROR' } };
  const execute = vi
    .fn<Trivium['execute']>()
    .mockResolvedValueOnce({ errors: [down] })
    .mockResolvedValue({ data: { liveCursor: 'begun', shipments: page } });
  const list = createLiveList({ execute, subscribe: () => () => {} } as unknown as Trivium, 'shipments');
  onTestFinished(list.listen(() => {}));
  await vi.advanceTimersByTimeAsync(0);
  expect(list.state.error?.code).toBe('INTERNAL_SERVER_ERROR');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(list.state).toMatchObject({ loading: false, error: undefined });
  expect(execute).toHaveBeenCalledTimes(2);
});

test('a list whose query is never answered is asked for again', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  fakeTimeouts();
  const fetch = vi.fn<typeof globalThis.fetch>((_, init) => neverAnswered(init?.signal));
  const trivium = createTrivium({ url: 'http://127.0.0.1:1', token: 'token', fetch });
  const list = createLiveList(trivium, 'shipments');
  onTestFinished(list.listen(() => {}));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(list.state).toMatchObject({ loading: false, error: { code: 'UNREACHABLE' } });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(fetch).toHaveBeenCalledTimes(2);
});

/** Listens to a list that cannot be asked for, where this is the window. */
function listenInVain(page: object) {
  vi.useFakeTimers();
  vi.stubGlobal('window', page);
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const execute = vi.fn<Trivium['execute']>().mockRejectedValue(new TriviumError('UNREACHABLE', 'away'));
  onTestFinished(createLiveList({ execute } as unknown as Trivium, 'shipments').listen(() => {}));
  return execute;
}

test('a list that could not be asked for is asked for again where a window tells nothing of the network', async () => {
  const execute = listenInVain({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(execute.mock.calls.length).toBeGreaterThan(2);
});

test('a list that could not be asked for is asked for as soon as the network is back', async () => {
  const page = new EventTarget();
  const execute = listenInVain(page);
  await vi.advanceTimersByTimeAsync(60_000);
  const asked = execute.mock.calls.length;
  page.dispatchEvent(new Event('online'));
  await vi.advanceTimersByTimeAsync(0);
  expect(execute).toHaveBeenCalledTimes(asked + 1);
});

/** A client that is answered by hand. */
function createManual() {
  const answers: ((data: object) => void)[] = [];
  const sinks: Sink[] = [];
  const trivium = {
    execute: () => new Promise<Answer>((resolve) => void answers.push((data) => resolve({ data }))),
    subscribe(_: unknown, __: unknown, sink: Sink) {
      sinks.push(sink);
      return () => {};
    },
  } as unknown as Trivium;
  return { trivium, answers, sinks };
}

test('a list that has grown by a thousand rows begins anew', async () => {
  const { trivium, answers, sinks } = createManual();
  const list = createLiveList(trivium, 'payments', { first: 1 });
  onTestFinished(list.listen(() => {}));
  const payment = (at: number) => ({
    id: `payment ${at}`,
    paymentId: `pay_${at}`,
    revision: at,
    updatedAt: new Date(at * 1_000).toISOString(),
  });
  const answer = (at: number) =>
    answers.shift()!({
      liveCursor: 'here',
      payments: { edges: [{ node: payment(at) }], pageInfo: { hasNextPage: true, endCursor: 'end' } },
    });
  answer(1);
  await expect.poll(() => sinks).toHaveLength(1);
  const take = (at: number) =>
    sinks.at(-1)!.next({ data: { paymentUpdates: { cursor: String(at), payment: payment(at) } } });
  for (let at = 2; at <= 1_000; at += 1) take(at);
  expect(list.state.entities).toHaveLength(1_000);
  expect(answers).toEqual([]);
  take(1_001);
  await expect.poll(() => answers).toHaveLength(1);
  answer(1_001);
  await expect.poll(() => list.state.entities.map(({ paymentId }) => paymentId)).toEqual(['pay_1001']);
  expect(list.state).toMatchObject({ hasMore: true, loading: false });
});

test('what came while a page was awaited that was given up does not come back with the next page', async () => {
  const { trivium, answers, sinks } = createManual();
  const list = createLiveList(trivium, 'shipments', { filter: { stage: 'IN_TRANSIT' }, first: 1 });
  const shipment = (shipmentId: string, second: number, stage = 'IN_TRANSIT') => {
    const updatedAt = `2030-01-01T00:00:0${second}Z`;
    return { id: shipmentId, shipmentId, revision: second, stage, updatedAt };
  };
  const page = (node: object) => ({
    liveCursor: 'begun',
    shipments: { edges: [{ node }], pageInfo: { hasNextPage: true, endCursor: 'end' } },
  });
  const update = (second: number, stage?: string) =>
    sinks.at(-1)!.next({
      data: { shipmentUpdates: { cursor: `at ${second}`, shipment: shipment('moving', second, stage) } },
    });
  const shown = () => list.state.entities.map(({ shipmentId }) => shipmentId);

  const leave = list.listen(() => {});
  answers.pop()!(page(shipment('first', 2)));
  await expect.poll(shown).toEqual(['first']);
  void list.more();
  update(3);
  expect(shown()).toEqual(['moving', 'first']);
  leave();
  onTestFinished(list.listen(() => {}));
  update(4, 'DELIVERED');
  expect(shown()).toEqual(['first']);
  const more = list.more();
  answers.pop()!(page(shipment('second', 1)));
  await more;
  expect(shown()).toEqual(['first', 'second']);
});

test('the failure of a list is not shown any more when it is shown again and followed', async () => {
  const { trivium, answers, sinks } = createManual();
  const list = createLiveList(trivium, 'shipments');
  const leave = list.listen(() => {});
  answers.pop()!({ liveCursor: 'begun', shipments: { edges: [], pageInfo: { hasNextPage: false } } });
  await expect.poll(() => sinks.length).toBe(1);
  sinks[0]!.error(new TriviumError('FORBIDDEN', 'No.'));
  expect(list.state.error).toMatchObject({ code: 'FORBIDDEN' });
  leave();
  onTestFinished(list.listen(() => {}));
  expect(sinks).toHaveLength(2);
  expect(list.state.error).toBeUndefined();
});

test('a list of a client that was disposed of says so', async () => {
  const { trivium, answers } = createManual();
  const client = createTrivium({ url: 'http://127.0.0.1:1', token: 'token' });
  trivium.subscribe = client.subscribe;
  const list = createLiveList(trivium, 'shipments');
  const leave = list.listen(() => {});
  answers.pop()!({ liveCursor: 'begun', shipments: { edges: [], pageInfo: { hasNextPage: false } } });
  await expect.poll(() => list.state.loading).toBe(false);
  expect(list.state.error).toBeUndefined();
  client.dispose();
  expect(list.state.error).toMatchObject({ code: 'DISPOSED' });
  leave();
  onTestFinished(list.listen(() => {}));
  await expect.poll(() => list.state.error).toMatchObject({ code: 'DISPOSED' });
});

test.each(['FORBIDDEN', 'DISPOSED'])(
  'a further page leaves the failure by which a list ended: %s',
  async (code) => {
    const { trivium, answers, sinks } = createManual();
    const list = createLiveList(trivium, 'shipments');
    onTestFinished(list.listen(() => {}));
    const answer = () =>
      answers.shift()!({
        liveCursor: 'begun',
        shipments: { edges: [], pageInfo: { hasNextPage: true, endCursor: 'end' } },
      });
    answer();
    await expect.poll(() => sinks.length).toBe(1);
    if (code === 'DISPOSED') sinks[0]!.complete();
    else sinks[0]!.error(new TriviumError(code, 'No.'));
    while (answers.length > 0) answer();
    await expect.poll(() => list.state.loading).toBe(false);
    void list.more();
    answer();
    await expect.poll(() => list.state.loading).toBe(false);
    expect(list.state.error).toMatchObject({ code });
    const reloaded = list.reload();
    answer();
    await reloaded;
    expect(list.state.error).toBeUndefined();
  },
);

test('a listener of a list that throws keeps nothing from the others', async () => {
  const uncaught = collectUncaught();
  const failure = new Error('of the application');
  const { trivium, answers } = createManual();
  const list = createLiveList(trivium, 'shipments');
  onTestFinished(
    list.listen(() => {
      if (list.state.loading) return;
      throw failure;
    }),
  );
  const seen: boolean[] = [];
  onTestFinished(list.listen(() => seen.push(list.state.loading)));
  answers.pop()!({ liveCursor: 'begun', shipments: { edges: [], pageInfo: { hasNextPage: false } } });
  await expect.poll(() => uncaught).toEqual([failure]);
  expect(seen.at(-1)).toBe(false);
  expect(list.state.error).toBeUndefined();
});

test('a list that cannot have what is to fill it up does not ask again with each update', async () => {
  const { trivium, answers, sinks } = createManual();
  const list = createLiveList(trivium, 'shipments', { filter: { stage: 'CREATED' }, first: 1 });
  onTestFinished(list.listen(() => {}));
  const shipment = { id: 'shp', revision: 1, stage: 'CREATED', updatedAt: '2030-01-01T00:00:00Z' };
  const pageInfo = { hasNextPage: true, endCursor: 'end' };
  answers.pop()!({ liveCursor: 'begun', shipments: { edges: [{ node: shipment }], pageInfo } });
  await expect.poll(() => sinks.length).toBe(1);
  await expect.poll(() => list.state.loading).toBe(false);
  const leave = (revision: number) =>
    sinks[0]!.next({
      data: {
        shipmentUpdates: {
          cursor: `at ${revision}`,
          shipment: { ...shipment, revision, stage: 'DELIVERED' },
        },
      },
    });
  leave(2);
  expect(answers).toHaveLength(1);
  answers.pop()!({ shipments: null });
  await expect.poll(() => list.state.error).toBeDefined();
  leave(3);
  expect(answers).toEqual([]);
  void list.more();
  expect(answers).toHaveLength(1);
});

test('a listener of a list that catches up is told of all that came at a time, not of each update', async () => {
  const { trivium, answers, sinks } = createManual();
  const list = createLiveList(trivium, 'shipments');
  const listener = vi.fn<() => void>();
  onTestFinished(list.listen(listener));
  answers.pop()!({ liveCursor: 'begun', shipments: { edges: [], pageInfo: { hasNextPage: false } } });
  await expect.poll(() => sinks.length).toBe(1);
  await expect.poll(() => listener.mock.calls.length).toBeGreaterThan(0);
  const told = listener.mock.calls.length;
  for (let revision = 1; revision <= 600; revision++) {
    const shipment = { id: `shp_${revision % 30}`, revision, updatedAt: '2030-01-01T00:00:00Z' };
    sinks[0]!.next({ data: { shipmentUpdates: { cursor: `at ${revision}`, shipment } } });
    await Promise.resolve();
  }
  expect(list.state.entities).toHaveLength(30);
  await expect.poll(() => listener.mock.calls.length).toBe(told + 1);
});
