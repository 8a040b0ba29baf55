import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Trivium } from '../../../src/client/core/trivium.js';
import {
  PaymentsDocument,
  ShipmentsDocument,
  type PaymentFilter,
  type ShipmentFilter,
} from '../../../src/client/generated/index.js';
import { demo, startTestbed } from '../../support/testbed.js';
import { useProxiedGateway, type ProxiedGateway } from '../proxied-gateway.js';

/** A row as a page shows it. */
export interface Row {
  readonly id: string;
  readonly revision: number;
  readonly shipmentId?: string;
}

/** Which list a page shows. */
export type Asked =
  | { readonly family: 'shipments'; readonly filter: ShipmentFilter }
  | { readonly family: 'payments'; readonly filter: PaymentFilter };

/** The shipped documents of the lists. */
export const documents = { shipments: ShipmentsDocument, payments: PaymentsDocument };

/** The data of these, or of documents alike. */
export interface Lists {
  readonly [family: string]:
    | {
        readonly edges: readonly { readonly node: Row }[];
        readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
      }
    | null
    | undefined;
}

/** A list that a page shows. */
export interface ShownList {
  /** Undefined while nothing has come. */
  rows(): readonly Row[] | undefined;
  hasMore(): boolean;
  more(): Promise<void>;
  stop(): void;
}

/** A client with a cache, under which the client of the gateway is. */
export interface CachingClient {
  /** Shows the first three rows of a list, and calls `changed` whenever it changes. */
  show(list: Asked, changed: (rows: readonly Row[]) => void): ShownList;
  /** Subscribes to all updates of both families. */
  subscribe(): () => void;
  /** Creates a note; rejects if that failed. */
  createNote(title: string): Promise<unknown>;
  /** All that the cache has, as a text. */
  cached(): string;
  stop(): void;
}

const types = ['created', 'in_transit', 'out_for_delivery', 'delivery_failed', 'delivered'];
const all: Asked = { family: 'shipments', filter: {} };
const ofUps: Asked = { family: 'shipments', filter: { carrier: 'ups' } };
const lists: readonly Asked[] = [
  all,
  { family: 'shipments', filter: { stage: 'IN_TRANSIT' } },
  ofUps,
  { family: 'payments', filter: {} },
  { family: 'payments', filter: { currency: 'eur' } },
];

let emitted = 0;
async function emit(proxied: ProxiedGateway, shipment: number, type: number, age: number): Promise<void> {
  await proxied.testbed.sandbox.webhooks.emitShipment({
    id: `evt_cache_${emitted++}`,
    type: `shipment.${types[type]}`,
    created_at: new Date(Date.UTC(2030, 0, 1) + emitted * 1_000 - age * 7_000).toISOString(),
    shipment: { id: `shp_cache_${shipment}`, carrier: shipment % 2 ? 'ups' : 'dhl' },
  });
}

async function emitPayment({ testbed }: ProxiedGateway, payment: number, age: number): Promise<void> {
  await testbed.sandbox.webhooks.emitPayment({
    id: `evt_cache_${emitted++}`,
    created: Date.UTC(2030, 0, 1) / 1_000 + emitted - age * 7,
    object: { id: `pay_cache_${payment}`, currency: payment % 2 ? 'eur' : 'usd' },
  });
}

/** The gateway's own list. */
async function listed(
  { testbed, token }: ProxiedGateway,
  { family, filter }: Asked,
): Promise<readonly Row[]> {
  const { data } = await testbed.ask(
    family === 'shipments'
      ? 'query ($filter: ShipmentFilter) { shipments(filter: $filter, first: 100) { nodes { id revision } } }'
      : 'query ($filter: PaymentFilter) { payments(filter: $filter, first: 100) { nodes { id revision } } }',
    { filter },
    token,
  );
  return data[family].nodes;
}

const written = (rows: readonly Row[]) => rows.map(({ id, revision }) => `${id} ${revision}`).join();

