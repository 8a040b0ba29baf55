import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../../src/graphql/caller.js';
import type { ShipmentUpdateFilter } from '../../../src/generated/resolvers.js';
import { toGlobalId } from '../../../src/graphql/global-id.js';
import {
  shipmentNodes,
  shipmentsResolvers,
  type ShipmentsContext,
} from '../../../src/domains/shipments/resolvers.js';
import { createShipments } from '../../../src/domains/shipments/family.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { createTestFile } from '../../support/sqlite.js';
import { deliveryOf, skippedDelivery } from '../../support/events.js';
import { callerWith, createTestClient, openLogAndFeed, type Answer } from '../../support/live.js';
import { shipmentEvent } from './events.js';

const { ask, follow, refusal } = createTestClient(shipmentsResolvers);
const reader = callerWith(['SHIPMENTS_READ']);

const history = [
  shipmentEvent({ eventId: 'e1', shipmentId: 'a', carrier: 'DHL', occurredAt: '2026-01-01T00:00:00Z' }),
  shipmentEvent({ eventId: 'e2', shipmentId: 'b', carrier: 'UPS', occurredAt: '2026-01-02T00:00:00Z' }),
  shipmentEvent({ eventId: 'e3', shipmentId: 'a', stage: 'DELIVERED', occurredAt: '2026-01-03T00:00:00Z' }),
  shipmentEvent({ eventId: 'e4', shipmentId: 'a', stage: 'IN_TRANSIT', occurredAt: '2026-01-02T00:00:00Z' }),
  shipmentEvent({ eventId: 'e5', shipmentId: 'c', occurredAt: '2026-01-01T12:00:00Z' }),
];

let live: Awaited<ReturnType<typeof openLogAndFeed>>;
let contextOf: (caller: Caller | null) => ShipmentsContext;

beforeAll(async () => {
  live = await openLogAndFeed(await createTestFile());
  const { database, feed, cursors, log } = live;
  const shipmentsOf = createShipments({ database });
  const signal = new LightAbortController();
  contextOf = (caller) => ({ caller, signal, shipments: shipmentsOf(new Reads(signal)), feed, cursors });
  for (const event of history) await log.append(deliveryOf(event, event.shipmentId));
  await log.append(skippedDelivery(shipmentEvent()));
});
afterAll(() => live.stop());

describe('the grant', () => {
  const operations = ['{ shipments { nodes { id } } }', '{ shipment(shipmentId: "a") { id } }'];

  it.each(operations)('is required for %s', async (source) => {
    expect(await ask(contextOf(null), source)).toMatchObject({ codes: ['UNAUTHENTICATED'] });
    expect(await ask(contextOf(callerWith(['PAYMENTS_READ'])), source)).toMatchObject({
      codes: ['FORBIDDEN'],
    });
    expect(await ask(contextOf(reader), source)).not.toHaveProperty('codes');
  });

  it('is required to subscribe, and checked before the cursor', async () => {
    const source = 'subscription { shipmentUpdates(after: "nonsense") { cursor } }';
    expect(await refusal(contextOf(null), source)).toEqual({ codes: ['UNAUTHENTICATED'] });
    expect(await refusal(contextOf(callerWith([])), source)).toEqual({ codes: ['FORBIDDEN'] });
    expect(await refusal(contextOf(reader), source)).toEqual({ codes: ['CURSOR_INVALID'] });
  });

  it('is required through node, which returns null without it', async () => {
    expect(await shipmentNodes.Shipment('a', contextOf(reader))).toMatchObject({ shipmentId: 'a' });
    expect(await shipmentNodes.ShipmentEvent('e3', contextOf(reader))).toMatchObject(history[2]!);
    for (const load of Object.values(shipmentNodes)) {
      expect(await load('none', contextOf(reader))).toBeNull();
      expect(await load('a', contextOf(callerWith([])))).toBeNull();
      expect(await load('e3', contextOf(null))).toBeNull();
    }
  });
});

