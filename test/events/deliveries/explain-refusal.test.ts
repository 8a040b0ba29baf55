import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { createShipmentFamily } from '../../../src/domains/shipments/family.js';
import { explainRefusal } from '../../../src/events/deliveries/explain-refusal.js';
import { Refusal } from '../../../src/events/webhooks/request.js';

const digits = 'a'.repeat(64);

test.each([
  [[`v1=${digits}`], 'it has no `t`, the time of signing'],
  [[`t=1,t=2,v1=${digits}`], 'it has 2 `t`, the time of signing'],
  [[`t=1e3,v1=${digits}`], '`t`, the time of signing, is not in plain decimal digits'],
  [['t'], '`t`, the time of signing, is not in plain decimal digits'],
  [[`t=1${`,v1=${digits}`.repeat(8)}`], 'it has 9 elements, and at most 8 are accepted'],
  [['t=1', 't=1'], 'it was sent 2 times'],
])('says what is wrong with the signature header %j', (headers, reason) => {
  const { message, genuine } = explainRefusal({
    request: {
      family: 'shipments',
      endpointId: 'ep_1',
      method: 'POST',
      rawHeaders: headers.flatMap((header) => ['Shipping-Signature', header]),
      body: Readable.from([]),
    },
    refusal: new Refusal(401, 'SIGNATURE_MALFORMED', 'The signature header is malformed.'),
    family: createShipmentFamily({ skewSeconds: 60 }),
    now: 0,
  });
  expect(message).toBe(`The signature header cannot be read: ${reason}.`);
  expect(genuine).toBe(false);
});