/** Whether a list shows what the gateway's own has; all of it, if it says that there is no more. */
async function isRight(proxied: ProxiedGateway, list: ShownList, asked: Asked): Promise<string> {
  const theirs = await listed(proxied, asked);
  const shown = list.rows();
  if (!shown) return 'nothing';
  const wanted = list.hasMore() ? theirs.slice(0, shown.length) : theirs;
  return written(shown) === written(wanted) ? 'right' : `${written(shown)} instead of ${written(wanted)}`;
}

/** Shows a list as a page does; fails if a row's revision ever falls, or a row is there twice. */
function observe(client: CachingClient, asked: Asked): ShownList {
  const greatest = new Map<string, number>();
  return client.show(asked, (rows) => {
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
    for (const { id, revision } of rows) {
      expect(revision).toBeGreaterThanOrEqual(greatest.get(id) ?? 0);
      greatest.set(id, revision);
    }
  });
}

/** A `fetch` whose answers can be held back once they are there. */
interface HeldAnswers {
  readonly fetch: typeof fetch;
  hold(): void;
  /** How many answers wait. */
  held(): number;
  release(): void;
  /** Gives what lets those pass which are held until now; they stay held until it is called. */
  take(): () => void;
  /** Resolves once nothing is asked any more. */
  settled(): Promise<void>;
}

function holdAnswers(): HeldAnswers {
  const held: (() => void)[] = [];
  const asked = new Set<Promise<Response>>();
  let isHolding = false;
  async function ask(...request: Parameters<typeof fetch>): Promise<Response> {
    const response = await fetch(...request);
    const text = await response.text();
    // Where a subscription begins that covers no list, and who is signed in, is asked for at any time.
    const isAnyTime = /query (LiveCursor|Viewer)\b/.test((request[1]?.body as string | undefined) ?? '');
    if (isHolding && !isAnyTime) await new Promise<void>((pass) => held.push(pass));
    return new Response(text, response);
  }
  return {
    hold: () => void (isHolding = true),
    held: () => held.length,
    release() {
      isHolding = false;
      for (const pass of held.splice(0)) pass();
    },
    take() {
      const taken = held.splice(0);
      return () => taken.forEach((pass) => pass());
    },
    async settled() {
      while (asked.size > 0) await Promise.allSettled(asked);
    },
    fetch(...request) {
      const answer = ask(...request).finally(() => asked.delete(answer));
      asked.add(answer);
      return answer;
    },
  };
}

type Step =
  | { readonly kind: 'emit'; readonly shipment: number; readonly type: number; readonly age: number }
  | { readonly kind: 'pay'; readonly payment: number; readonly age: number }
  | { readonly kind: 'show' | 'hide' | 'more'; readonly list: number }
  | { readonly kind: 'cut' | 'hold' | 'release' | 'subscribe' | 'unsubscribe' };

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
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('pay' as const), payment: fc.nat(5), age: fc.nat(3) }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('show', 'hide', 'more'), list: fc.nat(4) }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('cut', 'hold', 'release', 'subscribe', 'unsubscribe') }),
  },
);

interface Played {
  readonly proxied: ProxiedGateway;
  readonly client: CachingClient;
  readonly holding: HeldAnswers;
}

