import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../../src/graphql/caller.js';
import { systemClock } from '../../../src/lib/clock.js';
import { createSecrets, type Secrets } from '../../../src/events/secrets/secrets.js';
import type { PaymentUpdateFilter } from '../../../src/generated/resolvers.js';
import { createPaymentsClient, type PaymentsClient } from '../../../src/domains/payments/service/client.js';
import {
  paymentNodes,
  paymentsResolvers,
  type PaymentsContext,
} from '../../../src/domains/payments/resolvers.js';
import { createPayments } from '../../../src/domains/payments/family.js';
import { toGlobalId } from '../../../src/graphql/global-id.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import { Reads } from '../../../src/store/sql/read-budget.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { createTestFile } from '../../support/sqlite.js';
import { deliveryOf } from '../../support/events.js';
import { callerWith, createTestClient, openLogAndFeed, type Answer } from '../../support/live.js';
import { paymentEvent } from './events.js';

const { ask, follow, refusal } = createTestClient(paymentsResolvers);
const reader = callerWith(['PAYMENTS_READ']);

const history = [
  paymentEvent({ eventId: 'e1', paymentId: 'a', created: 1_700_000_001, amount: 100, currency: 'eur' }),
  paymentEvent({ eventId: 'e2', paymentId: 'b', created: 1_700_000_002, livemode: false }),
  paymentEvent({ eventId: 'e3', paymentId: 'a', created: 1_700_000_004, type: 'payment.refunded' }),
  paymentEvent({ eventId: 'e4', paymentId: 'a', created: 1_700_000_003, status: 'late', data: { any: [1] } }),
];

/** Events without `livemode`: one of a payment that is known to be live, one of an unknown payment. */
const withoutLivemode = [
  paymentEvent({ eventId: 's1', paymentId: 'a', created: 1_700_000_004, type: 'silent', livemode: null }),
  paymentEvent({ eventId: 's2', paymentId: 'c', created: 1_700_000_000, type: 'silent', livemode: null }),
];

const now = Date.parse('2026-01-01T00:00:00Z');
const rotated: string[] = [];
const service = createServer(({ url = '' }, response) => {
  rotated.push(url);
  response.writeHead(url.includes('gone') ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ secret: 'the new secret' }));
});

let live: Awaited<ReturnType<typeof openLogAndFeed>>;
let webhookSecrets: Secrets;
let paymentsClient: PaymentsClient;
let contextOf: (caller: Caller | null) => PaymentsContext;

beforeAll(async () => {
  live = await openLogAndFeed(await createTestFile());
  const { database, feed, cursors, log } = live;
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  const telemetry = createTelemetry('silent');
  paymentsClient = createPaymentsClient({ baseUrl, telemetry, clock: systemClock });
  webhookSecrets = await createSecrets({
    database,
    sealer: createSealer([randomBytes(32)]),
    clock: { now: () => now },
    telemetry,
    families: [
      { name: 'shipments', rotates: false },
      { name: 'payments', rotates: true },
    ],
    configured: {
      shipments: new Map([['shipments', 'old']]),
      payments: new Map(['here', 'gone'].map((id) => [id, 'the old secret'])),
    },
  });
  const paymentsOf = createPayments({ database });
  const signal = new LightAbortController();
  contextOf = (caller) => ({
    caller,
    signal,
    payments: paymentsOf(new Reads(signal)),
    paymentsClient,
    webhookSecrets,
    feed,
    cursors,
  });
  for (const event of history) await log.append(deliveryOf(event, event.paymentId));
});
afterAll(async () => {
  await webhookSecrets.stop();
  await paymentsClient.stop();
  service.close();
  await live.stop();
});

const rotate = /* GraphQL */ `
  mutation ($endpointId: String!) {
    rotatePaymentWebhookSecret(input: { endpointId: $endpointId }) {
      endpointId
      rotatedAt
      previousSecretValidUntil
      errors {
        code
        message
        path
      }
    }
  }
`;

