import { randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { createServer, type OutgoingHttpHeaders, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLog, type Log } from '../../../src/events/log/log.js';
import { Receiver } from '../../../src/events/webhooks/receiver.js';
import { createSecrets, type Secrets } from '../../../src/events/secrets/secrets.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { createWebhookFamilies, readLongBody, recordDeliveries } from '../../../src/api/webhook-families.js';
import type { Database } from '../../../src/store/database.js';
import { openDatabase } from '../../support/database.js';
import { deliver, hmac, type Answer, type Sending } from '../../support/deliver.js';
import { MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { createTestFile } from '../../support/sqlite.js';
import { scrape } from '../../support/metrics.js';

const mebibyte = 1024 * 1024;
const patienceMs = 1500;
const sent = 1_767_323_045;
let now = sent * 1000;
const clock = { now: () => now };
const lines: string[] = [];
const telemetry = createTelemetry(
  'info',
  new Writable({
    write(line, _, done) {
      lines.push(String(line));
      done();
    },
  }),
);

const realNow = performance.now.bind(performance);
/** How far the clock by which lines are left out is ahead, in milliseconds. */
let later = 0;

let database: Database;
let secrets: Secrets;
let log: Log;
let receiver: Receiver;
let server: Server;
let port: number;

const settings = {
  webhookSkewSeconds: 300,
  paymentEventTypes: ['payment.succeeded'],
  paymentsCreatedUnit: 'auto' as const,
  paymentToleranceSeconds: 300,
};
const families = createWebhookFamilies(settings);
const pe1 = { family: 'payments', endpointId: 'pe_1' };
const ledger = new MemoryLedger(telemetry);

beforeAll(async () => {
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + later);
  database = await openDatabase(await createTestFile(), { log: telemetry.log });
  secrets = await createSecrets({
    database,
    sealer: createSealer([randomBytes(32)]),
    clock,
    telemetry,
    families,
    configured: {
      shipments: new Map([['sub_1', 'whsec_shipment']]),
      payments: new Map([['pe_1', 'whsec_payment']]),
    },
  });
  const commit = await database.procedure(recordDeliveries, { unit: 'auto' });
  log = createLog({ database, commit, clock, telemetry, retentionDays: 90 });
  server = createServer((request, response) => {
    const [, , family = '', endpointId = ''] = request.url!.split('/');
    const { method = '', rawHeaders } = request;
    void receiver
      .receive({ family, endpointId, method, rawHeaders, body: request })
      .then(({ status, headers, body }) => response.writeHead(status, headers).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});

afterAll(async () => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await log.stop();
  await secrets.stop();
  await database.stop();
});

beforeEach(() => {
  now = sent * 1000;
  lines.length = 0;
  later += 1_000;
  // A new receiver has not logged anything yet, so it leaves no lines out.
  receiver = new Receiver({
    families,
    secrets,
    log,
    recorder: { refused: () => undefined, accepted: () => undefined },
    clock,
    telemetry,
    ledger,
    readLong: async (family, body, receivedAt) => readLongBody({ settings, family, body, receivedAt }),
    patienceMs,
  });
});

const post = (sending: Sending) => deliver(`http://127.0.0.1:${port}`, sending);

function shipmentSignature(body: string | Buffer, t: string | number = sent): string {
  return `t=${t},v1=${hmac('whsec_shipment', body)}`;
}

function paymentSignature(body: string | Buffer, secret = 'whsec_payment', t = sent): string {
  return `t=${t},v1=${hmac(secret, `${t}.`, body)}`;
}

/** A shipment webhook with a valid signature. */
function shipment(body: string | Buffer, headers: OutgoingHttpHeaders = {}): Sending {
  return { headers: { 'shipping-signature': shipmentSignature(body), ...headers }, body };
}

function payment(body: string | Buffer, headers: OutgoingHttpHeaders = {}): Sending {
  const signature = { 'payments-signature': paymentSignature(body) };
  return { path: '/webhooks/payments/pe_1', headers: { ...signature, ...headers }, body };
}

let made = 0;

function shipmentBody(changes: Readonly<Record<string, unknown>> = {}): string {
  made += 1;
  return JSON.stringify({
    id: `evt_s${made}`,
    type: 'shipment.delivered',
    created_at: '2026-01-02T03:04:05Z',
    data: { shipment: { id: 'shp_1', status: 'delivered', carrier: 'DHL', tracking_number: 'JD01' } },
    ...changes,
  });
}

function paymentBody(changes: Readonly<Record<string, unknown>> = {}): string {
  made += 1;
  return JSON.stringify({
    id: `evt_p${made}`,
    object: 'event',
    api_version: '2026-01-01',
    type: 'payment.succeeded',
    created: sent,
    livemode: true,
    data: { object: { id: 'pay_1', amount: 1999, currency: 'eur', status: 'succeeded' } },
    ...changes,
  });
}

/** A refusal whose message begins like this. */
function refusal(status: number, code: string, message = '[A-Z]') {
  return {
    status,
    headers: expect.objectContaining({ 'content-type': 'application/json' }),
    body: { error: { code, message: expect.stringMatching(new RegExp(`^${message}.*\\.$`)) } },
  };
}

const accepted = {
  status: 200,
  headers: expect.objectContaining({ 'content-type': 'application/json' }),
  body: { received: true },
};

async function entries(after: number) {
  return log.read(after, 1000);
}

describe('refusals', () => {
  const unknown = '/webhooks/shipments/sub_2';
  const tooBig = Buffer.alloc(mebibyte + 1, 0x20);
  const gzip = { 'content-encoding': 'gzip' };

  test('every refusal is JSON, is counted with its reason, and stores nothing', async () => {
    const head = (await log.bounds()).head;
    const refused = () =>
      scrape(
        telemetry.metrics,
        'trivium_webhooks_refused_total{family="shipments",reason="SIGNATURE_MISSING"}',
      );
    const before = await refused();
    expect(await post({ body: shipmentBody() })).toMatchObject(refusal(401, 'SIGNATURE_MISSING'));
    expect(await refused()).toBe(before + 1);
    expect((await log.bounds()).head).toBe(head);
  });

  test.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    'answers 405 with Allow to %s, before any other check',
    async (method) => {
      const answer = await post({ method, path: unknown, headers: gzip });
      expect(answer).toMatchObject(refusal(405, 'METHOD_NOT_ALLOWED'));
      expect(answer.headers['allow']).toBe('POST');
    },
  );

  test('answers 405 without a body to HEAD', async () =>
    expect(await post({ method: 'HEAD' })).toMatchObject({ status: 405, headers: { allow: 'POST' } }));

  test.each([unknown, '/webhooks/payments/sub_1', '/webhooks/orders/sub_1', '/webhooks/shipments/__proto__'])(
    'answers 404 to %s, before it checks the encoding',
    async (path) =>
      expect(await post({ path, headers: gzip })).toMatchObject(refusal(404, 'ENDPOINT_UNKNOWN')),
  );

  test('an unknown family becomes no metric label', async () => {
    await post({ path: '/webhooks/orders/sub_1' });
    expect(await telemetry.metrics.text()).not.toContain('orders');
  });

  test.each(['gzip', 'br', 'identity, gzip', 'x'])(
    'answers 415 to the encoding "%s", before it checks the size',
    async (encoding) => {
      const headers = { 'content-encoding': encoding };
      expect(await post({ headers, body: tooBig })).toMatchObject(refusal(415, 'ENCODING_NOT_SUPPORTED'));
    },
  );

  test.each(['identity', 'Identity', ''])('accepts the encoding "%s"', async (encoding) =>
    expect(await post(shipment(shipmentBody(), { 'content-encoding': encoding }))).toMatchObject(accepted),
  );

  test('answers 413 to a body over 1 MiB, announced or not, before it checks the signature', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      expect(await post({ headers, body: tooBig })).toMatchObject(refusal(413, 'BODY_TOO_LARGE'));
    const huge = Buffer.alloc(8 * mebibyte, 0x20);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      expect(await post({ headers, body: huge })).toMatchObject(refusal(413, 'BODY_TOO_LARGE'));
  });

  test('counts a body that breaks off, and stores nothing', async () => {
    const head = (await log.bounds()).head;
    const series = 'trivium_webhooks_refused_total{family="shipments",reason="BODY_INCOMPLETE"}';
    const body = shipmentBody();
    const headers = { ...shipment(body).headers, 'content-length': body.length + 1 };
    const request = send({ port, path: '/webhooks/shipments/sub_1', method: 'POST', headers });
    request.on('error', () => undefined);
    request.write(body, () => setTimeout(() => request.destroy(), 50));
    await expect.poll(() => scrape(telemetry.metrics, series)).toBe(1);
    expect((await log.bounds()).head).toBe(head);
  });

  test('refuses a delivery whose sender left before its turn came', async () => {
    const body = new Readable({ read: () => undefined }).destroy();
    await once(body, 'close');
    const request = { family: 'shipments', endpointId: 'sub_1', method: 'POST', rawHeaders: [], body };
    expect(await receiver.receive(request)).toMatchObject({
      status: 400,
      body: expect.stringContaining('BODY_INCOMPLETE'),
    });
  });

  test('accepts a body of exactly 1 MiB', async () => {
    const event = shipmentBody();
    expect(await post(shipment(event + ' '.repeat(mebibyte - event.length)))).toMatchObject(accepted);
  });

  test.each<readonly [about: string, signature: string | string[] | undefined, code: string]>([
    ['no signature', undefined, 'SIGNATURE_MISSING'],
    ['an empty signature', '', 'SIGNATURE_MALFORMED'],
    ['no timestamp', `v1=${hmac('whsec_shipment', '{')}`, 'SIGNATURE_MALFORMED'],
    ['a timestamp that is not plain digits', shipmentSignature('{', '1e9'), 'SIGNATURE_MALFORMED'],
    ['two timestamps', `t=${sent},${shipmentSignature('{')}`, 'SIGNATURE_MALFORMED'],
    ['nine elements', `${shipmentSignature('{')},a,b,c,d,e,f,g`, 'SIGNATURE_MALFORMED'],
    ['the header twice', [shipmentSignature('{'), shipmentSignature('{')], 'SIGNATURE_MALFORMED'],
    ['an old timestamp', shipmentSignature('{', sent - 301), 'SIGNATURE_TOO_OLD'],
    ['a timestamp too far ahead', shipmentSignature('{', sent + 301), 'SIGNATURE_TOO_FAR_AHEAD'],
    ['another secret', `t=${sent},v1=${hmac('whsec_payment', '{')}`, 'SIGNATURE_WRONG'],
    ['v0 for a shipment', shipmentSignature('{').replace('v1', 'v0'), 'SIGNATURE_WRONG'],
  ])('answers 401 to %s, before it parses the body', async (_, signature, code) => {
    const headers = signature === undefined ? {} : { 'shipping-signature': signature };
    expect(await post({ headers, body: '{' })).toMatchObject(refusal(401, code));
  });

  test.each<readonly [about: string, body: string | Buffer, code: string]>([
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'BODY_NOT_UTF8'],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'BODY_NOT_UTF8'],
    ['an empty body', '', 'BODY_NOT_JSON_OBJECT'],
    ['invalid JSON', '{', 'BODY_NOT_JSON_OBJECT'],
    ['two byte order marks', `\ufeff\ufeff${shipmentBody()}`, 'BODY_NOT_JSON_OBJECT'],
    ['null', 'null', 'BODY_NOT_JSON_OBJECT'],
    ['an array', '[{"id":"x","type":"y"}]', 'BODY_NOT_JSON_OBJECT'],
    ['a string', '"x"', 'BODY_NOT_JSON_OBJECT'],
    ['a million opening brackets', '['.repeat(mebibyte), 'BODY_NOT_JSON_OBJECT'],
    ['no id', '{"type":"shipment.created"}', 'BODY_WITHOUT_ID'],
    ['an inherited id', '{"__proto__":{"id":"x"},"type":"shipment.created"}', 'BODY_WITHOUT_ID'],
    ['a number as id', shipmentBody({ id: 1 }), 'BODY_WITHOUT_ID'],
    ['an empty id', shipmentBody({ id: '' }), 'BODY_WITHOUT_ID'],
    ['an id of 256 characters', shipmentBody({ id: 'x'.repeat(256) }), 'BODY_WITHOUT_ID'],
    ['no type', '{"id":"x"}', 'BODY_WITHOUT_TYPE'],
    ['a type that is not a string', shipmentBody({ type: null }), 'BODY_WITHOUT_TYPE'],
  ])('answers 400 to %s', async (_, body, code) =>
    expect(await post(shipment(body))).toMatchObject(refusal(400, code)),
  );

  test('answers 400 if Shipping-Event differs from the signed type', async () => {
    for (const header of ['shipment.created', 'Shipment.delivered', '', ['shipment.delivered', 'x']])
      expect(await post(shipment(shipmentBody(), { 'shipping-event': header }))).toMatchObject(
        refusal(400, 'TYPE_MISMATCH'),
      );
    expect(await post(shipment(shipmentBody(), { 'shipping-event': 'shipment.delivered' }))).toMatchObject(
      accepted,
    );
    expect(await post(payment(paymentBody(), { 'shipping-event': 'x' }))).toMatchObject(accepted);
    const type = 'shipment.zurückgestellt';
    const body = Buffer.from(shipmentBody({ type })); // with a text, node:http would encode the header once more
    const header = Buffer.from(type).toString('latin1');
    expect(await post(shipment(body, { 'shipping-event': header }))).toMatchObject(accepted);
  });

  test('logs the id of a configured endpoint, and no unknown id or family', async () => {
    for (const path of [
      '/webhooks/payments/pe_1',
      '/webhooks/payments/sub_1',
      '/webhooks/shipments/telltale',
      '/webhooks/telltale/sub_1',
    ])
      await post({ path });
    const logged = lines.map((line) => JSON.parse(line) as object);
    expect(logged).toMatchObject([
      { family: 'payments', endpointId: 'pe_1', reason: 'SIGNATURE_MISSING', msg: 'webhook refused' },
      { family: 'payments', reason: 'ENDPOINT_UNKNOWN' },
      { family: 'shipments', reason: 'ENDPOINT_UNKNOWN' },
      { family: 'unknown', reason: 'ENDPOINT_UNKNOWN' },
    ]);
    expect(logged.filter((line) => 'endpointId' in line)).toHaveLength(1);
    expect(lines.join('')).not.toContain('telltale');
  });

  test('logs refusals once a second for each reason, however many there are', async () => {
    await Promise.all(
      Array.from({ length: 50 }, (_, id) => post({ path: `/webhooks/shipments/nobody${id}` })),
    );
    await post({ path: '/webhooks/payments/pe_1' });
    const logged = lines.map((line) => JSON.parse(line) as object);
    expect(logged).toMatchObject([{ reason: 'ENDPOINT_UNKNOWN' }, { reason: 'SIGNATURE_MISSING' }]);
  });

  test('neither logs nor returns secrets, signatures or bodies', async () => {
    const body = shipmentBody({ id: 'telltale-id', note: 'telltale-body' });
    const headers = { 'shipping-signature': `t=${sent},v1=${'ab'.repeat(32)}` };
    const answer = JSON.stringify(await post({ headers, body }));
    const seen = answer + lines.join('');
    expect(lines.join('')).toContain('SIGNATURE_WRONG');
    for (const secret of [
      'telltale',
      'abab',
      'whsec',
      hmac('whsec_shipment', body),
      'receiver.ts',
      '    at ',
    ])
      expect(seen).not.toContain(secret);
  });
});

