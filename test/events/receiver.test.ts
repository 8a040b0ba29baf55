import { createHmac, randomBytes } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as send,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLog, type Log } from '../../src/events/log.js';
import { createReceiver, type Receiver } from '../../src/events/receiver.js';
import { createSecrets, type Secrets } from '../../src/events/secrets.js';
import { createPaymentFamily } from '../../src/payments/webhook.js';
import { createSealer } from '../../src/seal.js';
import { procedure as recording } from '../../src/recording.js';
import { createShipmentFamily } from '../../src/shipments/webhook.js';
import { type Database, openDatabase } from '../../src/store/database.js';
import { createTelemetry } from '../../src/telemetry.js';
import { createTestFile } from '../support/engines.js';

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

let database: Database;
let secrets: Secrets;
let log: Log;
let receiver: Receiver;
let server: Server;
let port: number;

beforeAll(async () => {
  database = await openDatabase(await createTestFile(), { log: telemetry.log });
  secrets = await createSecrets({
    database,
    sealer: createSealer([randomBytes(32)]),
    clock,
    telemetry,
    configured: {
      shipments: new Map([['sub_1', 'whsec_shipment']]),
      payments: new Map([['pe_1', 'whsec_payment']]),
    },
  });
  const commit = await database.procedure(recording, { unit: 'auto' });
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
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await log.stop();
  await secrets.stop();
  await database.stop();
});

beforeEach(() => {
  now = sent * 1000;
  lines.length = 0;
  // A new one has logged nothing yet, and so leaves nothing out.
  receiver = createReceiver({
    families: [
      createShipmentFamily({ skewSeconds: 300 }),
      createPaymentFamily({
        types: ['payment.succeeded'],
        createdUnit: 'auto',
        toleranceSeconds: 300,
        skewSeconds: 300,
      }),
    ],
    secrets,
    log,
    clock,
    telemetry,
    patienceMs,
  });
});

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

