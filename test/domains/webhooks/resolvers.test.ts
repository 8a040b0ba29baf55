import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { engines } from '../../support/engines.js';
import { codesOf, startTestbed, type Testbed } from '../../support/testbed.js';

const fields = `endpoint { endpointId } family eventId type entityId receivedAt outcome reason message signedAt body
  truncated`;
const pageOf = `query ($first: Int, $after: String, $last: Int, $before: String, $filter: WebhookDeliveryFilter) {
  webhookDeliveries(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
    edges { cursor node { ${fields} } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

let testbed: Testbed;
let token: string;

interface Delivery {
  readonly eventId: string | null;
  readonly outcome: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly body: string | null;
  readonly truncated: boolean;
  readonly [field: string]: unknown;
}

interface Page {
  readonly edges: readonly { readonly cursor: string; readonly node: Delivery }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly hasPreviousPage: boolean };
}

async function read(variables: object): Promise<Page> {
  const { data, errors } = await testbed.ask(pageOf, variables, token);
  expect(errors).toBeUndefined();
  return data.webhookDeliveries as Page;
}

async function newest(variables: object = { first: 1 }): Promise<readonly Delivery[]> {
  return (await read(variables)).edges.map(({ node }) => node);
}

const seconds = () => Math.floor(testbed.sandbox.clock.now() / 1000);

/** Posts a body to a subscription of the shipment service, signed as asked. */
function post(body: string | Uint8Array, headers: Record<string, string> = {}, id = 'sub_demo') {
  return fetch(`${testbed.url}/webhooks/shipments/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: body as BodyInit,
  });
}

function signed(body: string | Uint8Array, t: number | string = seconds()): Record<string, string> {
  const { secret } = testbed.sandbox.webhooks.subscriptions()[0]!;
  return { 'shipping-signature': `t=${t},v1=${createHmac('sha256', secret).update(body).digest('hex')}` };
}

const shipmentBody = (id: string, more: object = {}) =>
  JSON.stringify({
    id,
    type: 'shipment.created',
    created_at: '2026-01-01T00:00:00Z',
    data: { shipment: { id: `shp_${id}` } },
    ...more,
  });

let settings: Readonly<Record<string, string>>;

async function open(url: string): Promise<void> {
  settings = { DATABASE_URL: url, SECRET_KEYS: Buffer.alloc(32, 7).toString('base64') };
  testbed = await startTestbed({ settings });
  token = await testbed.signIn();
}

