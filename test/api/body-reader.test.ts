import { afterAll, expect, test } from 'vitest';
import { createBodyReader, createWebhookFamilies } from '../../src/api/webhook-families.js';
import { readDelivery } from '../../src/events/webhooks/request.js';
import { SpareThread } from '../../src/lib/async/thread.js';

const settings = {
  webhookSkewSeconds: 300,
  paymentEventTypes: ['payment.succeeded'],
  paymentsCreatedUnit: 'auto' as const,
  paymentToleranceSeconds: 300,
};
const thread = new SpareThread(new URL('../../src/api/body-reader.ts', import.meta.url), 'test');
const read = createBodyReader(settings, thread);

afterAll(() => thread.stop());

const payment = (rest: object) =>
  JSON.stringify({ id: 'evt_1', type: 'payment.succeeded', created: 1, ...rest });

test.each([
  ['a payment', 'payments', payment({ data: { object: { id: 'pay_1', amount: 5 }, more: [{}, {}] } })],
  ['a payment of an unknown type', 'payments', payment({ type: 'payment.other' })],
  ['a shipment', 'shipments', '{"id":"e","type":"shipment.created","data":{"shipment":{"id":"s"}}}'],
  ['no JSON', 'payments', '{"id":'],
  ['no id', 'shipments', '{"type":"shipment.created"}'],
  ['bytes that are no UTF-8', 'payments', Buffer.from([0x7b, 0xff, 0x7d])],
])('the thread reads %s as it is read here', async (_, name, text) => {
  const body = Buffer.from(text);
  const family = createWebhookFamilies(settings).find((each) => each.name === name)!;
  const at = '2026-01-01T00:00:00.000Z';
  expect(await read(name, body, at)).toEqual(readDelivery(family.parse, body, at));
});
