import { parse } from 'graphql';
import { expect, onTestFinished, test, vi } from 'vitest';
import { TriviumError, type Answer } from '../../../src/client/core/error.js';
import type { Sink, Trivium } from '../../../src/client/core/trivium.js';
import { Coverage } from '../../../src/client/live/coverage.js';
import { Freshest } from '../../../src/client/live/freshest.js';
import { collectUncaught } from '../uncaught.js';

const listQuery = parse('{ liveCursor shipments(first: 1) { edges { node { id } } } }');
const allUpdates = parse('subscription { shipmentUpdates { cursor } }');

test('a cache whose place does not count, however often it is asked for, is asked for ever more rarely', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const query = parse('{ liveCursor shipments(first: 5) { edges { node { id } } } }');
  const execute = vi.fn<Trivium['execute']>(() =>
    Promise.resolve({ data: { liveCursor: 'of another replica', shipments: { edges: [] } } }),
  );
  const trivium = {
    session: { status: 'signed-in' },
    execute,
    subscribe(_: unknown, __: unknown, sink: Sink) {
      setTimeout(() => sink.error(new TriviumError('CURSOR_INVALID', 'Other keys.')), 10);
      return () => {};
    },
  } as unknown as Trivium;
  const ask = () => void coverage.execute(query, {});
  const coverage = new Coverage({ trivium, apply: () => {}, expired: ask });
  const sink = { next: () => {}, error: () => {}, complete: () => {} };
  coverage.subscribe(parse('subscription { shipmentUpdates { cursor } }'), {}, sink);
  ask();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(execute.mock.calls.length).toBeGreaterThan(2);
  expect(execute.mock.calls.length).toBeLessThan(15);
});

test('a subscription without lists whose place does not count goes on from now', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const begun: { readonly variables: object; readonly sink: Sink }[] = [];
  const trivium = {
    subscribe(_: unknown, variables: object, sink: Sink) {
      begun.push({ variables, sink });
      return () => {};
    },
  } as unknown as Trivium;
  const expired = vi.fn<() => void>();
  const coverage = new Coverage({ trivium, apply: () => {}, expired });
  const sink = { next: vi.fn<Sink['next']>(), error: vi.fn<Sink['error']>(), complete: () => {} };
  const document = parse(
    'subscription Updates($after: Cursor) { shipmentUpdates(after: $after) { cursor } }',
  );
  onTestFinished(coverage.subscribe(document, { after: 'long ago' }, sink));
  for (let time = 0; time < 2; time++) {
    begun.at(-1)!.sink.error(new TriviumError('CURSOR_EXPIRED', 'Too long ago.'));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(begun.map(({ variables }) => variables)).toEqual([{ after: 'long ago' }, {}, {}]);
  const update = { data: { shipmentUpdates: { cursor: 'now' } } };
  begun.at(-1)!.sink.next(update);
  expect(sink.next.mock.calls).toEqual([[update]]);
  expect(sink.error).not.toHaveBeenCalled();
  expect(expired).toHaveBeenCalledTimes(2);
});

test('a cache takes what a restored log says, though that counts its events once more', async () => {
  const query = parse('{ liveCursor shipments(first: 1) { edges { node { id revision stage } } } }');
  const answer = (revision: number, stage: string): Answer => ({
    data: { liveCursor: 'here', shipments: { edges: [{ node: { id: 'shp_1', revision, stage } }] } },
  });
  const sinks: Sink[] = [];
  const execute = vi
    .fn<Trivium['execute']>()
    .mockResolvedValueOnce(answer(200, 'DELIVERED'))
    .mockResolvedValueOnce(answer(90, 'IN_TRANSIT'));
  const trivium = {
    session: { status: 'signed-in' },
    execute,
    subscribe(_: unknown, __: unknown, sink: Sink) {
      sinks.push(sink);
      return () => {};
    },
  } as unknown as Trivium;
  const coverage = new Coverage({ trivium, apply: () => {}, expired: () => {} });
  const sink = { next: () => {}, error: () => {}, complete: () => {} };
  onTestFinished(coverage.subscribe(parse('subscription { shipmentUpdates { cursor } }'), {}, sink));
  await coverage.execute(query, {});
  sinks[0]!.error(new TriviumError('CURSOR_EXPIRED', 'The database was restored.'));
  expect(await coverage.execute(query, {})).toEqual(answer(90, 'IN_TRANSIT'));
});