async function play({ proxied, client, holding }: Played, steps: readonly Step[]): Promise<void> {
  const shown = lists.map(() => undefined as ShownList | undefined);
  let leave: (() => void) | undefined;
  for (const one of steps) {
    if (one.kind === 'emit') await emit(proxied, one.shipment, one.type, one.age);
    else if (one.kind === 'pay') await emitPayment(proxied, one.payment, one.age);
    else if (one.kind === 'cut') proxied.proxy.cut();
    else if (one.kind === 'hold' || one.kind === 'release') holding[one.kind]();
    else if (one.kind === 'subscribe') leave ??= client.subscribe();
    else if (one.kind === 'unsubscribe') leave = leave?.() as undefined;
    else if (one.kind === 'show') shown[one.list] ??= observe(client, lists[one.list]!);
    else if (one.kind === 'hide') shown[one.list] = shown[one.list]?.stop() as undefined;
    else if (one.kind === 'more' && shown[one.list]?.hasMore()) void shown[one.list]!.more().catch(() => {});
  }
  holding.release();
  leave ??= client.subscribe();
  for (const [index, asked] of lists.entries()) {
    shown[index] ??= observe(client, asked);
    const right = async () => {
      await holding.settled();
      const answer = await isRight(proxied, shown[index]!, asked);
      // An answer that was cut off is an error to whoever asked, who asks again.
      if (answer === 'nothing') shown[index]!.stop();
      if (answer === 'nothing') shown[index] = observe(client, asked);
      return answer;
    };
    await expect.poll(right, { timeout: 20_000, interval: 100 }).toBe('right');
  }
  leave();
  for (const list of shown) list?.stop();
}

/** A `fetch` that gives the next lists these cursors in place of their own, which are added to `own`. */
function withCursors(cursors: string[], own: string[]): typeof fetch {
  return async (...request) => {
    const response = await fetch(...request);
    const answer = (await response.json()) as { readonly data?: Record<string, unknown> };
    if (answer.data?.['liveCursor'] && answer.data['shipments']) {
      own.push(answer.data['liveCursor'] as string);
      Object.assign(answer.data, { liveCursor: cursors.shift() ?? answer.data['liveCursor'] });
    }
    return Response.json(answer, response);
  };
}

/** The same client; `told` hears the code of each subscription's failure. */
function observed(trivium: Trivium, told: (code: string) => void): Trivium {
  const subscribe: Trivium['subscribe'] = (document, variables, sink) =>
    trivium.subscribe(document, variables, {
      ...sink,
      error(failure) {
        sink.error(failure);
        told(failure.code);
      },
    });
  return Object.assign(Object.create(trivium) as Trivium, { subscribe });
}

/** One key for all gateways, so that one can read the cursors of another. */
const settings = { SECRET_KEYS: randomBytes(32).toString('base64') };

