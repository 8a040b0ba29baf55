import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { scrape } from '../support/metrics.js';
import { allGrants, demo, startTestbed, type Testbed } from '../support/testbed.js';
import { paymentUpdates, shipmentUpdates, subscribe, subscribeMany, type Asked } from './subscriber.js';

/** How many events were rendered for each group, in the order in which the groups were created. */
const executions = vi.hoisted(() => new Map<string, number>());
const total = () => [...executions.values()].reduce((sum, count) => sum + count, 0);

// Replaces nothing, and counts each rendering.
vi.mock(import('../../src/events/feed/multicast.js'), async (load) => {
  const { Multicast, ...real } = await load();
  return {
    ...real,
    Multicast: class extends Multicast {
      override join(...[key, rendering, member]: Parameters<InstanceType<typeof Multicast>['join']>) {
        executions.set(key, executions.get(key) ?? 0);
        const run: typeof rendering.run = (shown) => {
          executions.set(key, executions.get(key)! + 1);
          return rendering.run(shown);
        };
        return super.join(key, { ...rendering, run }, member);
      }
    },
  };
});

const other = { email: 'other@example.com', password: 'word' };

let testbed: Testbed;
let token: string;
let otherToken: string;
const open: { close(): void }[] = [];

beforeAll(async () => {
  const grants = { [demo.email]: allGrants, [other.email]: allGrants };
  testbed = await startTestbed({ settings: { GRANTS: JSON.stringify(grants) } });
  testbed.sandbox.notes.addUser({ ...other, name: 'Other' });
  token = await testbed.signIn();
  otherToken = await testbed.signIn(other);
});
afterAll(() => testbed.stop());
beforeEach(() => executions.clear());
afterEach(async () => {
  for (const subscriber of open.splice(0)) subscriber.close();
});

async function follow(asked: Asked, session = token) {
  const subscriber = await subscribe(testbed.url, session, asked);
  open.push(subscriber);
  return subscriber;
}

/** Sends an event and returns its id. */
async function ship(): Promise<string> {
  const { eventId, state } = await testbed.sandbox.webhooks.emitShipment();
  expect(state).toBe('acknowledged');
  return eventId;
}

