import { randomBytes } from 'node:crypto';
import type { Client } from 'graphql-ws';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Delivery } from '../../src/sandbox/delivery.js';
import type { Sandbox } from '../../src/sandbox/sandbox.js';
import { engines } from '../support/engines.js';
import { type Testbed, startTestbed } from '../support/testbed.js';

/** An event to send: the status of its entity, its time, and optionally one more value. */
interface EventToSend {
  readonly id: string;
  readonly status: string;
  readonly time: string;
  readonly also?: string | undefined;
}

const timeOf = (minute: string) => new Date(Date.UTC(2026, 0, 1, 0, Number(minute))).toISOString();

interface Family {
  send(sandbox: Sandbox, entity: string, event: EventToSend): Promise<Delivery>;
  /** The fields of an entity with this status. */
  readonly fieldsOf: (status: string) => object;
  readonly updates: string;
  readonly one: string;
  readonly all: string;
}

/** Both families, with the same field names for their entities. */
const families: Readonly<Record<string, Family>> = {
  shipments: {
    send: ({ webhooks }, entity, { id, status, time, also }) =>
      webhooks.emitShipment({
        id,
        type: `shipment.${status}`,
        created_at: time,
        shipment: { id: entity, status, carrier: also },
      }),
    fieldsOf: (status) => ({ status, stage: status.toUpperCase() }),
    updates: `subscription ($after: String) { update: shipmentUpdates(after: $after) {
      replayed event { eventId } entity: shipment { id: shipmentId status stage also: carrier updatedAt revision } } }`,
    one: `query ($id: String!) { entity: shipment(shipmentId: $id) {
      id: shipmentId status stage also: carrier updatedAt revision events { nodes { eventId } } } }`,
    all: '{ entities: shipments(first: 100) { nodes { id: shipmentId updatedAt revision } } }',
  },
  payments: {
    send: ({ webhooks }, entity, { id, status, time, also }) =>
      webhooks.emitPayment({
        id,
        created: Date.parse(time) / 1000,
        object: { id: entity, status, currency: also },
      }),
    fieldsOf: (status) => ({ status }),
    updates: `subscription ($after: String) { update: paymentUpdates(after: $after) {
      replayed event { eventId } entity: payment { id: paymentId status also: currency updatedAt revision } } }`,
    one: `query ($id: String!) { entity: payment(paymentId: $id) {
      id: paymentId status also: currency updatedAt revision events { nodes { eventId } } } }`,
    all: '{ entities: payments(first: 100) { nodes { id: paymentId updatedAt revision } } }',
  },
};

interface Entity {
  readonly id: string;
  readonly updatedAt: string;
  readonly revision: number;
}

interface Update {
  readonly replayed: boolean;
  readonly event: { readonly eventId: string };
  readonly entity: Entity;
}

/**
 * The deliveries, each as `id status minute also`, and the entity after each event that is not a duplicate, as
 * `status minute also`.
 */
type Case = readonly [name: string, arrivals: readonly string[], after: readonly string[]];

const cases: readonly Case[] = [
  [
    'in order',
    ['1 created 1 x', '2 in_transit 2', '3 delivered 3 y'],
    ['created 1 x', 'in_transit 2 x', 'delivered 3 y'],
  ],
  [
    'late',
    ['1 created 1', '3 delivered 3 y', '2 in_transit 2 x'],
    ['created 1', 'delivered 3 y', 'delivered 3 y'],
  ],
  [
    'late, with a value that no newer event has set',
    ['3 delivered 3', '1 created 1 x', '2 in_transit 2 y', '0 created 0 z'],
    ['delivered 3', 'delivered 3 x', 'delivered 3 y', 'delivered 3 y'],
  ],
  [
    'repeatedly, at once and after newer ones',
    ['1 created 1', '1 created 1', '2 in_transit 2', '1 created 1', '3 delivered 3', '2 in_transit 2'],
    ['created 1', 'in_transit 2', 'delivered 3'],
  ],
  [
    'with gaps, in between and at first',
    ['2 in_transit 2', '5 delivered 5'],
    ['in_transit 2', 'delivered 5'],
  ],
  [
    'in reverse',
    ['4 delivered 4', '3 out_for_delivery 3', '2 in_transit 2', '1 created 1'],
    ['delivered 4', 'delivered 4', 'delivered 4', 'delivered 4'],
  ],
  [
    'with the same time and state: the later in the log wins',
    ['1 in_transit 2 x', '2 in_transit 2 y'],
    ['in_transit 2 x', 'in_transit 2 y'],
  ],
];

const withOneTime = ['1 out_for_delivery 2 x', '2 delivered 2 y', '3 created 2 z', '4 delivery_failed 2'];

