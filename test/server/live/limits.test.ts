import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openProxy } from '../../client/proxy.js';
import { scrape } from '../../support/metrics.js';
import { codesOf, startTestbed, type Testbed } from '../../support/testbed.js';
import { deepFragments, excessiveVariables } from '../documents.js';
import { transports, type Live, type OpenLive } from './transports.js';

const somebody = { email: 'somebody@example.com', password: 'word' };
const shipmentUpdates = `subscription ($filter: ShipmentUpdateFilter) {
  shipmentUpdates(filter: $filter) { event { eventId } } }`;
const paymentUpdates = `subscription ($after: String) {
  paymentUpdates(after: $after) { cursor event { eventId data } } }`;

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  testbed.sandbox.notes.addUser({ ...somebody, name: 'Somebody' });
  testbed.gateway.regrant(
    new Map([
      ['demo@example.com', ['SHIPMENTS_READ', 'PAYMENTS_READ']],
      [somebody.email, ['SHIPMENTS_READ']],
    ]),
  );
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

const subscriptions = () => scrape(testbed.telemetry.metrics, 'trivium_subscriptions');
const sentLive = () => scrape(testbed.telemetry.metrics, 'trivium_updates_total{kind="live"}');
const update = { data: { shipmentUpdates: { event: { eventId: expect.any(String) as string } } } };
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

/** Subscriptions of a user over one transport, which are left when the test is finished. */
class Held {
  readonly lives: Live[] = [];
  readonly #open: OpenLive;
  readonly #session: string;

  constructor(open: OpenLive, session = token) {
    this.#open = open;
    this.#session = session;
    onTestFinished(() => this.leave());
  }

  /** Opens one more: what it hears of an event, or how it ends. */
  async hears(query: string, variables: object, emit: () => Promise<unknown>): Promise<unknown> {
    const live = await this.#open(testbed.url, this.#session, query, variables);
    this.lives.push(live);
    await emit();
    return Promise.race([live.ended, live.next().catch(() => live.ended)]);
  }

  /** Opens one for each of these variables, and waits until nothing is still on its way. */
  async open(query: string, all: readonly object[]): Promise<void> {
    for (let from = 0; from < all.length; from += 50)
      this.lives.push(
        ...(await Promise.all(
          all
            .slice(from, from + 50)
            .map((variables) => this.#open(testbed.url, this.#session, query, variables)),
        )),
      );
  }

  leave(): void {
    for (const live of this.lives.splice(0)) live.leave();
  }
}

describe.each(transports)('over %s', (_, open) => {
  test('the subscriptions of a user share a limit of 64 MiB with those over all transports', async () => {
    await expect.poll(subscriptions).toBe(0);
    const held = new Held(open);
    const filterOf = (at: number) => ({ filter: { shipmentIds: numbers(1_000).map((id) => `${at} ${id}`) } });
    const emit = (at: number) => () =>
      testbed.sandbox.webhooks.emitShipment({ shipment: { id: `${at} 999` } });
    await held.open(shipmentUpdates, numbers(250).map(filterOf));
    await expect.poll(subscriptions).toBeGreaterThan(150);
    expect(await subscriptions()).toBeLessThan(250);
    for (const [, other] of transports)
      expect([{ codes: ['RATE_LIMITED'] }, 'cut']).toContainEqual(
        await new Held(other).hears(shipmentUpdates, filterOf(300), emit(300)),
      );
    // An equal subscription takes little more memory, and other users have a limit of their own.
    expect(await new Held(open).hears(shipmentUpdates, filterOf(0), emit(0))).toEqual(update);
    const others = new Held(open, await testbed.signIn(somebody));
    expect(await others.hears(shipmentUpdates, filterOf(300), emit(300))).toEqual(update);
    held.leave();
    await expect.poll(() => new Held(open).hears(shipmentUpdates, filterOf(300), emit(300))).toEqual(update);
  }, 60_000);

  test('the subscriptions of a user share a limit of 100,000 fields rendered for an event', async () => {
    await expect.poll(subscriptions).toBe(0);
    const held = new Held(open);
    const fields = numbers(900).map((at) => `a${at}: stage`);
    const large = `subscription ($x: String!) { shipmentUpdates(filter: { carriers: ["any", $x] }) { event { ${fields.join(' ')} } } }`;
    await held.open(
      large,
      numbers(120).map((at) => ({ x: `${at}` })),
    );
    await expect.poll(subscriptions).toBeGreaterThan(100);
    expect(await subscriptions()).toBeLessThan(120);
    held.leave();
    await expect.poll(subscriptions).toBe(0);
    // Variables that the operation does not declare mean nothing.
    await held.open(
      large,
      numbers(120).map((at) => ({ x: 'same', y: at })),
    );
    await expect.poll(subscriptions).toBe(120);
  }, 60_000);

  test.each(deepFragments)('%s is refused with %s', async (__, code, query) => {
    for (const text of [query, `subscription ${query.replaceAll('Query', 'Subscription')}`])
      expect(await (await open(testbed.url, token, text)).ended).toEqual({ codes: [code] });
  });

  test('who stops reading keeps nobody waiting, is cut off, and resumes without a loss', async () => {
    await expect.poll(subscriptions).toBe(0);
    const proxy = await openProxy(testbed.url);
    onTestFinished(() => proxy.stop());
    const [slow, quick] = [
      await open(proxy.url, token, paymentUpdates),
      await open(testbed.url, token, paymentUpdates),
    ];
    onTestFinished(() => [slow, quick].forEach((live) => live.leave()));
    const emit = () =>
      testbed.sandbox.webhooks.emitPayment({ object: { id: 'pay', padding: 'x'.repeat(600_000) } });
    const take = async (live: Live) => (await live.next()).data.paymentUpdates;
    await expect.poll(subscriptions).toBe(2);
    await emit();
    const first = await take(slow);
    expect(await take(quick)).toEqual(first);
    proxy.mute();
    const sent: string[] = [];
    // Some 4 MiB are in the buffers of the system and of the proxy, and 1 MiB waits.
    while (sent.length < 24) {
      sent.push((await emit()).eventId);
      expect((await take(quick)).event.eventId).toBe(sent.at(-1));
    }
    // The gateway sends no more than to the one who reads.
    const before = await sentLive();
    sent.push((await emit()).eventId);
    expect((await take(quick)).event.eventId).toBe(sent.at(-1));
    expect(await sentLive()).toBe(before + 1);
    proxy.cut();
    expect(await slow.ended).toBe('cut');
    const resumed = await open(testbed.url, token, paymentUpdates, { after: first.cursor });
    for (const eventId of sent) expect((await take(resumed)).event.eventId).toBe(eventId);
    resumed.leave();
  }, 60_000);
});

describe.each([
  ['/graphql/stream', '*/*'],
  ['/graphql', 'text/event-stream'],
  ['/graphql', 'multipart/mixed;boundary="graphql";subscriptionSpec=1.0'],
])('a stream at %s, %s', (path, accept) => {
  test.each(excessiveVariables)('refuses %s in the variables', async (_, query, variables) => {
    const response = await fetch(`${testbed.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, authorization: `Bearer ${token}` },
      body: `{"query":${JSON.stringify(query)},"variables":${variables}}`,
    });
    expect([response.status, codesOf((await response.json()) as never)]).toEqual([
      400,
      ['QUERY_TOO_COMPLEX'],
    ]);
  });
});