describe('shipments', () => {
  const page = /* GraphQL */ `
    query ($first: Int, $after: String, $last: Int, $before: String, $filter: ShipmentFilter) {
      shipments(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
        edges {
          cursor
          node {
            shipmentId
          }
        }
        pageInfo {
          hasNextPage
          hasPreviousPage
          startCursor
          endCursor
        }
      }
    }
  `;

  interface Page {
    readonly shipments: {
      readonly edges: readonly { readonly cursor: string; readonly node: { readonly shipmentId: string } }[];
      readonly pageInfo: { readonly hasNextPage: boolean; readonly hasPreviousPage: boolean };
    };
  }

  async function read(variables: Record<string, unknown>) {
    const { data } = await ask(contextOf(reader), page, variables);
    const { edges, pageInfo } = (data as Page).shipments;
    return { edges, pageInfo, ids: edges.map(({ node }) => node.shipmentId) };
  }

  it('are listed latest activity first, page by page in both directions', async () => {
    const first = await read({ first: 2 });
    expect(first.ids).toEqual(['a', 'b']);
    expect(first.pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: false,
      startCursor: first.edges[0]!.cursor,
      endCursor: first.edges[1]!.cursor,
    });
    const second = await read({ first: 2, after: first.edges[1]!.cursor });
    expect(second.ids).toEqual(['c']);
    expect(second.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    expect((await read({ last: 1, before: second.edges[0]!.cursor })).ids).toEqual(['b']);
    expect((await read({ last: 2 })).ids).toEqual(['b', 'c']);
  });

  it('have cursors that are valid only for the same caller, connection and filter', async () => {
    const { edges } = await read({ filter: { carrier: 'DHL' } });
    const after = edges[0]!.cursor;
    expect((await read({ filter: { carrier: 'DHL', stage: null }, after })).ids).toEqual([]);
    const refused = { data: null, codes: ['CURSOR_INVALID'] };
    const filter = { carrier: 'DHL' };
    expect(await ask(contextOf(reader), page, { after })).toEqual(refused);
    expect(
      await ask(contextOf(reader), page, { filter, after: live.feed.cursor(live.feed.position()) }),
    ).toEqual(refused);
    const another = callerWith(['SHIPMENTS_READ'], 'usr_2');
    expect(await ask(contextOf(another), page, { filter, after })).toEqual(refused);
  });

  it('have a global id and their events, newest in the log first', async () => {
    const source = /* GraphQL */ `
      query ($after: String) {
        shipment(shipmentId: "a") {
          id
          stage
          updatedAt
          carrier
          events(first: 2, after: $after) {
            nodes {
              id
              stage
              occurredAt
            }
            pageInfo {
              hasNextPage
              endCursor
            }
          }
        }
      }
    `;
    const { data } = await ask(contextOf(reader), source);
    const pageInfo = { hasNextPage: true, endCursor: expect.any(String) as string };
    expect(data).toMatchObject({
      shipment: {
        id: toGlobalId('Shipment', 'a'),
        stage: 'DELIVERED',
        updatedAt: '2026-01-03T00:00:00Z',
        carrier: 'DHL',
        events: {
          nodes: [
            {
              id: toGlobalId('ShipmentEvent', 'e4'),
              stage: 'IN_TRANSIT',
              occurredAt: '2026-01-02T00:00:00Z',
            },
            { id: toGlobalId('ShipmentEvent', 'e3'), stage: 'DELIVERED', occurredAt: '2026-01-03T00:00:00Z' },
          ],
          pageInfo,
        },
      },
    });
    const { endCursor } = (data as { shipment: { events: { pageInfo: typeof pageInfo } } }).shipment.events
      .pageInfo;
    expect(await ask(contextOf(reader), source, { after: endCursor })).toMatchObject({
      data: { shipment: { events: { nodes: [{ stage: 'CREATED' }], pageInfo: { hasNextPage: false } } } },
    });
  });

  it('are null if no event has mentioned them', async () => {
    const answer = await ask(contextOf(reader), '{ shipment(shipmentId: "none") { id } }');
    expect(answer).toEqual({ data: { shipment: null } });
  });
});

