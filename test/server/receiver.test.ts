import { METHODS } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deliver, hmac, type Sending } from '../support/deliver.js';
import { startTestbed, type Testbed } from '../support/testbed.js';

const longId = 'x'.repeat(2_000);
const strangeId = 'sub/%ü';
const mebibyte = 1024 * 1024;

// Made with `openssl dgst -sha256 -hmac whsec_shipment` over the body, and with whsec_payment over `<t>.<body>`.
const shipmentVector = {
  body: '{"id":"evt_v1","type":"shipment.delivered","created_at":"2026-01-02T03:04:05Z","data":{"shipment":{"id":"shp_v","status":"delivered","carrier":"DHL","tracking_number":"JD01"}}}',
  hex: '4babfebd758bc36d9a0e93c42a0ea3cf92cbb26ba3e981a899fd758694f020aa',
  base64: 'S6v+vXWLw22aDpPEKg6jz5LLsmuj6YGomf11hpTwIKo=',
  base64url: 'S6v-vXWLw22aDpPEKg6jz5LLsmuj6YGomf11hpTwIKo',
};
const paymentVector = {
  t: 1_767_323_045,
  body: '{"id":"evt_v2","object":"event","api_version":"2026-01-01","type":"payment.succeeded","created":1767323045,"livemode":true,"data":{"object":{"id":"pay_v","amount":1999,"currency":"eur","status":"succeeded"}}}',
  hex: 'b0dfe3442dfb7e2ffa93fc46dd4d73960b3b2cb791700b7fcdf680ea8cdf2a34',
  base64: 'sN/jRC37fi/6k/xG3U1zlgs7LLeRcAt/zfaA6ozfKjQ=',
  base64url: 'sN_jRC37fi_6k_xG3U1zlgs7LLeRcAt_zfaA6ozfKjQ',
};

/** A gateway with default settings, and one that accepts payments of any age. */
let testbed: Testbed;
let ageless: Testbed;
let token: string;

beforeAll(async () => {
  const settings = {
    SHIPMENT_WEBHOOKS: `sub_1=whsec_shipment,${longId}=whsec_shipment,${strangeId}=whsec_shipment`,
    PAYMENT_WEBHOOKS: 'pe_1=whsec_payment',
  };
  testbed = await startTestbed({ settings });
  ageless = await startTestbed({
    sandbox: testbed.sandbox,
    settings: { ...settings, PAYMENT_TIMESTAMP_TOLERANCE_SECONDS: 'off' },
  });
  token = await testbed.signIn();
});

afterAll(async () => {
  await ageless.stop();
  await testbed.stop();
});

const post = ({ to = testbed, ...sending }: Sending & { readonly to?: Testbed }) => deliver(to.url, sending);

const seconds = () => Math.floor(testbed.sandbox.clock.now() / 1000);

interface Signing {
  readonly t?: string | number;
  readonly secret?: string;
}

/** The two families: the path, header, signature and body of a delivery, and a query for its entity. */
const families = {
  shipments: {
    path: '/webhooks/shipments/sub_1',
    header: 'shipping-signature',
    sign: (body: string | Buffer, { t = seconds(), secret = 'whsec_shipment' }: Signing = {}) =>
      `t=${t},v1=${hmac(secret, body)}`,
    event: (id: string, entity: string) => ({
      id,
      type: 'shipment.in_transit',
      created_at: '2026-01-02T03:04:05Z',
      data: { shipment: { id: entity, status: 'moving' } },
    }),
    query:
      'query ($id: String!) { entity: shipment(shipmentId: $id) { status events { nodes { eventId } } } }',
  },
  payments: {
    path: '/webhooks/payments/pe_1',
    header: 'payments-signature',
    sign: (body: string | Buffer, { t = seconds(), secret = 'whsec_payment' }: Signing = {}) =>
      `t=${t},v1=${hmac(secret, `${t}.`, body)}`,
    event: (id: string, entity: string) => ({
      id,
      object: 'event',
      api_version: '2026-01-01',
      type: 'payment.succeeded',
      created: 1_767_323_045,
      livemode: true,
      data: { object: { id: entity, status: 'moving', amount: 5, currency: 'eur' } },
    }),
    query: 'query ($id: String!) { entity: payment(paymentId: $id) { status events { nodes { eventId } } } }',
  },
} as const;