describe('accepted deliveries', () => {
  test('are in the log, parsed, before the answer', async () => {
    const head = (await log.bounds()).head;
    const body = shipmentBody();
    expect(await post(shipment(body))).toEqual({ ...accepted, headers: expect.anything() });
    expect(await entries(head)).toMatchObject([
      {
        family: 'shipments',
        entityId: 'shp_1',
        event: { kind: 'ShipmentEvent', stage: 'DELIVERED', carrier: 'DHL' },
      },
    ]);
    const row = await database.kysely
      .selectFrom('events')
      .selectAll()
      .where('seq', '=', head + 1)
      .execute();
    const received_at = Date.parse('2026-01-02T03:04:05Z');
    expect(row).toMatchObject([{ endpoint_id: 'sub_1', type: 'shipment.delivered', received_at, body }]);
  });

  test('may have any content type, or none', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])
      expect(await post(shipment(shipmentBody(), { 'content-type': type }))).toMatchObject(accepted);
    expect(await post(shipment(shipmentBody()))).toMatchObject(accepted);
  });

  test('may have an id of 255 characters, counted in code points', async () =>
    expect(await post(shipment(shipmentBody({ id: '🚚'.repeat(255) })))).toMatchObject(accepted));

  test('are stored once for each id, whether the bodies are the same or not', async () => {
    const head = (await log.bounds()).head;
    const body = paymentBody({ id: 'evt_again' });
    const other = paymentBody({ id: 'evt_again', api_version: '2027-01-01' });
    const answers = await Promise.all([body, body, other, body].map((each) => post(payment(each))));
    expect(answers).toMatchObject([accepted, accepted, accepted, accepted]);
    expect(await entries(head)).toHaveLength(1);
    expect(
      await scrape(telemetry.metrics, 'trivium_webhooks_total{family="payments",outcome="altered"}'),
    ).toBe(1);
  });

  test('are stored and skipped if their type or entity id is unknown', async () => {
    const head = (await log.bounds()).head;
    const skipped = () =>
      scrape(telemetry.metrics, 'trivium_webhooks_total{family="shipments",outcome="skipped"}');
    const before = await skipped();
    for (const changes of [{ type: 'shipment.lost' }, { data: {} }, { data: { shipment: { id: 7 } } }])
      expect(await post(shipment(shipmentBody(changes)))).toMatchObject(accepted);
    expect((await entries(head)).map(({ event }) => event)).toEqual([null, null, null]);
    expect(await skipped()).toBe(before + 3);
  });

  test('are logged with no more than 200 characters of type and version', async () => {
    const [type, api_version] = ['t'.repeat(1_000), 'v'.repeat(1_000)];
    const body = paymentBody({ type, api_version });
    expect(await post(payment(body))).toMatchObject(accepted);
    expect(await post(payment(`${body} `))).toMatchObject(accepted);
    const brief = { type: 't'.repeat(200), apiVersion: 'v'.repeat(200) };
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([brief, brief]);
  });

  test('are logged once if they have no valid time', async () => {
    for (const created_at of [undefined, 'yesterday', 1_767_323_045]) {
      const body = shipmentBody({ id: `evt_at_${created_at}`, created_at });
      for (const again of [body, body]) expect(await post(shipment(again))).toMatchObject(accepted);
      later += 1_000;
    }
    const body = paymentBody({ id: 'evt_at_none', created: '2026-01-01' });
    expect(await post(payment(body))).toMatchObject(accepted);
    const logged = ['undefined', 'yesterday', '1767323045', 'none'].map((at) => ({
      eventId: `evt_at_${at}`,
    }));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(logged);
    expect(lines.join('')).toContain('"family":"payments"');
  });

  test('are told apart in the log if they are skipped: by an unknown type, or by no id', async () => {
    const message =
      'an event of a known type was stored but not processed: it lacks the id of what it is about';
    for (const [endpoint, body] of [
      [shipment, shipmentBody({ data: {} })],
      [payment, paymentBody({ data: {} })],
    ] as const) {
      lines.length = 0;
      expect(await post(endpoint(body))).toMatchObject(accepted);
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: 40, msg: message }]);
    }
    lines.length = 0;
    expect(await post(shipment(shipmentBody({ type: 'shipment.sunk' })))).toMatchObject(accepted);
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 30, msg: 'an event of an unknown type was stored but not processed', type: 'shipment.sunk' },
    ]);
  });

  test('may have unknown members, however deep', async () => {
    const head = (await log.bounds()).head;
    const deep = '['.repeat(200_000) + ']'.repeat(200_000);
    const withDeep = (body: string) =>
      body.replace('{', `{"__proto__":{"x":1},"constructor":1,"deep":${deep},`);
    expect(await post(shipment(withDeep(shipmentBody())))).toMatchObject(accepted);
    expect(await post(payment(withDeep(paymentBody())))).toMatchObject(accepted);
    const inside = paymentBody().replace('"object":{', `"object":{"deep":${deep},`);
    expect(await post(payment(inside))).toMatchObject(accepted);
    expect((await entries(head)).map(({ entityId }) => entityId)).toEqual(['shp_1', 'pay_1', 'pay_1']);
  });
});

