import { expect, test } from 'vitest';
import { parseSignature } from '../../src/events/webhooks/signature.js';
import type { SignatureTimes } from '../../src/console/app/page-settings.js';
import { explainRequest, type PastedRequest } from '../../src/console/views/webhooks/explain-request.js';

const now = 1_800_000_000_000;
const digest = 'a'.repeat(64);
const sound: PastedRequest = {
  family: 'shipments',
  signature: `t=1800000000,v1=${digest}`,
  event: '',
  body: '{"id":"evt_1","type":"shipment.created"}',
};
const usual = { maxAge: 300, maxAhead: 300 };
const faultsOf = (change: Partial<PastedRequest>, times: SignatureTimes = usual) =>
  explainRequest({ ...sound, ...change }, { now, times })
    .filter(({ isFault }) => isFault)
    .map(({ text }) => text);

test('finds nothing wrong with a sound request, as a header line or as its value', () => {
  expect(faultsOf({})).toEqual([]);
  expect(
    faultsOf({ signature: `Shipping-Signature: ${sound.signature}`, event: 'shipment.created' }),
  ).toEqual([]);
  expect(faultsOf({ family: 'payments', signature: `t=1800000000,v0=${'A'.repeat(43)}=` })).toEqual([]);
});

test.each([
  ['', 'missing or empty'],
  [`v1=${digest}`, 'no t'],
  [`t=1800000000,t=1800000000,v1=${digest}`, 'more than once'],
  [`t=1.8e9,v1=${digest}`, 'not plain decimal digits'],
  [`t=1799999000,v1=${digest}`, 'signed 1000 s ago'],
  [`t=1800000000000,v1=${digest}`, 'milliseconds'],
  ['t=1800000000,v1=abc', 'neither 64 hex digits'],
  [`t=1800000000,v0=${digest}`, 'no v1'],
  [`t=1800000000${',v1=a'.repeat(8)}`, '9 elements'],
])('says what is wrong with the signature %s', (signature, reason) => {
  expect(faultsOf({ signature }).join()).toContain(reason);
});

test.each([
  [3600, { maxAge: 3600, maxAhead: 0 }, []],
  [3601, { maxAge: 3600, maxAhead: 0 }, ['at most 3600 s is taken']],
  [1e9, { maxAhead: 0 }, []],
  [-60, { maxAge: 3600, maxAhead: 60 }, []],
  [-61, { maxAge: 3600, maxAhead: 60 }, ['at most 60 s is taken']],
])('goes by the settings of the gateway for a signature %d s old', (age, times, reasons) => {
  const faults = faultsOf({ signature: `t=${now / 1000 - age},v1=${digest}` }, times);
  expect(faults).toEqual(reasons.map((reason) => expect.stringContaining(reason)));
});

test.each([
  `t=1800000000 , v1=${digest}`,
  `t =1800000000,v1=${digest}`,
  `t=1800000000,v1= ${digest}`,
  `t=1800000000,v1=cut-off,v1=${digest}`,
  `t=1800000000,v1=${'A'.repeat(42)}B`,
  `t=1800000000,v1=${'+'.repeat(21)}${'_'.repeat(21)}A`,
  `t=1800000000,v1=${'_'.repeat(42)}8=`,
])('takes the header %s for what the receiver takes it for', (signature) => {
  const read = parseSignature(signature, ['v1']);
  expect(faultsOf({ signature })).toHaveLength(read?.signatures.length ? 0 : 1);
});

test('counts an id as the receiver does', () => {
  for (const [id, faults] of [
    ['🚚'.repeat(255), 0],
    ['🚚'.repeat(256), 1],
  ] as const)
    expect(faultsOf({ body: JSON.stringify({ id, type: 'x' }) })).toHaveLength(faults);
});

test.each([
  ['', 'no body'],
  ['[]', 'not a JSON object'],
  ['{"id":1,"type":"x"}', 'no id'],
  ['{"id":"1"}', 'no type'],
  [' '.repeat(1024 * 1024 + 1), 'at most 1 MiB'],
])('says what is wrong with a body', (body, reason) => {
  expect(faultsOf({ body }).join()).toContain(reason);
});

test('says that the event header differs from the signed type', () => {
  expect(faultsOf({ event: 'shipment.delivered' }).join()).toContain('shipment.delivered');
});