test('a late answer keeps what a newer update does not say, though an older answer said it', async () => {
  const state = (revision: number, stage: string, carrier: string) => ({ id: '1', revision, stage, carrier });
  const freshest = new Freshest();
  const document = parse('{ shipment { id revision stage carrier } }');
  freshest.refresh(document, state(5, 'CREATED', 'UPS'));
  freshest.refresh(document, { id: '1', revision: 7, stage: 'DELIVERED' });
  expect(freshest.refresh(document, state(6, 'IN_TRANSIT', 'DHL'))).toEqual(state(7, 'DELIVERED', 'DHL'));
});

test('the data of an event stays as it is, though it looks like an older state', () => {
  const freshest = new Freshest();
  const document = parse('{ payment { id revision events { nodes { id raw: data } } } }');
  const answer = (revision: number, amount: number) => {
    const raw = { object: { id: 'payment', revision, amount } };
    return { payment: { id: 'payment', revision: 9, events: { nodes: [{ id: `event ${revision}`, raw }] } } };
  };
  for (const event of [answer(20, 500), answer(1, 100)])
    expect(freshest.refresh(document, event)).toEqual(event);
});

test.each(['', '(filter: { carriers: ["ups"] })'])(
  'a subscription %s waits while nobody is signed in, and begins again once somebody is',
  (filter) => {
    const sinks: Sink[] = [];
    const left: Sink[] = [];
    const trivium = {
      subscribe(_: unknown, __: unknown, sink: Sink) {
        sinks.push(sink);
        return () => void left.push(sink);
      },
    } as unknown as Trivium;
    const coverage = new Coverage({ trivium, apply: () => {}, expired: () => {} });
    const sink = { next: vi.fn<Sink['next']>(), error: vi.fn<Sink['error']>(), complete: () => {} };
    const document = parse(`subscription { shipmentUpdates${filter} { cursor } }`);
    const leave = coverage.subscribe(document, {}, sink);
    sinks[0]!.error(new TriviumError('UNAUTHENTICATED', 'Nobody is signed in.'));
    const errors = [{ message: 'Nobody is signed in.', extensions: { code: 'UNAUTHENTICATED' } }];
    expect(sink.next.mock.calls).toEqual([[{ data: null, errors }]]);
    coverage.clear();
    const update = { data: { shipmentUpdates: { cursor: 'now' } } };
    sinks[1]!.next(update);
    expect(sink.next).toHaveBeenLastCalledWith(update);
    expect(sink.error).not.toHaveBeenCalled();
    leave();
    coverage.clear();
    expect([sinks.length, left]).toEqual([2, [sinks[1]]]);
  },
);

/** A client whose lists are empty; `tellFirst` gives an update to its first subscription. */
function emptyTrivium() {
  const sinks: Sink[] = [];
  const trivium = {
    session: { status: 'signed-in' },
    execute: () => Promise.resolve({ data: { liveCursor: 'begun', shipments: { edges: [] } } }),
    subscribe(_: unknown, __: unknown, sink: Sink) {
      sinks.push(sink);
      return () => {};
    },
  } as unknown as Trivium;
  const shipment = { id: '1', revision: 1, updatedAt: '2026-01-01T00:00:00Z', stage: 'CREATED' };
  const tellFirst = () => sinks[0]!.next({ data: { shipmentUpdates: { cursor: 'first', shipment } } });
  return { trivium, sinks, tellFirst };
}