interface Sending {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

function post({ path = '/webhooks/shipments/sub_1', method = 'POST', headers = {}, body = '' }: Sending) {
  return new Promise<Answer>((resolve, reject) => {
    const request = send({ port, path, method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const answer = text === '' ? undefined : (JSON.parse(text) as unknown);
        resolve({ status: response.statusCode!, headers: response.headers, body: answer });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

function hmac(secret: string, ...parts: readonly (string | Buffer)[]): string {
  const mac = createHmac('sha256', secret);
  for (const part of parts) mac.update(part);
  return mac.digest('hex');
}

function shipmentSignature(body: string | Buffer, t: string | number = sent): string {
  return `t=${t},v1=${hmac('whsec_shipment', body)}`;
}

function paymentSignature(body: string | Buffer, secret = 'whsec_payment', t = sent): string {
  return `t=${t},v1=${hmac(secret, `${t}.`, body)}`;
}

/** A shipment webhook, rightly signed. */
function shipment(body: string | Buffer, headers: OutgoingHttpHeaders = {}): Sending {
  return { headers: { 'shipping-signature': shipmentSignature(body), ...headers }, body };
}

function payment(body: string | Buffer, headers: OutgoingHttpHeaders = {}): Sending {
  const signature = { 'payments-signature': paymentSignature(body) };
  return { path: '/webhooks/payments/pe_1', headers: { ...signature, ...headers }, body };
}

let made = 0;

function shipmentBody(about: Readonly<Record<string, unknown>> = {}): string {
  made += 1;
  return JSON.stringify({
    id: `evt_s${made}`,
    type: 'shipment.delivered',
    created_at: '2026-01-02T03:04:05Z',
    data: { shipment: { id: 'shp_1', status: 'delivered', carrier: 'DHL', tracking_number: 'JD01' } },
    ...about,
  });
}

function paymentBody(about: Readonly<Record<string, unknown>> = {}): string {
  made += 1;
  return JSON.stringify({
    id: `evt_p${made}`,
    object: 'event',
    api_version: '2026-01-01',
    type: 'payment.succeeded',
    created: sent,
    livemode: true,
    data: { object: { id: 'pay_1', amount: 1999, currency: 'eur', status: 'succeeded' } },
    ...about,
  });
}

function refusal(status: number, code: string) {
  return {
    status,
    headers: expect.objectContaining({ 'content-type': 'application/json' }),
    body: { error: { code, message: expect.stringMatching(/^[A-Z].*\.$/) } },
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
    const before =
      telemetry.counts.get('webhook_refused{family="shipments",reason="SIGNATURE_MISSING"}') ?? 0;
    expect(await post({ body: shipmentBody() })).toMatchObject(refusal(401, 'SIGNATURE_MISSING'));
    expect(telemetry.counts.get('webhook_refused{family="shipments",reason="SIGNATURE_MISSING"}')).toBe(
      before + 1,
    );
    expect((await log.bounds()).head).toBe(head);
  });

  test.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    '405 with Allow for %s, before all else',
    async (method) => {
      const answer = await post({ method, path: unknown, headers: gzip });
      expect(answer).toMatchObject(refusal(405, 'METHOD_NOT_ALLOWED'));
      expect(answer.headers['allow']).toBe('POST');
    },
  );

  test('405 for HEAD, without a body', async () =>
    expect(await post({ method: 'HEAD' })).toMatchObject({ status: 405, headers: { allow: 'POST' } }));

  test.each([unknown, '/webhooks/payments/sub_1', '/webhooks/orders/sub_1', '/webhooks/shipments/__proto__'])(
    '404 for %s, before the encoding',
    async (path) =>
      expect(await post({ path, headers: gzip })).toMatchObject(refusal(404, 'ENDPOINT_UNKNOWN')),
  );

  test('a family that is none becomes no label of its own', async () => {
    await post({ path: '/webhooks/orders/sub_1' });
    expect([...telemetry.counts.keys()].join()).not.toContain('orders');
  });

  test.each(['gzip', 'br', 'identity, gzip', 'x'])(
    '415 for the encoding %s, before the size',
    async (encoding) => {
      const headers = { 'content-encoding': encoding };
      expect(await post({ headers, body: tooBig })).toMatchObject(refusal(415, 'ENCODING_NOT_SUPPORTED'));
    },
  );

  test.each(['identity', 'Identity', ''])('the encoding "%s" is none', async (encoding) =>
    expect(await post(shipment(shipmentBody(), { 'content-encoding': encoding }))).toMatchObject(accepted),
  );

  test('413 over 1 MiB, announced or not, before the signature', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      expect(await post({ headers, body: tooBig })).toMatchObject(refusal(413, 'BODY_TOO_LARGE'));
    const huge = Buffer.alloc(8 * mebibyte, 0x20);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      expect(await post({ headers, body: huge })).toMatchObject(refusal(413, 'BODY_TOO_LARGE'));
  });

  test('a sender without end gets its answer, and is cut off', async () => {
    const path = '/webhooks/shipments/sub_1';
    const request = send({ port, path, method: 'POST', agent: false });
    const answered = new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
    let written = 0;
    const endless = new Readable({
      read() {
        written += tooBig.length;
        this.push(tooBig);
      },
    });
    await expect(pipeline(endless, request)).rejects.toBeInstanceOf(Error);
    expect((await answered).statusCode).toBe(413);
    expect(written).toBeLessThan(64 * mebibyte);
  });

  test('a body that breaks off is counted, and stores nothing', async () => {
    const head = (await log.bounds()).head;
    const name = 'webhook_refused{family="shipments",reason="BODY_INCOMPLETE"}';
    const body = shipmentBody();
    const headers = { ...shipment(body).headers, 'content-length': body.length + 1 };
    const request = send({ port, path: '/webhooks/shipments/sub_1', method: 'POST', headers });
    request.on('error', () => undefined);
    request.write(body, () => setTimeout(() => request.destroy(), 50));
    await vi.waitFor(() => expect(telemetry.counts.get(name)).toBe(1), 5000);
    expect((await log.bounds()).head).toBe(head);
  });

  test('exactly 1 MiB is not too big', async () => {
    const event = shipmentBody();
    expect(await post(shipment(event + ' '.repeat(mebibyte - event.length)))).toMatchObject(accepted);
  });

  test.each<readonly [about: string, signature: string | string[] | undefined, code: string]>([
    ['no signature', undefined, 'SIGNATURE_MISSING'],
    ['an empty one', '', 'SIGNATURE_MALFORMED'],
    ['no time', `v1=${hmac('whsec_shipment', '{')}`, 'SIGNATURE_MALFORMED'],
    ['a time that is no digits', shipmentSignature('{', '1e9'), 'SIGNATURE_MALFORMED'],
    ['two times', `t=${sent},${shipmentSignature('{')}`, 'SIGNATURE_MALFORMED'],
    ['nine elements', `${shipmentSignature('{')},a,b,c,d,e,f,g`, 'SIGNATURE_MALFORMED'],
    ['the header twice', [shipmentSignature('{'), shipmentSignature('{')], 'SIGNATURE_MALFORMED'],
    ['an old time', shipmentSignature('{', sent - 301), 'SIGNATURE_TOO_OLD'],
    ['a time ahead', shipmentSignature('{', sent + 301), 'SIGNATURE_TOO_FAR_AHEAD'],
    ['another secret', `t=${sent},v1=${hmac('whsec_payment', '{')}`, 'SIGNATURE_WRONG'],
    ['v0 for a shipment', shipmentSignature('{').replace('v1', 'v0'), 'SIGNATURE_WRONG'],
  ])('401 for %s, before the body is looked into', async (_, signature, code) => {
    const headers = signature === undefined ? {} : { 'shipping-signature': signature };
    expect(await post({ headers, body: '{' })).toMatchObject(refusal(401, code));
  });

  test.each<readonly [about: string, body: string | Buffer, code: string]>([
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 'BODY_NOT_UTF8'],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'BODY_NOT_UTF8'],
    ['nothing', '', 'BODY_NOT_JSON_OBJECT'],
    ['no JSON', '{', 'BODY_NOT_JSON_OBJECT'],
    ['a byte order mark', `\ufeff${shipmentBody()}`, 'BODY_NOT_JSON_OBJECT'],
    ['null', 'null', 'BODY_NOT_JSON_OBJECT'],
    ['an array', '[{"id":"x","type":"y"}]', 'BODY_NOT_JSON_OBJECT'],
    ['a text', '"x"', 'BODY_NOT_JSON_OBJECT'],
    ['brackets without end', '['.repeat(mebibyte), 'BODY_NOT_JSON_OBJECT'],
    ['no id', '{"type":"shipment.created"}', 'BODY_WITHOUT_ID'],
    ['an inherited id', '{"__proto__":{"id":"x"},"type":"shipment.created"}', 'BODY_WITHOUT_ID'],
    ['a number as id', shipmentBody({ id: 1 }), 'BODY_WITHOUT_ID'],
    ['an empty id', shipmentBody({ id: '' }), 'BODY_WITHOUT_ID'],
    ['a long id', shipmentBody({ id: 'x'.repeat(256) }), 'BODY_WITHOUT_ID'],
    ['no type', '{"id":"x"}', 'BODY_WITHOUT_TYPE'],
    ['a type that is no string', shipmentBody({ type: null }), 'BODY_WITHOUT_TYPE'],
  ])('400 for %s', async (_, body, code) =>
    expect(await post(shipment(body))).toMatchObject(refusal(400, code)),
  );

  test('400 where Shipping-Event differs from the signed type', async () => {
    for (const header of ['shipment.created', 'Shipment.delivered', '', ['shipment.delivered', 'x']])
      expect(await post(shipment(shipmentBody(), { 'shipping-event': header }))).toMatchObject(
        refusal(400, 'TYPE_MISMATCH'),
      );
    expect(await post(shipment(shipmentBody(), { 'shipping-event': 'shipment.delivered' }))).toMatchObject(
      accepted,
    );
    expect(await post(payment(paymentBody(), { 'shipping-event': 'x' }))).toMatchObject(accepted);
  });

  test('the log names the endpoint that refused, and nothing that is none here', async () => {
    for (const path of [
      '/webhooks/payments/pe_1',
      '/webhooks/payments/sub_1',
      '/webhooks/shipments/telltale',
      '/webhooks/telltale/sub_1',
    ])
      await post({ path });
    const told = lines.map((line) => JSON.parse(line) as object);
    expect(told).toMatchObject([
      { family: 'payments', endpointId: 'pe_1', reason: 'SIGNATURE_MISSING', msg: 'webhook refused' },
      { family: 'payments', reason: 'ENDPOINT_UNKNOWN' },
      { family: 'shipments', reason: 'ENDPOINT_UNKNOWN' },
      { family: 'unknown', reason: 'ENDPOINT_UNKNOWN' },
    ]);
    expect(told.filter((line) => 'endpointId' in line)).toHaveLength(1);
    expect(lines.join('')).not.toContain('telltale');
  });

  test('the log tells of refusals once a second for each reason, however many there are', async () => {
    await Promise.all(
      Array.from({ length: 50 }, (_, id) => post({ path: `/webhooks/shipments/nobody${id}` })),
    );
    await post({ path: '/webhooks/payments/pe_1' });
    const told = lines.map((line) => JSON.parse(line) as object);
    expect(told).toMatchObject([{ reason: 'ENDPOINT_UNKNOWN' }, { reason: 'SIGNATURE_MISSING' }]);
  });

  test('neither secrets, signatures nor bodies are logged or answered', async () => {
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

describe('what is accepted', () => {
  test('is in the log, parsed, before the answer', async () => {
    const head = (await log.bounds()).head;
    const body = shipmentBody();
    expect(await post(shipment(body))).toEqual({ ...accepted, headers: expect.anything() });
    expect(await entries(head)).toMatchObject([
      {
        family: 'shipments',
        type: 'shipment.delivered',
        receivedAt: '2026-01-02T03:04:05.000Z',
        entityId: 'shp_1',
        event: { kind: 'ShipmentEvent', stage: 'DELIVERED', carrier: 'DHL' },
      },
    ]);
    const row = await database.kysely
      .selectFrom('events')
      .selectAll()
      .where('seq', '=', head + 1)
      .execute();
    expect(row).toMatchObject([{ endpoint_id: 'sub_1', body }]);
  });

  test('any content type, or none', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])
      expect(await post(shipment(shipmentBody(), { 'content-type': type }))).toMatchObject(accepted);
    expect(await post(shipment(shipmentBody()))).toMatchObject(accepted);
  });

  test('an id of 255 characters, counted in code points', async () =>
    expect(await post(shipment(shipmentBody({ id: '🚚'.repeat(255) })))).toMatchObject(accepted));

  test('the same id again, with the same body or another, is stored once', async () => {
    const head = (await log.bounds()).head;
    const body = paymentBody({ id: 'evt_again' });
    const other = paymentBody({ id: 'evt_again', api_version: '2027-01-01' });
    const answers = await Promise.all([body, body, other, body].map((each) => post(payment(each))));
    expect(answers).toMatchObject([accepted, accepted, accepted, accepted]);
    expect(await entries(head)).toHaveLength(1);
    expect(telemetry.counts.get('webhook_altered_duplicate{family="payments"}')).toBe(1);
  });

  test('what is not known is kept and skipped', async () => {
    const head = (await log.bounds()).head;
    const skipped = 'webhook_skipped{family="shipments"}';
    const before = telemetry.counts.get(skipped) ?? 0;
    for (const about of [{ type: 'shipment.lost' }, { data: {} }, { data: { shipment: { id: 7 } } }])
      expect(await post(shipment(shipmentBody(about)))).toMatchObject(accepted);
    expect((await entries(head)).map(({ event }) => event)).toEqual([null, null, null]);
    expect(telemetry.counts.get(skipped)).toBe(before + 3);
  });

  test('no more than 200 characters of a type or a version are logged', async () => {
    const [type, api_version] = ['t'.repeat(1_000), 'v'.repeat(1_000)];
    const body = paymentBody({ type, api_version });
    expect(await post(payment(body))).toMatchObject(accepted);
    expect(await post(payment(`${body} `))).toMatchObject(accepted);
    const brief = { type: 't'.repeat(200), apiVersion: 'v'.repeat(200) };
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([brief, brief]);
  });

  test('an event that tells no time that can be read is told of, once', async () => {
    for (const created_at of [undefined, 'yesterday', 1_767_323_045]) {
      const body = shipmentBody({ id: `evt_at_${created_at}`, created_at });
      for (const again of [body, body]) expect(await post(shipment(again))).toMatchObject(accepted);
    }
    const body = paymentBody({ id: 'evt_at_none', created: '2026-01-01' });
    expect(await post(payment(body))).toMatchObject(accepted);
    const told = ['undefined', 'yesterday', '1767323045', 'none'].map((at) => ({ eventId: `evt_at_${at}` }));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(told);
    expect(lines.join('')).toContain('"family":"payments"');
  });

  test('members that are not known, however deep, do no harm', async () => {
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
  test('v1 by the new secret, v0 or v1 by the one before for 24 hours, v0 by ours when the sender is ahead', async () => {
    const trial = async (...secretsOfSender: readonly string[]) => {
      const t = Math.floor(now / 1000);
      const body = paymentBody();
      const signature = secretsOfSender.map((secret, at) => `v${1 - at}=${hmac(secret, `${t}.`, body)}`);
      return (await post(payment(body, { 'payments-signature': `t=${t},${signature.join()}` }))).status;
    };
    expect(await trial('whsec_unheard', 'whsec_payment')).toBe(200);
    await secrets.rotate('pe_1', async () => 'whsec_second');
    expect(await trial('whsec_second', 'whsec_payment')).toBe(200);
    expect(await trial('whsec_second')).toBe(200);
    expect(await trial('whsec_payment')).toBe(200);
    expect(await trial('whsec_unheard', 'whsec_second')).toBe(200);
    expect(await trial('whsec_unheard')).toBe(401);
    now += 24 * 60 * 60 * 1000;
    expect(await trial('whsec_payment')).toBe(401);
    expect(await trial('whsec_unheard', 'whsec_payment')).toBe(401);
    expect(await trial('whsec_second')).toBe(200);
  });

  test('503 when one takes too long, of which the log has one line: anybody can have it waited for', async () => {
    const body = paymentBody();
    const forged = payment(body, { 'payments-signature': paymentSignature(body, 'another') });
    const gate = new EventEmitter();
    const asked = once(gate, 'asked');
    const rotation = secrets.rotate('pe_1', async () => {
      gate.emit('asked');
      await once(gate, 'open');
      return { refused: true };
    });
    await asked;
    const answers = await Promise.all([post(forged), post(forged), post(forged)]);
    gate.emit('open');
    await rotation;
    for (const answer of answers) {
      expect(answer).toMatchObject(refusal(503, 'UNAVAILABLE'));
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    const told = lines
      .map((line) => JSON.parse(line) as { readonly level: number; readonly msg: string })
      .filter(({ msg }) => msg !== 'webhook refused');
    expect(told.filter(({ level }) => level > 40)).toEqual([]);
    expect(told.filter(({ msg }) => msg.startsWith('webhook'))).toMatchObject([
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
  test('503 with Retry-After; then the same delivery is taken', async () => {
    const body = shipmentBody();
    const { schema } = database.kysely;
    await schema.alterTable('log_head').renameTo('away').execute();
    const answer = await post(shipment(body));
    expect(await post(shipment('{'))).toMatchObject(refusal(400, 'BODY_NOT_JSON_OBJECT'));
    await schema.alterTable('away').renameTo('log_head').execute();
    expect(answer).toMatchObject(refusal(503, 'UNAVAILABLE'));
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(lines.join('')).toContain('webhook could not be stored');
    expect(await post(shipment(body))).toMatchObject(accepted);
  });

  /** Posts with no secrets to be read. */
  async function postWithoutSecrets(sending: Sending): Promise<Answer> {
    const { schema } = database.kysely;
    await schema.alterTable('webhook_secrets').renameTo('away').execute();
    try {
      return await post(sending);
    } finally {
      await schema.alterTable('away').renameTo('webhook_secrets').execute();
    }
  }

  test('503 for a payment that no known secret signed: another replica may have stored the one that did', async () => {
    const body = paymentBody();
    const forged = payment(body, { 'payments-signature': paymentSignature(body, 'another') });
    const answer = await postWithoutSecrets(forged);
    expect(answer).toMatchObject(refusal(503, 'UNAVAILABLE'));
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(lines.join('')).not.toContain('could not be stored');
    expect(await post(forged)).toMatchObject(refusal(401, 'SIGNATURE_WRONG'));
  });

  test.each([`t=${sent}`, `t=${sent},v1=zz,v0=`, `t=${sent},v2=${'0'.repeat(64)}`])(
    '401 for a payment with %s, which no secret can have signed',
    async (signature) => {
      const forged = payment(paymentBody(), { 'payments-signature': signature });
      expect(await postWithoutSecrets(forged)).toMatchObject(refusal(401, 'SIGNATURE_WRONG'));
    },
  );

  test('401 for a shipment that no known secret signed: its secret is not rotated', async () => {
    const body = shipmentBody();
    const forged = shipment(body, { 'shipping-signature': `t=${sent},v1=${hmac('another', body)}` });
    expect(await postWithoutSecrets(forged)).toMatchObject(refusal(401, 'SIGNATURE_WRONG'));
  });

  test('503 when it takes too long; what is stored after all is a duplicate then', async () => {
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