describe('rotation', () => {
  test('accepts v1 or v0 by the current secret, and by the previous one for 24 hours', async () => {
    const statusFor = async (...secretsOfSender: readonly string[]) => {
      const t = Math.floor(now / 1000);
      const body = paymentBody();
      const signature = secretsOfSender.map((secret, at) => `v${1 - at}=${hmac(secret, `${t}.`, body)}`);
      return (await post(payment(body, { 'payments-signature': `t=${t},${signature.join()}` }))).status;
    };
    expect(await statusFor('whsec_unheard', 'whsec_payment')).toBe(200);
    await secrets.rotate(pe1, async () => 'whsec_second');
    expect(await statusFor('whsec_second', 'whsec_payment')).toBe(200);
    expect(await statusFor('whsec_second')).toBe(200);
    expect(await statusFor('whsec_payment')).toBe(200);
    expect(await statusFor('whsec_unheard', 'whsec_second')).toBe(200);
    expect(await statusFor('whsec_unheard')).toBe(401);
    now += 24 * 60 * 60 * 1000;
    expect(await statusFor('whsec_payment')).toBe(401);
    expect(await statusFor('whsec_unheard', 'whsec_payment')).toBe(401);
    expect(await statusFor('whsec_second')).toBe(200);
  });

  test('takes a delivery that was in time when it came, however long it waits for a rotation', async () => {
    const t = Math.floor(now / 1000) - 299;
    const body = paymentBody();
    const headers = { 'payments-signature': `t=${t},v1=${hmac('whsec_late', `${t}.`, body)}` };
    const latest = vi.spyOn(secrets, 'latest');
    let answer: ReturnType<typeof post> | undefined;
    await secrets.rotate(pe1, async () => {
      answer = post(payment(body, headers));
      await expect.poll(() => latest).toHaveBeenCalled();
      now += 10_000;
      return 'whsec_late';
    });
    expect(await answer).toMatchObject(accepted);
  });

  test('answers 503 while a rotation takes too long, and logs that once', async () => {
    const body = paymentBody();
    const forged = payment(body, { 'payments-signature': paymentSignature(body, 'another') });
    const gate = new EventEmitter();
    const asked = once(gate, 'asked');
    const rotation = secrets.rotate(pe1, async () => {
      gate.emit('asked');
      await once(gate, 'open');
      return { refused: true };
    });
    await asked;
    const answers = await Promise.all([post(forged), post(forged), post(forged)]);
    gate.emit('open');
    await rotation;
    for (const answer of answers) {
      expect(answer).toMatchObject(refusal(503, 'UNAVAILABLE', 'The signature could not be checked now;'));
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    const logged = lines
      .map((line) => JSON.parse(line) as { readonly level: number; readonly msg: string })
      .filter(({ msg }) => msg !== 'webhook refused');
    expect(logged.filter(({ level }) => level > 40)).toEqual([]);
    expect(logged.filter(({ msg }) => msg.startsWith('webhook'))).toMatchObject([
      {
        msg: 'webhook secrets could not be reloaded',
        family: 'payments',
        err: { message: `The database did not answer, or a rotation did not end, within ${patienceMs} ms.` },
      },
    ]);
    expect(await post(forged)).toMatchObject(refusal(401, 'SIGNATURE_WRONG'));
  });
});

describe('while the database does not answer', () => {
  test('answers 503 with Retry-After, and accepts the same delivery afterwards', async () => {
    const body = shipmentBody();
    const { schema } = database.kysely;
    await schema.alterTable('log_head').renameTo('away').execute();
    const answer = await post(shipment(body));
    expect(await post(shipment('{'))).toMatchObject(refusal(400, 'BODY_NOT_JSON_OBJECT'));
    await schema.alterTable('away').renameTo('log_head').execute();
    expect(answer).toMatchObject(refusal(503, 'UNAVAILABLE', 'The event could not be stored;'));
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(lines.join('')).toContain('webhook could not be stored');
    expect(await post(shipment(body))).toMatchObject(accepted);
  });

  /** Posts while the secrets cannot be read. */
  async function postWithoutSecrets(sending: Sending): Promise<Answer> {
    const { schema } = database.kysely;
    await schema.alterTable('webhook_secrets').renameTo('away').execute();
    try {
      return await post(sending);
    } finally {
      await schema.alterTable('away').renameTo('webhook_secrets').execute();
    }
  }

  test('answers 503 to a payment by an unknown secret, which another replica may have stored', async () => {
    const body = paymentBody();
    const forged = payment(body, { 'payments-signature': paymentSignature(body, 'another') });
    const answer = await postWithoutSecrets(forged);
    expect(answer).toMatchObject(refusal(503, 'UNAVAILABLE', 'The signature could not be checked now;'));
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(lines.join('')).not.toContain('could not be stored');
    expect(await post(forged)).toMatchObject(refusal(401, 'SIGNATURE_WRONG'));
  });

  test.each([`t=${sent}`, `t=${sent},v1=zz,v0=`, `t=${sent},v2=${'0'.repeat(64)}`])(
    'answers 401 to a payment with %s, which no secret can have signed',
    async (signature) => {
      const forged = payment(paymentBody(), { 'payments-signature': signature });
      expect(await postWithoutSecrets(forged)).toMatchObject(refusal(401, 'SIGNATURE_WRONG'));
    },
  );

  test('answers 401 to a shipment by an unknown secret, since those are not rotated', async () => {
    const body = shipmentBody();
    const forged = shipment(body, { 'shipping-signature': `t=${sent},v1=${hmac('another', body)}` });
    expect(await postWithoutSecrets(forged)).toMatchObject(refusal(401, 'SIGNATURE_WRONG'));
  });

  test('answers 503 if storing takes too long, and stores the event only once', async () => {
    const head = (await log.bounds()).head;
    const body = shipmentBody();
    const gate = new EventEmitter();
    const busy = database.kysely.transaction().execute(() => once(gate, 'open'));
    expect(await post(shipment(body))).toMatchObject(refusal(503, 'UNAVAILABLE'));
    gate.emit('open');
    await busy;
    expect(await post(shipment(body))).toMatchObject(accepted);
    expect(await entries(head)).toHaveLength(1);
  });
});