/** Of shipment events with the same time, the later stage wins; payments have no stages. */
const casesOf: Readonly<Record<string, readonly Case[]>> = {
  shipments: [
    ...cases,
    [
      'with the same time: the later stage wins',
      withOneTime,
      ['out_for_delivery 2 x', 'delivered 2 y', 'delivered 2 y', 'delivered 2 y'],
    ],
  ],
  payments: [
    ...cases,
    [
      'with the same time: the later in the log wins',
      withOneTime,
      ['out_for_delivery 2 x', 'delivered 2 y', 'created 2 z', 'delivery_failed 2 z'],
    ],
  ],
};

describe.each(engines)('the order of events on %s', (_, freshUrl) => {
  let testbed: Testbed;
  let token: string;
  let client: Client;

  beforeAll(async () => {
    const settings = { DATABASE_URL: await freshUrl(), SECRET_KEYS: randomBytes(32).toString('base64') };
    testbed = await startTestbed({ settings });
    token = await testbed.signIn();
    client = testbed.socket(token);
  });
  afterAll(async () => {
    await client.dispose();
    await testbed.stop();
  });

  describe.each(Object.entries(families))('%s', (name, { send, fieldsOf, updates, one, all }) => {
    let made = 0;

    /** Sends events of an entity one after the other, expects each to be acknowledged, and returns their ids. */
    async function sendAll(entity: string, arrivals: readonly string[]): Promise<readonly string[]> {
      const ids = [];
      for (const arrival of arrivals) {
        const [id = '', status = '', minute = '', also] = arrival.split(' ');
        const event = { id: `${entity} ${id}`, status, time: timeOf(minute), also };
        expect(await send(testbed.sandbox, entity, event)).toMatchObject({ state: 'acknowledged' });
        ids.push(event.id);
      }
      return ids;
    }

    /** Collects the updates after this cursor as they arrive. */
    function follow(after: string) {
      const got: Update[] = [];
      const following = client.iterate<{ update: Update }>({ query: updates, variables: { after } });
      void (async () => {
        for await (const { data } of following) got.push(data!.update);
      })();
      return {
        async until(entity: string): Promise<readonly Update[]> {
          await expect.poll(() => got.at(-1)?.entity.id, { timeout: 10_000 }).toBe(entity);
          return got;
        },
        stop: () => following.return!(),
      };
    }

    test.each(casesOf[name]!)('converges when events arrive %s', async (__, arrivals, expected) => {
      const entity = `${name} ${(made += 1)}`;
      const [begin, end] = [`${entity} begin`, `${entity} end`];
      const { data: place } = await testbed.ask('{ liveCursor }', {}, token);
      const live = follow(place.liveCursor as string);
      await sendAll(begin, ['0 created 0']);
      await live.until(begin);
      const sent = await sendAll(entity, arrivals);
      await sendAll(end, ['0 created 0']);

      const delivered = [...new Set(sent)];
      const after = expected.map((known, at) => {
        const [status = '', minute = '', also = null] = known.split(' ');
        const updatedAt = timeOf(minute);
        return {
          event: { eventId: delivered[at] },
          entity: { id: entity, ...fieldsOf(status), also, updatedAt },
        };
      });
      const expectedUpdates = (replayed: boolean) =>
        after.map(({ event, entity: state }, at) => ({
          replayed,
          event,
          entity: { ...state, revision: revisions[at] },
        }));
      const got = (await live.until(end)).slice(1, -1);
      const revisions = got.map(({ entity: { revision } }) => revision);
      expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
      expect(got).toEqual(expectedUpdates(false));
      const again = follow(place.liveCursor as string);
      expect((await again.until(end)).slice(1, -1)).toEqual(expectedUpdates(true));
      await Promise.all([live.stop(), again.stop()]);
      const { data } = await testbed.ask(one, { id: entity }, token);
      const nodes = delivered.toReversed().map((eventId) => ({ eventId }));
      const revision = revisions.at(-1);
      expect(data.entity).toEqual({ ...after.at(-1)!.entity, revision, events: { nodes } });
      const listed = (await testbed.ask(all, {}, token)).data.entities.nodes as Entity[];
      expect(listed).toContainEqual({ id: entity, updatedAt: after.at(-1)!.entity.updatedAt, revision });
    });

    test('lists entities by the time of their newest event, latest first', async () => {
      const { data } = await testbed.ask(all, {}, token);
      const times = (data.entities.nodes as Entity[]).map(({ updatedAt }) => updatedAt);
      expect(times.length).toBeGreaterThan(made);
      expect(times).toEqual(times.toSorted().toReversed());
    });
  });
});