const liveCursor = async () => (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor as string;

/** Opens these subscriptions, sends one event, and returns how many executions it took for all to get it. */
async function executionsFor(subscriptions: readonly (readonly [asked: Asked, session?: string])[]) {
  const subscribers = await Promise.all(subscriptions.map(([asked, session]) => follow(asked, session)));
  const id = await ship();
  for (const { got } of subscribers) await expect.poll(() => got).toEqual([id]);
  return total();
}

describe('equal subscriptions', () => {
  test('share one execution per event on 500 sockets', async () => {
    const subscribers = await subscribeMany(500, () => follow({ query: shipmentUpdates }));
    const ids = [await ship(), await ship(), await ship()];
    for (const { got } of subscribers) await expect.poll(() => got).toEqual(ids);
    expect(total()).toBe(3);
  });

  test('share one execution per event between users', async () => {
    expect(
      await executionsFor([[{ query: shipmentUpdates }], [{ query: shipmentUpdates }, otherToken]]),
    ).toBe(1);
  });

  test('share one execution per event if variables are in another order, at any depth', async () => {
    const query = `subscription ($filter: ShipmentUpdateFilter, $also: Boolean!) {
      updates: shipmentUpdates(filter: $filter) { cursor event { eventId type @include(if: $also) } } }`;
    const filter = { stages: ['CREATED'], carriers: ['Swift Parcel'] };
    const turned = { carriers: ['Swift Parcel'], stages: ['CREATED'] };
    expect(
      await executionsFor([
        [{ query, variables: { filter, also: true } }],
        [{ query, variables: { also: true, filter: turned } }],
      ]),
    ).toBe(1);
  });

  test.each(['after', 'cursor'])(
    'share one execution per event wherever they begin, by a variable named $%s',
    async (name) => {
      const query = `subscription ($${name}: String) { updates: shipmentUpdates(after: $${name}) {
      cursor event { eventId } } }`;
      const early = await liveCursor();
      const first = await ship();
      const late = await follow({ query, variables: { [name]: await liveCursor() } });
      const resumed = await follow({ query, variables: { [name]: early } });
      const fresh = await follow({ query });
      await expect.poll(() => resumed.got).toEqual([first]);
      expect(total()).toBe(1);
      const second = await ship();
      for (const { got } of [late, fresh]) await expect.poll(() => got).toEqual([second]);
      await expect.poll(() => resumed.got).toEqual([first, second]);
      expect(total()).toBe(2);
      expect(executions.size).toBe(1);
    },
  );
});

describe('different subscriptions', () => {
  const twice = `${shipmentUpdates} `;
  const named = `subscription One { updates: shipmentUpdates { cursor event { eventId } } }
    subscription Two { updates: shipmentUpdates { cursor event { eventId } } }`;
  const all = { stages: null };

  test.each<readonly [about: string, one: Asked, other: Asked]>([
    ['another document', { query: shipmentUpdates }, { query: twice }],
    ['another operation', { query: named, operationName: 'One' }, { query: named, operationName: 'Two' }],
    ['other variables', { query: shipmentUpdates }, { query: shipmentUpdates, variables: { filter: all } }],
  ])('share no execution with %s', async (_, one, two) => {
    expect(await executionsFor([[one], [one], [two]])).toBe(2);
  });

  test('share no execution with another filter, even in a variable named `after`', async () => {
    const query = `subscription ($after: [String!]) {
      updates: shipmentUpdates(filter: { carriers: $after }) { cursor event { eventId } } }`;
    const mine = await follow({ query, variables: { after: ['Swift Parcel'] } });
    const others = await follow({ query, variables: { after: ['Blue Van'] } });
    const id = await ship();
    await expect.poll(() => mine.got).toEqual([id]);
    expect(others.got).toEqual([]);
    expect(executions.size).toBe(2);
  });

  test('share no execution with another filter, even in the variable that gives the place', async () => {
    const query = `subscription ($after: String!) {
      updates: shipmentUpdates(after: $after, filter: { carriers: [$after] }) { cursor event { eventId } } }`;
    const early = await liveCursor();
    const live = await follow({ query: shipmentUpdates });
    await ship();
    await expect.poll(() => live.got.length).toBe(1);
    for (const after of [early, live.cursor()]) await follow({ query, variables: { after } });
    await expect.poll(() => executions.size).toBe(3);
  });

  test('share no execution with another user if the document reads for the caller', async () => {
    const query = `subscription { updates: shipmentUpdates { cursor event { eventId }
      shipment { ...More } } } fragment More on Shipment { events(first: 1) { nodes { eventId } } }`;
    const subscriptions = [[{ query }], [{ query }], [{ query }, otherToken]] as const;
    expect(await executionsFor(subscriptions)).toBe(2);
  });
});

describe('a group', () => {
  test('dissolves with its last subscription, whether completed or closed', async () => {
    const query = `${shipmentUpdates} # of this test`;
    const [completed, closed] = [await follow({ query }), await follow({ query })];
    await ship();
    expect(executions.size).toBe(1);
    completed.complete();
    closed.close();
    await closed.closed;
    const before = total();
    await ship();
    const later = await follow({ query });
    const id = await ship();
    await expect.poll(() => later.got).toEqual([id]);
    expect(total()).toBe(before + 1);
  });
});

test('an event that cannot be read for a while is delivered once it can be', async () => {
  const query = `subscription ($after: String) { updates: shipmentUpdates(after: $after) { cursor event { eventId }
    shipment { events(last: 1) { nodes { eventId } } } } }`;
  const { emitShipment } = testbed.sandbox.webhooks;
  const shipment = { id: 'shp_kept' };
  const ids = ['evt_kept_2', 'evt_kept_3'];
  const live = await follow({ query });
  await emitShipment({ id: 'evt_kept_1', shipment });
  await expect.poll(() => live.got).toEqual(['evt_kept_1']);
  const after = live.cursor();
  const plain = await follow({ query: shipmentUpdates });
  const database = new DatabaseSync(join(testbed.folder, 'gateway.db'));
  const keep = database.prepare("UPDATE events SET event = ? WHERE event_id = 'evt_kept_1'");
  const { event } = database.prepare("SELECT event FROM events WHERE event_id = 'evt_kept_1'").get() as {
    event: string;
  };
  try {
    keep.run('{');
    for (const id of ids) await emitShipment({ id, shipment });
    const resumed = await follow({ query, variables: { after } }, otherToken);
    await expect.poll(() => plain.got).toEqual(ids);
    await expect.poll(total).toBeGreaterThan(5);
    expect([live.got, resumed.got]).toEqual([['evt_kept_1'], []]);
    keep.run(event);
    await expect.poll(() => resumed.got, { timeout: 10_000 }).toEqual(ids);
    await expect.poll(() => live.got, { timeout: 10_000 }).toEqual(['evt_kept_1', ...ids]);
  } finally {
    keep.run(event);
    database.close();
  }
});

describe('a slow socket', () => {
  const padding = 'x'.repeat(400_000);
  let number = 0;

  /** Sends a large payment event and returns its id. */
  async function pay(): Promise<string> {
    const id = `evt_large_${++number}`;
    const object = { id: 'pay_large', amount: 1, currency: 'eur', status: 'succeeded', padding };
    const created = Math.floor(testbed.sandbox.clock.now() / 1000);
    const event = { id, type: 'payment.succeeded', created, livemode: false, data: { object } };
    await testbed.sandbox.webhooks.sendBody('pe_demo', JSON.stringify(event), { eventId: id });
    return id;
  }

  test('is closed with 4290 while the others get everything in time, and resumes without a loss', async () => {
    const quick = await follow({ query: paymentUpdates });
    const slow = await follow({ query: paymentUpdates });
    slow.pause();
    const ids: string[] = [];
    for (let at = 0; at < 50; at++) {
      ids.push(await pay());
      await expect.poll(() => quick.got.length, { interval: 2, timeout: 10_000 }).toBe(ids.length);
    }
    expect(quick.got).toEqual(ids);
    slow.resume();
    expect(await slow.closed).toBe(4290);
    expect(slow.got.length).toBeLessThan(ids.length);
    expect(slow.got).toEqual(ids.slice(0, slow.got.length));
    const again = await follow({ query: paymentUpdates, variables: { after: slow.cursor() } });
    await expect.poll(() => [...slow.got, ...again.got], { timeout: 10_000 }).toEqual(ids);
  });

  test('is not closed while it resumes, however slow it is', async () => {
    const start = await liveCursor();
    const ids: string[] = [];
    while (ids.length < 50) ids.push(await pay());
    const slow = await follow({ query: paymentUpdates, variables: { after: start } });
    slow.pause();
    ids.push(await pay());
    await new Promise((resolve) => setTimeout(resolve, 500));
    slow.resume();
    await expect.poll(() => slow.got, { timeout: 10_000 }).toEqual(ids);
  });

  test('leaves nothing in memory or in the log if it is cut off while it resumes', async () => {
    const logged = testbed.logged().length;
    const start = await liveCursor();
    for (let at = 0; at < 50; at++) await pay();
    const slow = await follow({ query: paymentUpdates, variables: { after: start } });
    slow.pause();
    await expect.poll(total).toBeGreaterThan(1);
    slow.terminate();
    await slow.closed;
    await new Promise((resolve) => setTimeout(resolve, 200));
    const before = total();
    expect(before).toBeLessThan(50);
    await pay();
    await liveCursor();
    expect(total()).toBe(before);
    expect(testbed.logged().slice(logged)).not.toContain('an operation failed');
  });

  test('is closed with 4401 at once when its session ends, even if it does not answer', async () => {
    const session = await testbed.signIn();
    const start = await liveCursor();
    for (let at = 0; at < 50; at++) await pay();
    const slow = await follow({ query: paymentUpdates, variables: { after: start } }, session);
    slow.pause();
    await expect.poll(total).toBeGreaterThan(1);
    await testbed.ask('mutation { signOut { signedOut } }', {}, session);
    const before = total();
    slow.resume();
    expect(await slow.closed).toBe(4401);
    expect(total()).toBeLessThanOrEqual(before + 1);
    expect(slow.got.length).toBeLessThan(50);
  });

  test('is not confused with one that gets a burst', async () => {
    const quick = await follow({ query: paymentUpdates });
    const ids = await Promise.all(Array.from({ length: 60 }, pay));
    await expect.poll(() => quick.got.length, { timeout: 15_000 }).toBe(60);
    expect(quick.got.toSorted()).toEqual(ids.toSorted());
  });
});

test('delivers every event, over several turns, to 1,000 subscribers', { timeout: 120_000 }, async () => {
  const child = fork(fileURLToPath(new URL('crowd.ts', import.meta.url)), [testbed.url, token, '1000'], {
    execArgv: ['--import', 'tsx'],
  });
  try {
    expect(await once(child, 'message')).toEqual(['ready', undefined]);
    // The last ones to ask may still wait for their turn.
    const begun = () => scrape(testbed.telemetry.metrics, 'trivium_subscriptions');
    await expect.poll(begun, { timeout: 30_000 }).toBe(1_000);
    const reported: unknown[] = [];
    child.on('message', (events) => reported.push(events));
    const ids = [await ship(), await ship(), await ship(), await ship(), await ship()];
    await expect.poll(() => reported.at(-1), { timeout: 30_000 }).toEqual(ids);
    expect(total()).toBe(5);
  } finally {
    child.kill();
  }
});