/** Runs the tests that every client with a cache has to pass. */
export function testCache(create: (trivium: Trivium) => CachingClient): void {
  const proxied = useProxiedGateway({ settings });

  test('pages, and rows change, come and take their places, also while the connection was cut', async () => {
    for (let shipment = 0; shipment < 5; shipment++) await emit(proxied, shipment, 0, 0);
    const client = create(proxied.connect());
    const list = observe(client, all);
    await expect.poll(() => list.rows()?.length).toBe(3);
    expect(list.hasMore()).toBe(true);
    await list.more();
    await expect.poll(() => list.rows()?.length).toBeGreaterThanOrEqual(5);
    const leave = client.subscribe();
    await emit(proxied, 2, 1, 0);
    await expect.poll(() => list.rows()?.[0]?.shipmentId).toBe('shp_cache_2');
    proxied.proxy.cut();
    await emit(proxied, 77, 0, 0);
    await expect.poll(() => list.rows()?.[0]?.shipmentId).toBe('shp_cache_77');
    expect(await isRight(proxied, list, all)).toBe('right');
    leave();
    list.stop();
    client.stop();
  });

  test('what happened while nobody was subscribed is caught up with, and nothing else is told again', async () => {
    const client = create(proxied.connect());
    let changes = 0;
    const list = client.show(all, () => changes++);
    await expect.poll(() => list.rows()?.length).toBe(3);
    client.subscribe()();
    await emit(proxied, 3, 2, 0);
    const before = changes;
    const leave = client.subscribe();
    await expect.poll(() => isRight(proxied, list, all)).toBe('right');
    expect(changes - before).toBeLessThanOrEqual(2);
    leave();
    list.stop();
    client.stop();
  });

  test('an answer that comes late misses nothing that happened meanwhile', async () => {
    for (let shipment = 0; shipment < 3; shipment++) await emit(proxied, shipment, 0, 0);
    const holding = holdAnswers();
    const client = create(proxied.connect({ fetch: holding.fetch }));
    const list = observe(client, all);
    await expect.poll(() => list.rows()?.length).toBe(3);
    const leave = client.subscribe();
    await emit(proxied, 1, 1, 0);
    await expect.poll(() => list.rows()?.[0]?.shipmentId).toBe('shp_cache_1');
    holding.hold();
    const byCarrier = observe(client, ofUps);
    await expect.poll(holding.held).toBe(1);
    await emit(proxied, 93, 0, 0);
    await expect.poll(() => list.rows()?.[0]?.shipmentId).toBe('shp_cache_93');
    holding.release();
    await expect.poll(() => isRight(proxied, byCarrier, ofUps)).toBe('right');
    leave();
    for (const one of [list, byCarrier]) one.stop();
    client.stop();
  });

  test('a page that comes late misses nothing that belongs on it', async () => {
    const holding = holdAnswers();
    for (let shipment = 0; shipment < 6; shipment++) await emit(proxied, shipment, 0, 0);
    const client = create(proxied.connect({ fetch: holding.fetch }));
    const leave = client.subscribe();
    const [list, other] = [observe(client, all), observe(client, ofUps)];
    await expect.poll(() => [list, other].map((one) => one.rows()?.length)).toEqual([3, 3]);
    holding.hold();
    const more = list.more();
    await expect.poll(holding.held).toBe(1);
    await emit(proxied, 95, 0, 0.6); // between two rows of the second page
    await emit(proxied, 97, 0, 0);
    await expect.poll(() => other.rows()?.[0]?.shipmentId).toBe('shp_cache_97');
    holding.release();
    await more;
    await expect.poll(() => isRight(proxied, list, all)).toBe('right');
    leave();
    for (const one of [list, other]) one.stop();
    client.stop();
  });

  test('lists whose cursor is of another log are asked for again', async () => {
    const another = await startTestbed({ settings });
    await another.sandbox.webhooks.emitShipment();
    const { data } = await another.ask('{ liveCursor }', {}, await another.signIn());
    await another.stop();
    const own: string[] = [];
    const client = create(proxied.connect({ fetch: withCursors([data.liveCursor, data.liveCursor], own) }));
    const [list, byCarrier] = [observe(client, all), observe(client, ofUps)];
    await expect.poll(() => [list, byCarrier].every((one) => one.rows())).toBe(true);
    const leave = client.subscribe();
    await expect.poll(() => own.length).toBeGreaterThanOrEqual(4);
    await emit(proxied, 99, 0, 0);
    for (const [one, asked] of [
      [list, all],
      [byCarrier, ofUps],
    ] as const)
      await expect.poll(() => isRight(proxied, one, asked)).toBe('right');
    expect(list.rows()?.[0]?.shipmentId).toBe('shp_cache_99');
    leave();
    for (const one of [list, byCarrier]) one.stop();
    client.stop();
  });

  test('what is mounted twice, as in StrictMode, is shown as if it was mounted once, and leaves nothing behind', async () => {
    const trivium = proxied.connect();
    const active = new Set<object>();
    const subscribe: Trivium['subscribe'] = (document, variables, sink) => {
      const leave = trivium.subscribe(document, variables, sink);
      active.add(leave);
      return () => {
        active.delete(leave);
        leave();
      };
    };
    const client = create(Object.assign(Object.create(trivium) as Trivium, { subscribe }));
    observe(client, all).stop();
    client.subscribe()();
    const list = observe(client, all);
    const leave = client.subscribe();
    await expect.poll(() => isRight(proxied, list, all)).toBe('right');
    await emit(proxied, 96, 0, 0);
    await expect.poll(() => list.rows()?.[0]?.shipmentId).toBe('shp_cache_96');
    expect(await isRight(proxied, list, all)).toBe('right');
    leave();
    list.stop();
    expect(active.size).toBe(0);
    client.stop();
  });

  test('what one person asked or wrote ends with an error once another is signed in, and is not kept', async () => {
    const holding = holdAnswers();
    const token = await proxied.testbed.signIn();
    const trivium = proxied.connect({ token, fetch: holding.fetch });
    await trivium.refresh();
    const client = create(trivium);
    holding.hold();
    const list = client.show(all, () => {});
    const creating = client.createNote('Of the first person').catch(String);
    await expect.poll(holding.held).toBe(2);
    const late = holding.take();
    holding.release();
    await trivium.signIn('other@example.com', demo.password);
    expect(trivium.session.viewer?.email).toBe('other@example.com');
    late();
    expect(await creating).toMatch(/session changed/);
    list.stop();
    await holding.settled();
    expect(client.cached()).not.toMatch(/Of the first person|shp_cache/);
    client.stop();
  });

  test('a cache learns whose it is, and is not kept when that session ends elsewhere', async () => {
    const token = await proxied.testbed.signIn();
    const trivium = proxied.connect({ token });
    const client = create(trivium);
    await emit(proxied, 0, 0, 0);
    const list = client.show(all, () => {});
    await expect.poll(client.cached).toMatch(/shp_cache/);
    await expect.poll(() => trivium.session.viewer?.email).toBe('demo@example.com');
    list.stop();
    await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, token);
    await trivium.refresh();
    await expect.poll(client.cached).not.toMatch(/shp_cache/);
    client.stop();
  });

  test('a subscription that stays mounted keeps lists live once the same person signs in again', async () => {
    const token = await proxied.testbed.signIn();
    const trivium = proxied.connect({ token });
    await trivium.refresh();
    const refused: string[] = [];
    const client = create(observed(trivium, (code) => refused.push(code)));
    const leave = client.subscribe();
    await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, token);
    await trivium.refresh();
    await expect.poll(() => refused).toEqual(['UNAUTHENTICATED', 'UNAUTHENTICATED']);
    await trivium.signIn(demo.email, demo.password);
    const list = observe(client, all);
    await expect.poll(() => list.rows()).toBeDefined();
    await emit(proxied, 98, 0, 0);
    await expect.poll(() => list.rows()?.[0]?.shipmentId).toBe('shp_cache_98');
    leave();
    list.stop();
    client.stop();
  });

  test('a subscription that stays mounted keeps lists live once somebody with the grant signs in', async () => {
    const token = await proxied.testbed.signIn({ ...demo, email: 'other@example.com' });
    const trivium = proxied.connect({ token });
    await trivium.refresh();
    const refused: string[] = [];
    const client = create(observed(trivium, (code) => refused.push(code)));
    const leave = client.subscribe();
    await expect.poll(() => refused).toEqual(['FORBIDDEN', 'FORBIDDEN']);
    await trivium.signIn(demo.email, demo.password);
    const list = observe(client, all);
    await expect.poll(() => list.rows()).toBeDefined();
    await emit(proxied, 96, 0, 0);
    await expect.poll(() => list.rows()?.[0]?.shipmentId).toBe('shp_cache_96');
    leave();
    list.stop();
    client.stop();
  });

  test("random events, lists, pages and cuts: at rest each list is the gateway's own, and no revision ever fell", async () => {
    for (let shipment = 0; shipment < 8; shipment++) await emit(proxied, shipment, 0, 0);
    for (let payment = 0; payment < 6; payment++) await emitPayment(proxied, payment, 0);
    const seed = Number(process.env['SEED'] ?? 34);
    const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const holding = holdAnswers();
      const client = create(proxied.connect({ fetch: holding.fetch }));
      await play({ proxied, client, holding }, steps).finally(() => client.stop());
    });
    const played = fc.assert(property, {
      seed,
      numRuns: Number(process.env['RUNS'] ?? 6),
      endOnFailure: true,
    });
    await expect(played).resolves.toBeUndefined();
  });
}