describe('the grant', () => {
  it('is required for the queries', async () => {
    for (const source of ['{ payments { nodes { id } } }', '{ payment(paymentId: "a") { id } }']) {
      expect(await ask(contextOf(null), source)).toMatchObject({ codes: ['UNAUTHENTICATED'] });
      expect(await ask(contextOf(callerWith(['SHIPMENTS_READ'])), source)).toMatchObject({
        codes: ['FORBIDDEN'],
      });
      expect(await ask(contextOf(reader), source)).not.toHaveProperty('codes');
    }
  });

  it('is required to subscribe, and checked before the cursor', async () => {
    const source = 'subscription { paymentUpdates(after: "nonsense") { cursor } }';
    expect(await refusal(contextOf(null), source)).toEqual({ codes: ['UNAUTHENTICATED'] });
    expect(await refusal(contextOf(callerWith([])), source)).toEqual({ codes: ['FORBIDDEN'] });
    expect(await refusal(contextOf(reader), source)).toEqual({ codes: ['CURSOR_INVALID'] });
  });

  it('is required through node, which returns null without it', async () => {
    expect(await paymentNodes.Payment('a', contextOf(reader))).toMatchObject({ paymentId: 'a' });
    expect(await paymentNodes.PaymentEvent('e3', contextOf(reader))).toMatchObject(history[2]!);
    for (const load of Object.values(paymentNodes)) {
      expect(await load('none', contextOf(reader))).toBeNull();
      expect(await load('a', contextOf(callerWith([])))).toBeNull();
      expect(await load('e3', contextOf(null))).toBeNull();
    }
  });

  it('for rotations is a separate one, checked before anything else', async () => {
    const asked = rotated.length;
    const variables = { endpointId: 'here' };
    expect(await ask(contextOf(null), rotate, variables)).toMatchObject({ codes: ['UNAUTHENTICATED'] });
    expect(await ask(contextOf(reader), rotate, variables)).toMatchObject({ codes: ['FORBIDDEN'] });
    expect(rotated).toHaveLength(asked);
  });
});

describe('payments', () => {
  it('are listed latest activity first, with their global ids and events', async () => {
    const source = /* GraphQL */ `
      query ($filter: PaymentFilter) {
        payments(first: 1, filter: $filter) {
          nodes {
            id
            amount
            currency
            status
            livemode
            updatedAt
            events(last: 3) {
              nodes {
                id
                created
                data
              }
            }
          }
          pageInfo {
            hasNextPage
          }
        }
      }
    `;
    expect(await ask(contextOf(reader), source)).toEqual({
      data: {
        payments: {
          nodes: [
            {
              id: toGlobalId('Payment', 'a'),
              amount: 100,
              currency: 'eur',
              status: 'late',
              livemode: true,
              updatedAt: '2023-11-14T22:13:24.000Z',
              events: {
                nodes: [
                  { id: toGlobalId('PaymentEvent', 'e4'), created: 1_700_000_003, data: { any: [1] } },
                  { id: toGlobalId('PaymentEvent', 'e3'), created: 1_700_000_004, data: null },
                  { id: toGlobalId('PaymentEvent', 'e1'), created: 1_700_000_001, data: null },
                ],
              },
            },
          ],
          pageInfo: { hasNextPage: true },
        },
      },
    });
    expect(await ask(contextOf(reader), source, { filter: { livemode: false } })).toMatchObject({
      data: { payments: { nodes: [{ id: toGlobalId('Payment', 'b') }], pageInfo: { hasNextPage: false } } },
    });
  });

  it('have cursors that are valid only for the same caller, connection and filter', async () => {
    const source = 'query ($after: String) { payments(first: 1, after: $after) { pageInfo { endCursor } } }';
    const { data } = await ask(contextOf(reader), source);
    const after = (data as { payments: { pageInfo: { endCursor: string } } }).payments.pageInfo.endCursor;
    expect(await ask(contextOf(reader), source, { after })).not.toHaveProperty('codes');
    const another = contextOf(callerWith(['PAYMENTS_READ'], 'usr_2'));
    expect(await ask(another, source, { after })).toMatchObject({ codes: ['CURSOR_INVALID'] });
    const filtered = source.replace('first: 1', 'first: 1, filter: { livemode: true }');
    expect(await ask(contextOf(reader), filtered, { after })).toMatchObject({ codes: ['CURSOR_INVALID'] });
  });
});