test('what an application throws as it hears of an update keeps no list from it', async () => {
  const uncaught = collectUncaught();
  const failure = new Error('of the application');
  const { trivium, sinks, tellFirst } = emptyTrivium();
  const fail = () => {
    throw failure;
  };
  const apply = vi.fn<() => void>(fail);
  const coverage = new Coverage({ trivium, apply, expired: () => {} });
  for (const stage of ['CREATED', 'DELIVERED'])
    await coverage.execute(
      parse(`{ liveCursor shipments(filter: { stage: ${stage} }) { edges { node { id } } } }`),
      {},
    );
  const sink = { next: fail, error: () => {}, complete: () => {} };
  onTestFinished(coverage.subscribe(parse('subscription { shipmentUpdates { cursor } }'), {}, sink));
  await expect.poll(() => sinks.length).toBe(1);
  tellFirst();
  expect(apply).toHaveBeenCalledTimes(2);
  await expect.poll(() => uncaught).toEqual([failure, failure, failure]);
});

test.each([
  ['(last: 2)', {}, []],
  ['(filter: { stage: CREATED })', {}, [{ stage: 'CREATED' }]],
  ['(filter: $filter)', {}, [{ stage: 'DELIVERED' }]],
  ['(filter: $filter)', { filter: undefined }, [{ stage: 'DELIVERED' }]],
  ['(filter: $filter)', { filter: null }, [null]],
  ['(filter: { stage: CREATED, carrier: null })', {}, [{ stage: 'CREATED', carrier: null }]],
])(
  'with shipments%s and %o, what is told of an update are the lists %o',
  async (args, variables, filters) => {
    const { trivium, tellFirst } = emptyTrivium();
    const told: unknown[] = [];
    const apply = ({ filter }: { readonly filter: unknown }) => void told.push(filter);
    const coverage = new Coverage({ trivium, apply, expired: () => {} });
    const given = args.includes('$') ? '($filter: ShipmentFilter = { stage: DELIVERED })' : '';
    await coverage.execute(
      parse(`query${given} { liveCursor shipments${args} { edges { node { id } } } }`),
      variables,
    );
    const sink = { next: () => {}, error: () => {}, complete: () => {} };
    onTestFinished(coverage.subscribe(allUpdates, {}, sink));
    tellFirst();
    expect(told).toEqual(filters);
  },
);

test.each([
  ['there may be more, since it was not asked', {}, '9'],
  ['there is more', { pageInfo: { hasNextPage: true } }, '9'],
  ['there is no more', { pageInfo: { hasNextPage: false } }, undefined],
])('a list is told with its last row, after which nothing has its place, if %s', async (_, more, end) => {
  const { trivium, tellFirst } = emptyTrivium();
  const node = { id: '9', revision: 1, updatedAt: '2026-01-01T00:00:00Z', stage: 'CREATED' };
  const data = { liveCursor: 'begun', shipments: { edges: [{ node }], ...more } };
  Object.assign(trivium, { execute: () => Promise.resolve({ data }) });
  const told: unknown[] = [];
  const apply = (list: { readonly end: { readonly id: string } | undefined }) => void told.push(list.end?.id);
  const coverage = new Coverage({ trivium, apply, expired: () => {} });
  await coverage.execute(parse('{ liveCursor shipments { edges { node { id } } } }'), {});
  onTestFinished(coverage.subscribe(allUpdates, {}, { next: () => {}, error: () => {}, complete: () => {} }));
  tellFirst();
  expect(told).toEqual([end]);
});

/** A client whose lists are answered from `cursors`, one after the other, and whose subscriptions are fed by `tell`. */
function fedTrivium(cursors: readonly string[]) {
  const running = new Set<{ readonly after: unknown; readonly sink: Sink }>();
  const answers = cursors.values();
  const trivium = {
    session: { status: 'signed-in' },
    execute: () => Promise.resolve({ data: { liveCursor: answers.next().value, shipments: { edges: [] } } }),
    subscribe(_: unknown, { after }: { readonly after?: string }, sink: Sink) {
      const one = { after, sink };
      running.add(one);
      return () => void running.delete(one);
    },
  } as unknown as Trivium;
  const tell = (after: string | undefined, cursor: string) => {
    for (const one of Array.from(running))
      if (one.after === after) one.sink.next({ data: { shipmentUpdates: { cursor } } });
  };
  return { trivium, tell, begun: () => [...running].map(({ after }) => after) };
}

