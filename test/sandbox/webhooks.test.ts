import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.js';
import { ask } from './requests.js';
import { type Receiver, startReceiver } from './receiver.js';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
let sandbox: Sandbox;
let receiver: Receiver;

beforeEach(async () => {
  receiver = await startReceiver();
  sandbox = await startSandbox({ deliverTo: `${receiver.url}/` });
});
afterEach(async () => {
  await sandbox.stop();
  await receiver.stop();
});

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text).digest('hex');
const secretOf = (setting: string) => sandbox.settings[setting]?.split('=')[1] ?? '';
const rotate = (token?: string, id = 'pe_demo') =>
  ask(`${sandbox.settings['PAYMENTS_BASE_URL']}/webhooks/${id}/rotate-secret`, {
    method: 'POST',
    ...(token && { token }),
  });

/** The headers and body of the newest arrival; the signature's parts by name. */
function newest() {
  const { path, headers, body } = receiver.arrivals.at(-1) ?? { path: '', headers: {}, body: '' };
  const signature = headers['shipping-signature'] ?? headers['payments-signature'] ?? '';
  const parts = Object.fromEntries(
    String(signature)
      .split(',')
      .map((part) => part.split('=')),
  );
  return { path, headers, body, parts };
}

describe('shipment events', () => {
  test('arrive signed over the raw body, with their type in a header', async () => {
    const choice = { id: 'evt_1', type: 'shipment.delivered', created_at: '2026-01-02T03:04:05Z' };
    const shipment = { id: 'shp_1', carrier: 'Blue Van', tracking_number: 'SP1' };
    const delivery = await sandbox.webhooks.emitShipment({ ...choice, shipment });
    const { path, headers, body, parts } = newest();
    expect(path).toBe('/webhooks/shipments/sub_demo');
    expect(headers['shipping-event']).toBe('shipment.delivered');
    expect(JSON.parse(body)).toEqual({ ...choice, data: { shipment: { ...shipment, status: 'delivered' } } });
    expect(parts).toEqual({ t: expect.any(String), v1: hmac(secretOf('SHIPMENT_WEBHOOKS'), body) });
    expect(Number(parts['t'])).toBeCloseTo(sandbox.clock.now() / 1000, -1);
    expect(delivery).toMatchObject({ eventId: 'evt_1', state: 'acknowledged', attempts: [{ status: 204 }] });
  });

  test('go only to subscriptions that name their type', async () => {
    const { id } = sandbox.webhooks.addShipmentSubscription({ events: ['shipment.delivered'] });
    await expect(sandbox.webhooks.emitShipment({ type: 'shipment.created', to: id })).rejects.toThrow(
      'not include',
    );
    await sandbox.webhooks.emitShipment({ type: 'shipment.delivered', to: id });
    expect(newest().path).toBe(`/webhooks/shipments/${id}`);
    expect(sandbox.settings['SHIPMENT_WEBHOOKS']).toMatch(new RegExp(`^sub_demo=[^,]+,${id}=whsec_[^,]+$`));
  });
});

describe('attempts', () => {
  test.each([
    ['shipments', () => sandbox.webhooks.emitShipment()],
    ['payments', () => sandbox.webhooks.emitPayment()],
  ])('are made at 0, 5 min, 30 min and 2 h, then the event has failed: %s', async (_, emit) => {
    receiver.status = 500;
    const delivery = await emit();
    expect(delivery.state).toBe('pending');
    const counts = [];
    for (const minutes of [4.9, 0.2, 24.8, 0.2, 89.8, 0.2, 600]) {
      await sandbox.clock.advance(minutes * minuteMs);
      counts.push(delivery.attempts.length);
    }
    expect(counts).toEqual([1, 2, 2, 3, 3, 4, 4]);
    expect(delivery.state).toBe('failed');
    const times = delivery.attempts.map(({ at }) =>
      Math.round((at - (delivery.attempts[0]?.at ?? 0)) / minuteMs),
    );
    expect(times).toEqual([0, 5, 30, 120]);
    expect(new Set(receiver.arrivals.map(({ body }) => body)).size).toBe(1);
  });

  test('end with the first 2xx, and each is signed with its own time', async () => {
    receiver.status = 503;
    const delivery = await sandbox.webhooks.emitShipment();
    const first = Number(newest().parts['t']);
    receiver.status = 200;
    await sandbox.clock.advance(dayMs);
    expect(delivery).toMatchObject({ state: 'acknowledged', attempts: [{ status: 503 }, { status: 200 }] });
    expect(Number(newest().parts['t']) - first).toBeCloseTo(300, -1);
  });

  test('fail while nobody listens, and continue until somebody does', async () => {
    sandbox.deliverTo('http://127.0.0.1:1');
    const delivery = await sandbox.webhooks.emitShipment();
    expect(delivery.attempts).toMatchObject([{ status: null }]);
    sandbox.deliverTo(receiver.url);
    await sandbox.clock.advance(5 * minuteMs);
    expect(delivery.state).toBe('acknowledged');
  });
});