describe('shipmentUpdates', () => {
  const source = /* GraphQL */ `
    subscription ($filter: ShipmentUpdateFilter, $after: String) {
      shipmentUpdates(filter: $filter, after: $after) {
        cursor
        replayed
        event {
          eventId
        }
        shipment {
          shipmentId
          stage
          carrier
        }
      }
    }
  `;

  const begin = (variables: { filter?: ShipmentUpdateFilter; after?: string }) =>
    follow(contextOf(reader), source, variables);

  interface Message {
    readonly shipmentUpdates: { readonly event: { readonly eventId: string } };
  }

  async function nextUpdate(updates: AsyncIterator<Answer>) {
    const { value } = await updates.next();
    return ((value as Answer).data as Message).shipmentUpdates;
  }

  it('replay the log in order, each event with the shipment as it was just after it', async () => {
    const subscription = await begin({ after: live.feed.cursor({ seq: 0, witness: '' }) });
    const messages = [];
    for (const seq of [1, 2, 3, 4, 5]) {
      const update = await nextUpdate(subscription);
      expect(update).toMatchObject({
        cursor: live.feed.cursor((await live.log.position(seq))!),
        replayed: true,
      });
      messages.push(update);
    }
    await subscription.return?.();
    expect(messages).toMatchObject([
      { event: { eventId: 'e1' }, shipment: { shipmentId: 'a', stage: 'CREATED', carrier: 'DHL' } },
      { event: { eventId: 'e2' }, shipment: { shipmentId: 'b', stage: 'CREATED', carrier: 'UPS' } },
      { event: { eventId: 'e3' }, shipment: { shipmentId: 'a', stage: 'DELIVERED', carrier: 'DHL' } },
      { event: { eventId: 'e4' }, shipment: { shipmentId: 'a', stage: 'DELIVERED', carrier: 'DHL' } },
      { event: { eventId: 'e5' }, shipment: { shipmentId: 'c', stage: 'CREATED', carrier: null } },
    ]);
  });

  it.each<[string, ShipmentUpdateFilter, readonly string[]]>([
    [
      'null, which matches everything',
      { shipmentIds: null, stages: null, carriers: null },
      ['e1', 'e2', 'e3', 'e4', 'e5'],
    ],
    ['the event’s shipment', { shipmentIds: ['b', 'c'] }, ['e2', 'e5']],
    ['the event’s stage, not the shipment’s', { stages: ['IN_TRANSIT'] }, ['e4']],
    ['the event’s carrier, else the shipment’s', { carriers: ['DHL'] }, ['e1', 'e3', 'e4']],
    ['several conditions, which must all match', { carriers: ['DHL'], stages: ['DELIVERED'] }, ['e3']],
    ['an empty list, which matches nothing', { shipmentIds: [] }, []],
  ])('filter by %s', async (_, filter, expected) => {
    const subscription = await begin({ filter, after: live.feed.cursor({ seq: 0, witness: '' }) });
    const ids = [];
    while (ids.length < expected.length) ids.push((await nextUpdate(subscription)).event.eventId);
    expect(ids).toEqual(expected);
    const beyond = subscription.next();
    const everything = await begin({ after: live.feed.cursor({ seq: 0, witness: '' }) });
    for (const { eventId } of history)
      expect(await nextUpdate(everything)).toMatchObject({ event: { eventId } });
    expect(await Promise.race([beyond, setImmediate('nothing')])).toBe('nothing');
    for (const updates of [subscription, everything]) await updates.return?.();
    expect(await beyond).toEqual({ done: true, value: undefined });
  });

  it.each(['shipmentIds', 'stages', 'carriers'])('refuse a filter of more than 1,000 %s', async (name) => {
    const filter = (count: number) => ({
      filter: { [name]: Array.from({ length: count }, () => 'CREATED') },
    });
    expect(await refusal(contextOf(reader), source, filter(1_001))).toEqual({ codes: ['BAD_USER_INPUT'] });
    await (await begin(filter(1_000))).return?.();
  });

  it('begin at the end of the log without `after`, and deliver events as they arrive', async () => {
    const subscription = await begin({ filter: { shipmentIds: ['live'] } });
    const update = nextUpdate(subscription);
    const event = shipmentEvent({ shipmentId: 'live' });
    await live.log.append(deliveryOf(event, 'live'));
    expect(await update).toMatchObject({ replayed: false, event: { eventId: event.eventId } });
    await subscription.return?.();
  });

  it('end at once when the client leaves while no events arrive', async () => {
    const subscription = await begin({});
    const pending = subscription.next();
    await subscription.return?.();
    expect(await pending).toEqual({ done: true, value: undefined });
  });
});
