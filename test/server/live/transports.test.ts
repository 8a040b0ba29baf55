import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allGrants, demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { transports, type Live } from './transports.js';

const nobody = { email: 'nobody@example.com', password: 'word' };
const shipmentUpdates = `subscription ($after: String, $filter: ShipmentUpdateFilter) {
  shipmentUpdates(after: $after, filter: $filter) { cursor replayed event { eventId } shipment { revision } } }`;
const paymentUpdates = `subscription ($after: String) { paymentUpdates(after: $after) { cursor event { eventId } } }`;

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed({ settings: { GRANTS: JSON.stringify({ [demo.email]: allGrants }) } });
  testbed.sandbox.notes.addUser({ ...nobody, name: 'Nobody' });
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

interface Update {
  readonly cursor: string;
  readonly replayed: boolean;
  readonly event: { readonly eventId: string };
}

async function take(live: Live, count: number): Promise<readonly Update[]> {
  const updates: Update[] = [];
  while (updates.length < count) {
    const { data } = await live.next();
    updates.push(data.shipmentUpdates ?? data.paymentUpdates);
  }
  return updates;
}

const idsOf = (updates: readonly Update[]) => updates.map(({ event }) => event.eventId);
const liveCursor = async () => (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor as string;
const send = async (shipmentId = 'shp') => {
  const { eventId } = await testbed.sandbox.webhooks.emitShipment({ shipment: { id: shipmentId } });
  return eventId;
};
const subscriptions = async () =>
  /^trivium_subscriptions (\d+)$/m.exec(await (await fetch(`${testbed.url}/metrics`)).text())?.[1];

describe.each(transports)('over %s', (_, openLive) => {
  const open = (query: string, variables?: object, session = token) =>
    openLive(testbed.url, session, query, variables);

  test('a query is answered', async () => {
    const live = await open('query ($all: Boolean = true) { viewer { email @include(if: $all) } }');
    expect(await live.next()).toEqual({ data: { viewer: { email: demo.email } } });
    expect(await live.ended).toBe('complete');
  });

  test.each([
    ['a mutation', 'mutation { signOut { signedOut } }', 'BAD_USER_INPUT'],
    ['a syntax error', '{', 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', '{ nothing }', 'GRAPHQL_VALIDATION_FAILED'],
    [
      'what asks for too much',
      '{ shipments(first: 100) { nodes { events(first: 100) { nodes { id stage status carrier eventId } } } } }',
      'QUERY_TOO_COMPLEX',
    ],
    ['a cursor that is none', 'subscription { shipmentUpdates(after: "x") { cursor } }', 'CURSOR_INVALID'],
    [
      'a null where only a default may stand',
      'subscription ($x: Boolean = true) { shipmentUpdates { cursor event @include(if: $x) { id } } }',
      'BAD_USER_INPUT',
      { x: null },
    ],
  ])('%s is refused', async (__, query, code, variables?: object) => {
    const live = await open(query, variables);
    expect(await live.ended).toEqual({ codes: [code] });
  });

  test('a subscription needs its grant', async () => {
    const session = await testbed.signIn(nobody);
    const live = await open(shipmentUpdates, {}, session);
    expect(await live.ended).toEqual({ codes: ['FORBIDDEN'] });
  });

  test('missed events are replayed, then come live ones', async () => {
    const after = await liveCursor();
    const missed = [await send(), await send()];
    const live = await open(shipmentUpdates, { after });
    const replayed = await take(live, 2);
    const next = await send();
    const updates = [...replayed, ...(await take(live, 1))];
    expect(idsOf(updates)).toEqual([...missed, next]);
    expect(updates.map((update) => update.replayed)).toEqual([true, true, false]);
    live.leave();
  });

  test('resuming while events arrive loses none, and repeats none', async () => {
    const sent: string[] = [];
    const got: Update[] = [];
    let after = await liveCursor();
    for (let round = 0; round < 5; round += 1) {
      const live = await open(shipmentUpdates, { after });
      const sending = Promise.all([send(), send(), send()]);
      got.push(...(await take(live, 2)));
      live.leave();
      sent.push(...(await sending));
      after = got.at(-1)!.cursor;
    }
    const live = await open(shipmentUpdates, { after });
    got.push(...(await take(live, sent.length - got.length)));
    live.leave();
    expect(idsOf(got).toSorted()).toEqual(sent.toSorted());
  });

  test('a filter selects, and a cursor is good for either subscription', async () => {
    const after = await liveCursor();
    const live = await open(shipmentUpdates, { after, filter: { shipmentIds: ['wanted'] } });
    await send('other');
    const wanted = await send('wanted');
    const [update] = await take(live, 1);
    expect(update!.event.eventId).toBe(wanted);
    live.leave();
    const payments = await open(paymentUpdates, { after: update!.cursor });
    const { eventId } = await testbed.sandbox.webhooks.emitPayment();
    expect(idsOf(await take(payments, 1))).toEqual([eventId]);
    payments.leave();
  });

  test('long data of a payment comes as it was sent, live, replayed and by a query', async () => {
    const after = await liveCursor();
    const query = `subscription ($after: String) {
      paymentUpdates(after: $after) { event { id data again: data } replayed } }`;
    const following = await open(query, { after });
    const object = { id: 'pay_long', note: '"ü" 😀'.repeat(20_000), parts: [{}, [], null, 1.5] };
    const { eventId } = await testbed.sandbox.webhooks.emitPayment({ object });
    const { event, replayed } = (await following.next()).data.paymentUpdates;
    // A difference would be printed in full.
    const sent = { ...event.data.object, ...object };
    expect(isDeepStrictEqual([event.data, event.again], [{ object: sent }, { object: sent }])).toBe(true);
    following.leave();
    const resumed = await open(query, { after });
    const again = { event, replayed: !replayed };
    expect(isDeepStrictEqual((await resumed.next()).data.paymentUpdates, again)).toBe(true);
    resumed.leave();
    const asked = await open('query ($id: ID!) { node(id: $id) { ... on PaymentEvent { eventId data } } }', {
      id: event.id,
    });
    const node = { eventId, data: event.data };
    expect(isDeepStrictEqual(await asked.next(), { data: { node } })).toBe(true);
    expect(await asked.ended).toBe('complete');
  });

  test('signing out ends a subscription, and that of no other session', async () => {
    const ending = await testbed.signIn();
    const [live, other] = [await open(shipmentUpdates, {}, ending), await open(shipmentUpdates)];
    const first = await send();
    expect(idsOf(await take(live, 1))).toEqual([first]);
    await testbed.ask('mutation { signOut { signedOut } }', {}, ending);
    expect(['complete', 'cut']).toContain(await live.ended);
    const later = await send();
    expect(idsOf(await take(other, 2))).toEqual([first, later]);
    other.leave();
  });

  test.each([
    [
      'the notes service rejects the token of its session',
      (session: string) => {
        testbed.sandbox.notes.revokeTokens();
        return testbed.ask('{ tags { nodes { name } } }', {}, session);
      },
    ],
    ['its session expires', () => testbed.sandbox.clock.advance(24 * 60 * 60 * 1000)],
    ['its user has fewer grants', () => testbed.gateway.regrant(new Map())],
  ])('a subscription ends when %s', async (__, act) => {
    const session = await testbed.signIn();
    const live = await open(shipmentUpdates, {}, session);
    await send();
    await take(live, 1);
    await act(session);
    expect(['complete', 'cut']).toContain(await live.ended);
    testbed.gateway.regrant(new Map([[demo.email, ['SHIPMENTS_READ', 'PAYMENTS_READ']]]));
    token = await testbed.signIn();
  });

  test('nothing is left of a subscription that its client leaves', async () => {
    await expect.poll(subscriptions).toBe('0');
    const live = await open(shipmentUpdates);
    await expect.poll(subscriptions).toBe('1');
    live.leave();
    await expect.poll(subscriptions).toBe('0');
  });
});

test('every transport gets the same bytes of an event', async () => {
  const after = await liveCursor();
  const all = await Promise.all(
    transports.map(([, openLive]) => openLive(testbed.url, token, shipmentUpdates, { after })),
  );
  await send();
  const results = await Promise.all(all.map((live) => live.next()));
  expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
  all.forEach((live) => live.leave());
});

test('a gateway that stops cuts subscriptions on every transport, and completes none', async () => {
  const own = await startTestbed({ sandbox: testbed.sandbox });
  testbed.sandbox.deliverTo(testbed.url);
  const session = await own.signIn();
  const all = await Promise.all(
    transports.map(([, openLive]) => openLive(own.url, session, shipmentUpdates)),
  );
  await own.stop();
  expect(await Promise.all(all.map(({ ended }) => ended))).toEqual(all.map(() => 'cut'));
});