test('a subscription that began without a list goes on with the one that came, and is held no longer', async () => {
  const { trivium, tell, begun } = fedTrivium(['2']);
  const coverage = new Coverage({ trivium, apply: () => {}, expired: () => {} });
  const heard: unknown[] = [];
  const sink = { next: ({ data }: Answer) => heard.push(data), error: () => {}, complete: () => {} };
  onTestFinished(coverage.subscribe(allUpdates, {}, sink));
  await coverage.execute(listQuery, {});
  await expect.poll(begun).toEqual([undefined, '2']);
  for (const after of [undefined, '2']) tell(after, '3');
  expect(begun()).toEqual(['2']);
  tell('2', '4');
  expect(heard).toEqual([{ shipmentUpdates: { cursor: '3' } }, { shipmentUpdates: { cursor: '4' } }]);
});

test('a list that is asked for again takes nothing from a subscription of what came before its answer', async () => {
  const { trivium, tell, begun } = fedTrivium(['1', '3', '4']);
  const coverage = new Coverage({ trivium, apply: () => {}, expired: () => {} });
  await coverage.execute(listQuery, {});
  const heard: unknown[] = [];
  const sink = { next: ({ data }: Answer) => heard.push(data), error: () => {}, complete: () => {} };
  onTestFinished(coverage.subscribe(allUpdates, {}, sink));
  await coverage.execute(listQuery, {});
  await expect.poll(begun).toEqual(['1', '3']);
  await coverage.execute(listQuery, {});
  await expect.poll(begun).toEqual(['1', '4']);
  for (const cursor of ['2', '3', '4']) tell('1', cursor);
  expect(begun()).toEqual(['4']);
  tell('4', '5');
  expect(heard).toEqual(['2', '3', '4', '5'].map((cursor) => ({ shipmentUpdates: { cursor } })));
});

test('a subscription is complete once those of its lists are, as when the client was disposed of', async () => {
  const { trivium, sinks } = emptyTrivium();
  const coverage = new Coverage({ trivium, apply: () => {}, expired: () => {} });
  for (const stage of ['CREATED', 'DELIVERED'])
    await coverage.execute(
      parse(`{ liveCursor shipments(filter: { stage: ${stage} }) { edges { node { id } } } }`),
      {},
    );
  const sink = { next: () => {}, error: () => {}, complete: vi.fn<() => void>() };
  coverage.subscribe(allUpdates, {}, sink);
  for (const one of sinks) one.complete();
  expect(sink.complete).toHaveBeenCalledTimes(1);
});

test('a subscription hears each event once, however far apart the places of its lists are', async () => {
  const { trivium, tell } = fedTrivium(['0', '1']);
  const coverage = new Coverage({ trivium, apply: () => {}, expired: () => {} });
  for (const stage of ['CREATED', 'DELIVERED'])
    await coverage.execute(
      parse(`{ liveCursor shipments(filter: { stage: ${stage} }) { edges { node { id } } } }`),
      {},
    );
  const heard: string[] = [];
  const next = ({ data }: Answer) =>
    heard.push((data as { shipmentUpdates: { cursor: string } }).shipmentUpdates.cursor);
  onTestFinished(coverage.subscribe(allUpdates, {}, { next, error: () => {}, complete: () => {} }));
  for (let event = 2; event <= 3_000; event++) tell('1', String(event));
  for (let event = 1; event <= 3_000; event++) tell('0', String(event));
  for (let event = 3_001; event <= 6_000; event++) tell('1', String(event));
  expect(heard).toHaveLength(6_000);
  expect(new Set(heard).size).toBe(6_000);
});