type Family = (typeof families)[keyof typeof families];

let made = 0;
const newId = (prefix: string) => `${prefix}_${(made += 1)}`;

const signed = ({ path, header, sign }: Family, body: string | Buffer, headers = {}): Sending => ({
  path,
  headers: { [header]: sign(body), ...headers },
  body,
});

/** The status and the event ids of an entity, as the API shows them. */
async function shown({ query }: Family, id: string) {
  const { data } = await testbed.ask(query, { id }, token);
  const entity = data.entity as { status: string; events: { nodes: { eventId: string }[] } } | null;
  return entity && { status: entity.status, events: entity.events.nodes.map(({ eventId }) => eventId) };
}

const refusal = (status: number) => ({
  status,
  headers: expect.objectContaining({ 'content-type': expect.stringMatching(/^application\/json/) }),
  body: {
    error: { code: expect.stringMatching(/^[A-Z_0-9]+$/), message: expect.stringMatching(/^[A-Z].*\.$/) },
  },
});
const accepted = { status: 200, body: { received: true } };

describe.each(Object.entries(families))('%s', (_, family) => {
  const body = () => JSON.stringify(family.event(newId('evt'), newId('entity')));
  const gzip = { 'content-encoding': 'gzip' };
  const tooBig = Buffer.alloc(mebibyte + 1, 0x20);

  test.each(METHODS.filter((method) => !['POST', 'CONNECT', 'HEAD'].includes(method)))(
    'answers 405 with Allow to %s, even if the id is unknown',
    async (method) => {
      const answer = await post({ path: `${family.path}x`, method, headers: gzip });
      expect(answer).toMatchObject(refusal(405));
      expect(answer.headers['allow']).toBe('POST');
    },
  );

  test('answers 405 to HEAD, and to PUT with a body', async () => {
    const head = await post({ path: family.path, method: 'HEAD' });
    expect([head.status, head.headers['allow'], head.body]).toEqual([405, 'POST', undefined]);
    expect(await post({ ...signed(family, body()), method: 'PUT' })).toMatchObject(refusal(405));
  });

  test.each(['x', '//', '/x', '%00', '%zz', '%', '%2F', `/${longId}`])(
    'answers 404 to an id with %s appended, even if the body is compressed',
    async (more) => {
      const answer = await post({ path: family.path + more, headers: gzip });
      expect(answer).toMatchObject(refusal(404));
    },
  );

  test('answers 415 to a compressed body, even if it is too large', async () => {
    const headers = { ...gzip, 'content-type': 'application/json' };
    expect(await post({ path: family.path, headers, body: tooBig })).toMatchObject(refusal(415));
    const text = body();
    const compressed = gzipSync(text);
    expect(await post(signed(family, compressed, headers))).toMatchObject(refusal(415));
    expect(await post(signed(family, text, { 'content-encoding': 'Identity' }))).toMatchObject(accepted);
  });

  test('accepts 1 MiB, and answers 413 to more, chunked or not, even if unsigned', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }, { 'content-type': 'application/json' }])
      expect(await post({ path: family.path, headers, body: tooBig })).toMatchObject(refusal(413));
    const text = body();
    const whole = text + ' '.repeat(mebibyte - text.length);
    expect(await post(signed(family, whole))).toMatchObject(accepted);
    expect(await post(signed(family, body(), { 'transfer-encoding': 'chunked' }))).toMatchObject(accepted);
  });

  test('answers 401 to every invalid signature, even if the body is malformed', async () => {
    const wrong = '{';
    const now = seconds();
    const { header, sign, path } = family;
    const signatures: (string | string[] | undefined)[] = [
      undefined,
      '',
      sign(wrong).split(',')[1]!,
      sign(wrong).replace(/v1=.*/, ''),
      sign(wrong, { secret: 'whsec_other' }),
      sign('['),
      sign(wrong, { t: `${now}.5` }),
      sign(wrong, { t: `+${now}` }),
      sign(wrong, { t: '' }),
      `t=${now},${sign(wrong)}`,
      sign(wrong, { t: now - 302 }),
      sign(wrong, { t: now + 305 }),
      `${sign(wrong)},a=1,b=2,c=3,d=4,e=5,f=6,g=7`,
      [sign(wrong), sign(wrong)],
    ];
    for (const signature of signatures) {
      const headers = signature === undefined ? {} : { [header]: signature };
      const answer = await post({ path, headers, body: wrong });
      expect([signature, answer.status]).toEqual([signature, 401]);
      expect(answer).toMatchObject(refusal(401));
    }
    // The body is parsed only once its signature is valid.
    expect(await post({ path, headers: { [header]: sign(wrong) }, body: wrong })).toMatchObject(refusal(400));
  });

  test('answers 401 to a signature header sent twice, even with the same value', async () => {
    const text = body();
    const { hostname, port } = new URL(testbed.url);
    const socket = connect(Number(port), hostname);
    const line = `${family.header}: ${family.sign(text)}\r\n`;
    socket.write(
      `POST ${family.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${line}${line}Content-Length: ${text.length}\r\n\r\n${text}`,
    );
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toMatch(/^HTTP\/1.1 401 .*"SIGNATURE_MALFORMED"/s);
  });

  test('answers 400 to a signed body that is not an event', async () => {
    const id = (text: string) => JSON.stringify({ ...family.event(text, 'x') });
    const bodies = [
      '',
      'null',
      '[]',
      '"x"',
      '{"type":"x"}',
      '{"id":"x"}',
      '{"id":1,"type":"x"}',
      id(''),
      id('x'.repeat(256)),
      Buffer.from([0x7b, 0xff, 0x7d]),
      `\ufeff\ufeff${body()}`,
    ];
    for (const wrong of bodies) expect(await post(signed(family, wrong))).toMatchObject(refusal(400));
    expect(await post(signed(family, id('é'.repeat(255))))).toMatchObject(accepted);
    expect(await post(signed(family, `\ufeff${body()}`))).toMatchObject(accepted);
    const delivery = signed(family, body());
    expect(await post({ ...delivery, path: `${family.path}/` })).toMatchObject(accepted);
  });

  test.each([
    undefined,
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    ';;;',
    'nonsense',
    '',
  ])('accepts the content type %s', async (type) => {
    const headers = type === undefined ? {} : { 'content-type': type };
    expect(await post(signed(family, body(), headers))).toMatchObject(accepted);
  });

  test('shows an accepted event at once, and only once if it is repeated', async () => {
    const [eventId, entity] = [newId('evt'), newId('entity')];
    const event = family.event(eventId, entity);
    const delivery = signed(family, JSON.stringify({ ...event, more: { of: ['us'] } }));
    expect(await Promise.all([post(delivery), post(delivery)])).toMatchObject([accepted, accepted]);
    expect(await shown(family, entity)).toEqual({ status: 'moving', events: [eventId] });
    // The same id with another body is a duplicate as well.
    const other = { ...event, data: family.event('', newId('entity')).data };
    expect(await post(signed(family, JSON.stringify(other)))).toMatchObject(accepted);
    expect(await post(delivery)).toMatchObject(accepted);
    expect(await shown(family, entity)).toEqual({ status: 'moving', events: [eventId] });
  });

  test('accepts an unknown type, or an event without its entity, but shows it to nobody', async () => {
    const entity = newId('entity');
    const events = [
      { ...family.event(newId('evt'), entity), type: 'unknown.type' },
      { ...family.event(newId('evt'), entity), data: {} },
      { ...family.event(newId('evt'), entity), data: null },
    ];
    const after = (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor as string;
    for (const event of events)
      expect(await post(signed(family, JSON.stringify(event)))).toMatchObject(accepted);
    expect(await shown(family, entity)).toBeNull();
    const client = testbed.socket(token);
    const field = family === families.shipments ? 'shipmentUpdates' : 'paymentUpdates';
    const query = `subscription ($after: String) { update: ${field}(after: $after) { event { eventId } } }`;
    const last = newId('evt');
    expect(await post(signed(family, JSON.stringify(family.event(last, entity))))).toMatchObject(accepted);
    const { value } = await client.iterate({ query, variables: { after } }).next();
    expect(value).toEqual({ data: { update: { event: { eventId: last } } } });
    await client.dispose();
  });
});

