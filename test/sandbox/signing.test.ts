import { expect, test } from 'vitest';
import { signPayment, signShipment } from '../../src/sandbox/signing.js';

// The expected values were made with `openssl dgst -sha256 -hmac <secret>`.
const body = '{"id":"evt_1","type":"shipment.created"}';

test('a shipment signature covers the raw body alone', () => {
  expect(signShipment('whsec_literal', 1700000000, body)).toBe(
    't=1700000000,v1=dfcb703c6804d83a56b56d986232bae61531fc80e644dae9d61783898a8f94ca',
  );
});

test('a payment signature covers the timestamp, a full stop and the raw body', () => {
  expect(signPayment('whsec_literal', undefined, 1700000000, body)).toBe(
    't=1700000000,v1=acea7869f8b919d7bc80c772c6da2bb6431af84aa903146a1a20b24fb98ef1cc',
  );
});

test('v0 is made with the previous secret', () => {
  expect(signPayment('whsec_literal', 'whsec_before', 1700000000, body)).toBe(
    't=1700000000,v1=acea7869f8b919d7bc80c772c6da2bb6431af84aa903146a1a20b24fb98ef1cc' +
      ',v0=9833085cdfcc96396e34073ed2021548e657e9ca785d905ca0874a4f5e05bb4c',
  );
});