describe('payment events', () => {
  test('arrive signed over timestamp and body', async () => {
    await sandbox.webhooks.emitPayment({
      id: 'evt_2',
      created: 1700000000,
      object: { id: 'pay_1', amount: 5 },
    });
    const { path, body, parts } = newest();
    expect(path).toBe('/webhooks/payments/pe_demo');
    expect(JSON.parse(body)).toMatchObject({
      id: 'evt_2',
      object: 'event',
      api_version: '2026-01-01',
      type: 'payment.succeeded',
      created: 1700000000,
      livemode: false,
      data: { object: { id: 'pay_1', amount: 5, currency: 'eur', status: 'succeeded' } },
    });
    const v1 = hmac(secretOf('PAYMENT_WEBHOOKS'), `${parts['t']}.${body}`);
    expect(parts).toEqual({ t: expect.any(String), v1 });
  });

  test('have the status that their type says', async () => {
    await sandbox.webhooks.emitPayment({ type: 'payment.failed' });
    expect(JSON.parse(newest().body)).toMatchObject({
      type: 'payment.failed',
      data: { object: { status: 'failed' } },
    });
  });

  test('have the pinned API version, and are replayed in the current one', async () => {
    const { id } = sandbox.webhooks.addPaymentEndpoint({ apiVersion: '2024-06-01' });
    const { eventId } = await sandbox.webhooks.emitPayment({ to: id });
    const before = JSON.parse(newest().body);
    sandbox.webhooks.setApiVersion(id, '2026-01-01');
    await sandbox.webhooks.replay(eventId, id);
    const after = JSON.parse(newest().body);
    expect([before.api_version, after.api_version]).toEqual(['2024-06-01', '2026-01-01']);
    const { card_last4, ...documented } = before.data.object;
    expect(after).toMatchObject({ id: eventId, type: before.type, created: before.created });
    expect(after.data.object).toEqual({ ...documented, payment_method: { card_last4 } });
  });

  test('can have any body, correctly signed', async () => {
    await sandbox.webhooks.sendBody('pe_demo', 'not json');
    const { body, parts } = newest();
    expect(body).toBe('not json');
    expect(parts['v1']).toBe(hmac(secretOf('PAYMENT_WEBHOOKS'), `${parts['t']}.not json`));
  });
});

describe('rotation', () => {
  test('returns a new secret, and signs v0 with the previous one for 24 hours', async () => {
    const previous = secretOf('PAYMENT_WEBHOOKS');
    const { status, body } = await rotate();
    const secret = secretOf('PAYMENT_WEBHOOKS');
    expect([status, body]).toEqual([
      200,
      { id: 'pe_demo', secret, previous_secret_expires_at: expect.stringMatching(/Z$/) },
    ]);
    expect(secret).not.toBe(previous);
    await sandbox.clock.advance(dayMs - 10_000);
    await sandbox.webhooks.emitPayment();
    const during = newest();
    const signed = `${during.parts['t']}.${during.body}`;
    expect(during.parts).toMatchObject({ v1: hmac(secret, signed), v0: hmac(previous, signed) });
    await sandbox.clock.advance(10_000);
    await sandbox.webhooks.emitPayment();
    expect(Object.keys(newest().parts)).toEqual(['t', 'v1']);
  });

  test('works for payment endpoints only (404), and requires the API token if one is set (401)', async () => {
    expect((await rotate(undefined, 'none')).status).toBe(404);
    expect((await rotate(undefined, 'sub_demo')).status).toBe(404);
    sandbox.webhooks.apiToken = 'key';
    expect((await rotate()).status).toBe(401);
    expect((await rotate('key')).status).toBe(200);
    expect(sandbox.settings['PAYMENTS_API_TOKEN']).toBe('key');
  });
});