describe('paymentUpdates', () => {
  const source = /* GraphQL */ `
    subscription ($filter: PaymentUpdateFilter, $after: String) {
      paymentUpdates(filter: $filter, after: $after) {
        cursor
        replayed
        event {
          eventId
        }
        payment {
          paymentId
          status
          updatedAt
        }
      }
    }
  `;

  const livemodeUpdates = /* GraphQL */ `
    subscription ($filter: PaymentUpdateFilter, $after: String) {
      paymentUpdates(filter: $filter, after: $after) {
        event {
          eventId
          livemode
        }
        payment {
          livemode
        }
      }
    }
  `;

  interface Message {
    readonly paymentUpdates: { readonly event: { readonly eventId: string } };
  }

  async function nextUpdate(updates: AsyncIterator<Answer>) {
    const { value } = await updates.next();
    return ((value as Answer).data as Message).paymentUpdates;
  }

  const begin = (filter: PaymentUpdateFilter) =>
    follow(contextOf(reader), source, { filter, after: live.feed.cursor({ seq: 0, witness: '' }) });

  it.each<[string, PaymentUpdateFilter, readonly string[]]>([
    [
      'null, which matches everything',
      { paymentIds: null, types: null, livemode: null },
      ['e1', 'e2', 'e3', 'e4'],
    ],
    ['the event’s payment', { paymentIds: ['b'] }, ['e2']],
    ['the event’s type', { types: ['payment.refunded', 'other'] }, ['e3']],
    ['the event’s livemode', { livemode: false }, ['e2']],
    [
      'several conditions, which must all match',
      { livemode: true, types: ['payment.succeeded'] },
      ['e1', 'e4'],
    ],
    ['an empty list, which matches nothing', { types: [] }, []],
  ])('filter by %s', async (_, filter, expected) => {
    const subscription = await begin(filter);
    const ids = [];
    while (ids.length < expected.length) ids.push((await nextUpdate(subscription)).event.eventId);
    expect(ids).toEqual(expected);
    const beyond = subscription.next();
    const everything = await begin({});
    for (const { eventId } of history)
      expect(await nextUpdate(everything)).toMatchObject({ event: { eventId } });
    expect(await Promise.race([beyond, setImmediate('nothing')])).toBe('nothing');
    for (const updates of [subscription, everything]) await updates.return?.();
    expect(await beyond).toEqual({ done: true, value: undefined });
  });

  it.each(['paymentIds', 'types'])('refuse a filter of more than 1,000 %s', async (name) => {
    const filter = (count: number) => ({ [name]: Array.from({ length: count }, (_, at) => `${at}`) });
    const refused = await refusal(contextOf(reader), source, { filter: filter(1_001) });
    expect(refused).toEqual({ codes: ['BAD_USER_INPUT'] });
    await (await begin(filter(1_000))).return?.();
  });

  it('filter and show an event without livemode by the livemode of its payment', async () => {
    const place = live.feed.cursor(live.feed.position());
    for (const event of withoutLivemode) await live.log.append(deliveryOf(event, event.paymentId));
    for (const [livemode, eventId] of [
      [true, 's1'],
      [false, 's2'],
    ] as const) {
      const subscription = await follow(contextOf(reader), livemodeUpdates, {
        filter: { livemode },
        after: place,
      });
      expect(await nextUpdate(subscription)).toEqual({ event: { eventId, livemode }, payment: { livemode } });
      expect(await paymentNodes.PaymentEvent(eventId, contextOf(reader))).toMatchObject({ livemode });
      await subscription.return?.();
    }
    const shown = '{ payment(paymentId: "a") { livemode events(first: 1) { nodes { eventId livemode } } } }';
    expect(await ask(contextOf(reader), shown)).toEqual({
      data: { payment: { livemode: true, events: { nodes: [{ eventId: 's1', livemode: true }] } } },
    });
    const filtered = '{ payments(filter: { livemode: false }) { nodes { paymentId } } }';
    expect(await ask(contextOf(reader), filtered)).toEqual({
      data: { payments: { nodes: [{ paymentId: 'b' }, { paymentId: 'c' }] } },
    });
  });

  it('show the payment as it was just after each event; a late one does not move it back', async () => {
    const cursorAt = async (seq: number) => live.feed.cursor((await live.log.position(seq))!);
    const subscription = await begin({ paymentIds: ['a'] });
    const updates = [
      await nextUpdate(subscription),
      await nextUpdate(subscription),
      await nextUpdate(subscription),
    ];
    await subscription.return?.();
    const updatedAt = '2023-11-14T22:13:24.000Z';
    expect(updates).toMatchObject([
      { cursor: await cursorAt(1), replayed: true, payment: { paymentId: 'a', status: null } },
      { cursor: await cursorAt(3), payment: { status: null, updatedAt } },
      { cursor: await cursorAt(4), payment: { status: 'late', updatedAt } },
    ]);
  });
});

describe('rotatePaymentWebhookSecret', () => {
  const operator = callerWith(['WEBHOOKS_ROTATE']);

  it('takes the new secret into use, and returns until when the old one is valid but no secret', async () => {
    const answer = await ask(contextOf(operator), rotate, { endpointId: 'here' });
    expect(answer).toEqual({
      data: {
        rotatePaymentWebhookSecret: {
          endpointId: 'here',
          rotatedAt: '2026-01-01T00:00:00.000Z',
          previousSecretValidUntil: '2026-01-02T00:00:00.000Z',
          errors: [],
        },
      },
    });
    expect(webhookSecrets.valid({ family: 'payments', endpointId: 'here' })).toEqual([
      'the new secret',
      'the old secret',
    ]);
  });

  it.each([
    ['is not configured, without a call to the service', 'unknown', 0, 'There is no such payment'],
    ['belongs to shipments', 'shipments', 0, 'There is no such payment'],
    ['the service does not know', 'gone', 1, 'The payment service does not know this'],
  ])('returns NOT_FOUND for an endpoint that %s', async (_, endpointId, asked, words) => {
    const before = rotated.length;
    expect(await ask(contextOf(operator), rotate, { endpointId })).toEqual({
      data: {
        rotatePaymentWebhookSecret: {
          endpointId: null,
          rotatedAt: null,
          previousSecretValidUntil: null,
          errors: [{ code: 'NOT_FOUND', message: `${words} webhook endpoint.`, path: ['endpointId'] }],
        },
      },
    });
    expect(rotated).toHaveLength(before + asked);
  });
});
