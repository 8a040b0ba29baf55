import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { engines } from '../support/engines.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { shipmentUpdates, subscribe, type Subscriber } from './subscriber.js';

const dayMs = 86_400_000;
const shipmentId = 'shp_kept';
const paymentId = 'pay_kept';

describe.each(engines)('after EVENT_RETENTION_DAYS on %s', (_, freshUrl) => {
  let sandbox: Sandbox;
  let testbed: Testbed;
  let settings: Record<string, string>;
  let open: Subscriber[];

  beforeEach(async () => {
    open = [];
    sandbox = await startSandbox();
    settings = {
      DATABASE_URL: await freshUrl(),
      SECRET_KEYS: randomBytes(32).toString('base64'),
      EVENT_RETENTION_DAYS: '30',
    };
    testbed = await startTestbed({ sandbox, settings });
  });
  afterEach(async () => {
    for (const subscriber of open) subscriber.close();
    await testbed.stop();
    await sandbox.stop();
  });

  /** Lets days pass, and restarts the gateway, which deletes old events when it starts. */
  async function restartAfter(days: number): Promise<void> {
    await sandbox.clock.advance(days * dayMs);
    await testbed.stop();
    testbed = await startTestbed({ sandbox, settings });
  }

  async function ship(type: string): Promise<string> {
    const tracking = type === 'shipment.created' ? 'TRACK-1' : undefined;
    const shipment = { id: shipmentId, tracking_number: tracking };
    const { eventId, state } = await sandbox.webhooks.emitShipment({ type, shipment });
    expect(state).toBe('acknowledged');
    return eventId;
  }

  async function pay(): Promise<string> {
    return (await sandbox.webhooks.emitPayment({ object: { id: paymentId } })).eventId;
  }

  const query = `query ($shipmentId: String!, $paymentId: String!) { liveCursor
    shipment(shipmentId: $shipmentId) { stage trackingNumber events(first: 9) { nodes { id eventId } } }
    payment(paymentId: $paymentId) { status events(first: 9) { nodes { id eventId } } } }`;

  /** What queries return now, in a new session each time, since a session ends within a day. */
  async function look() {
    const { data } = await testbed.ask(query, { shipmentId, paymentId }, await testbed.signIn());
    const idsOf = (entity: { events: { nodes: { eventId: string }[] } } | null) =>
      entity?.events.nodes.map(({ eventId }) => eventId).toSorted();
    return { ...data, shipped: idsOf(data.shipment), paid: idsOf(data.payment) };
  }

  const shipped = async () => (await look()).shipped;

  async function follow(after?: string): Promise<Subscriber> {
    const asked = { query: shipmentUpdates, variables: { after } };
    const subscriber = await subscribe(testbed.url, await testbed.signIn(), asked);
    open.push(subscriber);
    return subscriber;
  }

  test('removes events from connections, nodes and the log', async () => {
    const start = (await look()).liveCursor;
    const live = await follow(start);
    const [payment, first] = [await pay(), await ship('shipment.created')];
    await expect.poll(() => live.got).toEqual([first]);
    const before = await look();
    expect([before.shipped, before.paid]).toEqual([[first], [payment]]);
    await restartAfter(20);
    const second = await ship('shipment.in_transit');
    expect(await shipped()).toEqual([first, second].toSorted());
    await restartAfter(15);
    await expect.poll(shipped).toEqual([second]);

    const gone = [before.shipment.events.nodes[0].id, before.payment.events.nodes[0].id];
    const { data } = await testbed.ask(
      'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
      { ids: gone },
      await testbed.signIn(),
    );
    expect(data.nodes).toEqual([null, null]);
    const expired = await follow(start);
    await expect.poll(() => expired.got.join()).toContain('CURSOR_EXPIRED');
    const resumed = await follow(live.cursor());
    await expect.poll(() => resumed.got).toEqual([second]);
  });

  test('keeps the state of entities and the ids of events', async () => {
    const [first, payment] = [await ship('shipment.created'), await pay()];
    await restartAfter(40);
    await expect.poll(shipped).toEqual([]);
    const { shipment, payment: paid } = await look();
    expect(shipment).toMatchObject({ stage: 'CREATED', trackingNumber: 'TRACK-1' });
    expect(paid).toMatchObject({ status: 'succeeded' });

    const live = await follow((await look()).liveCursor);
    expect((await sandbox.webhooks.replay(first, 'sub_demo')).state).toBe('acknowledged');
    expect((await sandbox.webhooks.replay(payment, 'pe_demo')).state).toBe('acknowledged');
    const second = await ship('shipment.in_transit');
    await expect.poll(() => live.got).toEqual([second]);
    expect(await look()).toMatchObject({
      shipment: { stage: 'IN_TRANSIT', trackingNumber: 'TRACK-1' },
      shipped: [second],
      paid: [],
    });
  });
});