describe.each(engines)('webhook deliveries on %s', (_, createDatabase) => {
  beforeAll(async () => open(await createDatabase()));
  afterAll(async () => {
    await testbed.stop();
    await testbed.sandbox.stop();
  });

  test('shows what is stored, skipped, a duplicate and altered, newest first', async () => {
    const body = shipmentBody('one');
    const t = seconds();
    await post(body, signed(body, t));
    await post(body, signed(body));
    const altered = shipmentBody('one', { data: { shipment: { id: 'shp_other' } } });
    await post(altered, signed(altered));
    const strange = shipmentBody('two', { type: 'shipment.dreamt_of' });
    await post(strange, signed(strange));
    expect(await newest({ first: 4 })).toMatchObject([
      {
        eventId: 'two',
        type: 'shipment.dreamt_of',
        outcome: 'SKIPPED',
        reason: 'UNKNOWN_KIND',
        entityId: null,
      },
      { eventId: 'one', outcome: 'ALTERED', reason: 'BODY_DIFFERS', body: altered, entityId: 'shp_one' },
      { eventId: 'one', outcome: 'DUPLICATE', reason: 'ALREADY_STORED', body, entityId: 'shp_one' },
      {
        eventId: 'one',
        type: 'shipment.created',
        entityId: 'shp_one',
        family: 'SHIPMENTS',
        body,
        outcome: 'STORED',
        reason: null,
        message: null,
        truncated: false,
        endpoint: { endpointId: 'sub_demo' },
        signedAt: new Date(t * 1000).toISOString(),
      },
    ]);
  });

  const late = { 'shipping-signature': 't=1,v1=00' };
  const wrong = { 'shipping-signature': `t=9,v1=${'0'.repeat(64)}` };
  const refusals: readonly [string, () => Promise<unknown>, object][] = [
    [
      'no signature',
      () => post('{}'),
      { reason: 'SIGNATURE_MISSING', message: expect.stringMatching(/shipping-signature.*proxy/) },
    ],
    [
      'no time',
      () => post('{}', { 'shipping-signature': 'v1=00' }),
      { message: expect.stringMatching(/has no `t`/) },
    ],
    [
      'an old one',
      () => post('{}', late),
      { reason: 'SIGNATURE_TOO_OLD', message: expect.stringMatching(/held back/), body: '{}' },
    ],
    [
      'an old one that is genuine',
      () => post(shipmentBody('late'), signed(shipmentBody('late'), seconds() - 412)),
      {
        reason: 'SIGNATURE_TOO_OLD',
        message: expect.stringMatching(/signed 41\d s ago.*signature itself is right/),
        eventId: 'late',
      },
    ],
    [
      'one from the future',
      () => post('{}', signed('{}', seconds() + 500)),
      { reason: 'SIGNATURE_TOO_FAR_AHEAD', message: expect.stringMatching(/(500|49\d) s in the future/) },
    ],
    [
      'a wrong one',
      () =>
        post('{}', {
          ...wrong,
          'shipping-signature': wrong['shipping-signature'].replace('t=9', `t=${seconds()}`),
        }),
      {
        reason: 'SIGNATURE_WRONG',
        message: expect.stringMatching(/No secret of this endpoint/),
        eventId: null,
      },
    ],
    ['no JSON', () => post('{', signed('{')), { reason: 'BODY_NOT_JSON_OBJECT', body: '{' }],
    [
      'no UTF-8',
      () => post(Uint8Array.of(0xff, 0x41), signed(Uint8Array.of(0xff, 0x41))),
      { reason: 'BODY_NOT_UTF8', body: '\uFFFDA', truncated: false },
    ],
    [
      'another type in the header',
      () =>
        post(shipmentBody('odd'), { ...signed(shipmentBody('odd')), 'shipping-event': 'shipment.delivered' }),
      { reason: 'TYPE_MISMATCH', eventId: 'odd', type: 'shipment.created' },
    ],
    [
      'a body that is too large',
      () => post('x'.repeat(1024 * 1024 + 1)),
      { reason: 'BODY_TOO_LARGE', body: null, truncated: true },
    ],
    [
      'an unknown endpoint',
      () => post('{}', {}, 'sub_unknown'),
      {
        reason: 'ENDPOINT_UNKNOWN',
        message: expect.stringMatching(/“sub_unknown”.*SHIPMENT_WEBHOOKS/),
        endpoint: null,
      },
    ],
    [
      'a long body',
      () => post('y'.repeat(100_000)),
      { reason: 'SIGNATURE_MISSING', body: expect.stringMatching(/^y{8192}$/), truncated: true },
    ],
  ];

  test.each(refusals)('tells why it refused %s', async (_name, send, expected) => {
    await send();
    expect((await newest())[0]).toMatchObject({ outcome: 'REFUSED', ...expected });
  });

  test('pages through everything both ways, each once', async () => {
    const all = (await read({ first: 100 })).edges;
    expect(new Set(all.map(({ node }) => node.outcome)).size).toBe(5);
    const forth = [];
    for (
      let page = await read({ first: 3 });
      ;
      page = await read({ first: 3, after: forth.at(-1)!.cursor })
    ) {
      forth.push(...page.edges);
      if (!page.pageInfo.hasNextPage) break;
    }
    expect(forth).toEqual(all);
    const back = [];
    for (let page = await read({ last: 4 }); ; page = await read({ last: 4, before: back[0]!.cursor })) {
      back.unshift(...page.edges);
      if (!page.pageInfo.hasPreviousPage) break;
    }
    expect(back).toEqual(all);
  });

  test('stays at its place while more comes', async () => {
    const [first, ...others] = (await read({ first: 100 })).edges;
    await post('{}');
    await post(shipmentBody('later'), signed(shipmentBody('later')));
    expect((await read({ first: 100, after: first!.cursor })).edges).toEqual(others);
  });

  const filters: readonly [object, (delivery: Delivery) => boolean][] = [
    [{ family: 'PAYMENTS' }, ({ family }) => family === 'PAYMENTS'],
    [
      { endpointIds: ['sub_demo'] },
      ({ endpoint }) => (endpoint as { endpointId: string })?.endpointId === 'sub_demo',
    ],
    [{ endpointIds: ['sub_unknown'] }, ({ endpoint }) => endpoint === null],
    [{ outcomes: ['STORED'] }, ({ outcome }) => outcome === 'STORED'],
    [{ outcomes: ['SKIPPED', 'ALTERED'] }, ({ outcome }) => ['SKIPPED', 'ALTERED'].includes(outcome)],
    [{ outcomes: ['REFUSED', 'DUPLICATE'] }, ({ outcome }) => ['REFUSED', 'DUPLICATE'].includes(outcome)],
    [{ types: ['shipment.dreamt_of'] }, ({ type }) => type === 'shipment.dreamt_of'],
    [{ types: [] }, () => false],
    [{ outcomes: [] }, () => false],
  ];

  test.each(filters)('the filter %j shows just what it says', async (filter, isShown) => {
    await testbed.sandbox.webhooks.emitPayment();
    const all = await newest({ first: 100 });
    const shown = await newest({ first: 100, filter });
    expect(shown).toEqual(all.filter(isShown));
    expect(shown.length > 0).toBe(all.some(isShown));
  });

  test('takes a cursor with a filter that says the same', async () => {
    const { cursor } = (await read({ first: 1 })).edges[0]!;
    const after = await read({ first: 1, after: cursor });
    expect(await read({ first: 1, after: cursor, filter: {} })).toEqual(after);
    expect(await read({ first: 1, after: cursor, filter: { types: null } })).toEqual(after);
  });

  test('refuses a cursor of another filter, and lists of too many values', async () => {
    const { edges } = await read({ first: 1 });
    const other = { after: edges[0]!.cursor, filter: { family: 'PAYMENTS' } };
    expect(codesOf(await testbed.ask(pageOf, other, token))).toEqual(['CURSOR_INVALID']);
    const many = { filter: { types: Array.from({ length: 101 }, String) } };
    expect(codesOf(await testbed.ask(pageOf, many, token))).toEqual(['BAD_USER_INPUT']);
  });

  test('shows deliveries as they come, of each outcome, and filtered', async () => {
    const client = testbed.socket(token);
    const follow = (filter: object) =>
      client.iterate<{ webhookDeliveryUpdates: { delivery: Delivery } }>({
        query: `subscription ($filter: WebhookDeliveryFilter) {
          webhookDeliveryUpdates(filter: $filter) { delivery { ${fields} } } }`,
        variables: { filter },
      });
    const [all, refused] = [follow({}), follow({ outcomes: ['REFUSED'] })];
    const next = async (updates: typeof all) => {
      const { value } = await updates.next();
      return (value as { data: { webhookDeliveryUpdates: { delivery: Delivery } } }).data
        .webhookDeliveryUpdates.delivery;
    };
    const [firstOfAll, firstRefused] = [next(all), next(refused)];
    await expect.poll(async () => metric('trivium_subscriptions')).toBe(2);
    const body = shipmentBody('live');
    await post(body, signed(body));
    expect(await firstOfAll).toMatchObject({
      eventId: 'live',
      outcome: 'STORED',
      body,
      entityId: 'shp_live',
    });
    await post(body, signed(body));
    const again = { eventId: 'live', entityId: 'shp_live' };
    expect(await next(all)).toMatchObject({ ...again, outcome: 'DUPLICATE', body });
    const altered = shipmentBody('live', { data: { shipment: { id: 'shp_other' } } });
    await post(altered, signed(altered));
    expect(await next(all)).toMatchObject({ ...again, outcome: 'ALTERED', body: altered });
    await post('{}');
    expect(await next(all)).toMatchObject({ outcome: 'REFUSED', reason: 'SIGNATURE_MISSING' });
    expect(await firstRefused).toMatchObject({ reason: 'SIGNATURE_MISSING', body: '{}' });
    await client.dispose();
    await expect.poll(async () => metric('trivium_subscriptions')).toBe(0);
  });

  test('shows the endpoints, with the age of their secrets, and finds them by id', async () => {
    const rotate = 'mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) { rotatedAt } }';
    const query = `{ webhookEndpoints {
      id endpointId family url secretSince previousSecretValidUntil lastDeliveryAt } }`;
    const { rotatedAt } = (await testbed.ask(rotate, {}, token)).data.rotatePaymentWebhookSecret;
    const { webhookEndpoints: endpoints } = (await testbed.ask(query, {}, token)).data;
    const [{ receivedAt }] = (await newest({ first: 1, filter: { family: 'PAYMENTS' } })) as [Delivery];
    expect(endpoints).toMatchObject([
      { endpointId: 'sub_demo', family: 'SHIPMENTS', previousSecretValidUntil: null },
      {
        endpointId: 'pe_demo',
        family: 'PAYMENTS',
        url: `${testbed.url}/webhooks/payments/pe_demo`,
        secretSince: rotatedAt,
        previousSecretValidUntil: new Date(Date.parse(rotatedAt as string) + 86_400_000).toISOString(),
        lastDeliveryAt: receivedAt,
      },
    ]);
    const node = `query ($id: ID!) { node(id: $id) { ... on WebhookEndpoint { endpointId } } }`;
    const { id } = endpoints[1];
    expect((await testbed.ask(node, { id }, token)).data.node).toEqual({ endpointId: 'pe_demo' });
  });

  test('says that a replaced secret signed it, once that is no longer accepted', async () => {
    const { webhooks, clock } = testbed.sandbox;
    const old = webhooks.endpoints()[0]!.secret;
    const rotate = 'mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) { rotatedAt } }';
    await testbed.ask(rotate, {}, token);
    await clock.advance(24 * 3_600_000 + 1_000);
    token = await testbed.signIn();
    const t = seconds();
    const mac = createHmac('sha256', old).update(`${t}.{"id":"e"}`).digest('hex');
    const headers = { 'payments-signature': `t=${t},v1=${mac}` };
    const url = `${testbed.url}/webhooks/payments/pe_demo`;
    expect((await fetch(url, { method: 'POST', headers, body: '{"id":"e"}' })).status).toBe(401);
    const [refused] = await newest();
    expect(refused).toMatchObject({
      reason: 'SIGNATURE_WRONG',
      message: expect.stringMatching(/was replaced/),
    });
    expect(JSON.stringify(refused)).not.toContain(mac);
  });

  test('still has what is in the log after a restart', async () => {
    const filter = { outcomes: ['STORED', 'SKIPPED', 'ALTERED'] };
    const before = await newest({ first: 100, filter });
    await testbed.gateway.stop();
    testbed = await startTestbed({ sandbox: testbed.sandbox, settings });
    token = await testbed.signIn();
    expect(await newest({ first: 100 })).toEqual(before);
    expect(new Set(before.map(({ outcome }) => outcome)).size).toBe(3);
  });
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${testbed.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}