describe('signatures made with openssl', () => {
  const { body, hex, base64, base64url } = shipmentVector;
  const paymentBody = paymentVector.body;

  test.each([hex, hex.toUpperCase(), base64, base64.replace('=', ''), base64url, `${base64url}=`])(
    'a shipment signed with %s is accepted',
    async (v1) => {
      const headers = { 'shipping-signature': ` t=${seconds()} , v1=${v1} ` };
      expect(await post({ headers, body })).toMatchObject(accepted);
    },
  );

  test.each(['v1', 'v0'])(
    'a payment signed in %s is accepted, and refused once it is too old',
    async (version) => {
      const { t, ...encodings } = paymentVector;
      for (const value of [encodings.hex, encodings.base64, encodings.base64url]) {
        const headers = { 'payments-signature': `t=${t},v9=x,v1=${'0'.repeat(64)},${version}=${value}` };
        const delivery = { path: '/webhooks/payments/pe_1', headers, body: paymentBody };
        expect(await post({ ...delivery, to: ageless })).toMatchObject(accepted);
        expect(await post(delivery)).toMatchObject(refusal(401));
      }
    },
  );

  test('a shipment signed in v0 is refused', async () => {
    const headers = { 'shipping-signature': `t=${seconds()},v0=${hex}` };
    expect(await post({ headers, body })).toMatchObject(refusal(401));
  });

  test('a Shipping-Event that differs from the signed type is answered 400', async () => {
    const headers = { 'shipping-signature': `t=${seconds()},v1=${hex}` };
    for (const type of ['shipment.created', ''])
      expect(await post({ headers: { ...headers, 'shipping-event': type }, body })).toMatchObject(
        refusal(400),
      );
    const right = { ...headers, 'shipping-event': 'shipment.delivered' };
    expect(await post({ headers: right, body })).toMatchObject(accepted);
  });
});

