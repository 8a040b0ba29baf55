import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { createPaymentFamily } from '../../../src/domains/payments/family.js';
import { createShipmentFamily } from '../../../src/domains/shipments/family.js';
import { explainRefusal } from '../../../src/events/deliveries/explain-refusal.js';
import type { WebhookFamily } from '../../../src/events/webhooks/webhook-family.js';
import { Refusal, type WebhookRequest } from '../../../src/events/webhooks/request.js';

const digits = 'a'.repeat(64);

/** A request with these signature headers. */
function requestWith(name: string, headers: readonly string[]): WebhookRequest {
  return {
    family: 'of no matter',
    endpointId: 'ep_1',
    method: 'POST',
    rawHeaders: headers.flatMap((header) => [name, header]),
    body: Readable.from([]),
  };
}

test.each([
  [[`v1=${digits}`], 'it has no `t`, the time of signing'],
  [[`t=1,t=2,v1=${digits}`], 'it has 2 `t`, the time of signing'],
  [[`t=1e3,v1=${digits}`], '`t`, the time of signing, is not in plain decimal digits'],
  [['t'], '`t`, the time of signing, is not in plain decimal digits'],
  [[`t=1${`,v1=${digits}`.repeat(8)}`], 'it has 9 elements, and at most 8 are accepted'],
  [['t=1', 't=1'], 'it was sent 2 times'],
])('says what is wrong with the signature header %j', (headers, reason) => {
  const { message, genuine } = explainRefusal({
    request: requestWith('Shipping-Signature', headers),
    refusal: new Refusal(401, 'SIGNATURE_MALFORMED', 'The signature header is malformed.'),
    family: createShipmentFamily({ skewSeconds: 60 }),
    now: 0,
  });
  expect(message).toBe(`The signature header cannot be read: ${reason}.`);
  expect(genuine).toBe(false);
});

test('names the setting of the greatest age where there is one', () => {
  const options = { types: [], createdUnit: 'auto', toleranceSeconds: 300, skewSeconds: 60 } as const;
  const explain = (family: WebhookFamily) =>
    explainRefusal({
      request: requestWith(family.scheme.header, [`t=0,v1=${digits}`]),
      refusal: new Refusal(401, 'SIGNATURE_TOO_OLD', 'It is too old.'),
      family,
      now: 301_000,
    }).message;
  expect(explain(createPaymentFamily(options))).toContain(
    'was held back, or the sender repeats deliveries with their first time: see PAYMENT_TIMESTAMP_TOLERANCE_SECONDS.',
  );
  expect(explain(createShipmentFamily({ skewSeconds: 60 }))).toContain('was held back. ');
});