describe('the URL of a webhook', () => {
  test.each([longId, encodeURIComponent(strangeId), '%73ub_1'])(
    'accepts a delivery: /webhooks/shipments/%s',
    async (id) => {
      const { sign, event } = families.shipments;
      const body = JSON.stringify(event(newId('evt'), 'shp_ids'));
      const headers = { 'shipping-signature': sign(body) };
      expect(await post({ path: `/webhooks/shipments/${id}`, headers, body })).toMatchObject(accepted);
    },
  );

  test.each(['/webhooks/orders/sub_1', '/webhooks/payments/sub_1', '/webhooks/shipments/', '/webhooks/'])(
    'answers 404: %s',
    async (path) => expect(await post({ path })).toMatchObject(refusal(404)),
  );
});

test('a refusal neither returns nor logs a secret, a signature or the body', async () => {
  const body = '{"id":"telltale","type":"x"}';
  const forged = 'ab'.repeat(32);
  const headers = { 'shipping-signature': `t=${seconds()},v1=${forged}` };
  const shownAndLogged = JSON.stringify(await post({ headers, body })) + testbed.logged();
  expect(shownAndLogged).toContain('SIGNATURE_WRONG');
  for (const secret of ['telltale', forged, 'whsec', hmac('whsec_shipment', body), '.ts:'])
    expect(shownAndLogged).not.toContain(secret);
});
