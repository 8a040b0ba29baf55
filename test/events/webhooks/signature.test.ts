import * as fc from 'fast-check';
import { Stripe } from 'stripe';
import { describe, expect, test } from 'vitest';
import {
  findSignatureFault,
  parseSignature,
  signedAt,
  type SignatureFault,
  type SignatureScheme,
} from '../../../src/events/webhooks/signature.js';
import { createPaymentFamily } from '../../../src/domains/payments/family.js';
import { createShipmentFamily } from '../../../src/domains/shipments/family.js';

const sent = 1_767_323_045;
const shipments = createShipmentFamily({ skewSeconds: 300 }).scheme;
const payments = paymentScheme(300);
const anyAge = paymentScheme(null);

// The signatures below were made with `printf '%s' "$signed" | openssl dgst -sha256 -hmac "$secret"`.
const shipment = {
  body: Buffer.from(
    '{"id":"evt_1","type":"shipment.delivered","created_at":"2026-01-02T03:04:05Z","data":{"shipment":{"id":"shp_1","status":"delivered","carrier":"DHL","tracking_number":"JD01"}}}',
  ),
  secret: 'whsec_shipment',
  hex: '816da97c77574f3b8ffd1ab216b56b8cdcf930ccb7412da7cb4d6091f9545d94',
  base64: 'gW2pfHdXTzuP/RqyFrVrjNz5MMy3QS2ny01gkflUXZQ=',
  otherSecret: 'whsec_1',
  otherBase64: 'SJvjH8l5/TjsuNQSZsa3p87EM4dbWY+I8ALLcRmch7I=',
  otherBase64Url: 'SJvjH8l5_TjsuNQSZsa3p87EM4dbWY-I8ALLcRmch7I',
};
const payment = {
  body: Buffer.from(
    '{"id":"evt_2","object":"event","api_version":"2026-01-01","type":"payment.succeeded","created":1767323045,"livemode":true,"data":{"object":{"id":"pay_1","amount":1999,"currency":"eur","status":"succeeded"}}}',
  ),
  current: 'whsec_current',
  previous: 'whsec_previous',
  hexOfCurrent: '5043754f21bd6b6eb4483b3a9f131f4e018660a49c552add9647c1595a050174',
  hexOfPrevious: 'fa717d919332b2b7bdff468a86db9702e603116edb24bf63cdcf8a7685487c97',
  hexWithLeadingZero: '3b8d69ccdd0f83a5f8463ad4f613146cffe731aacdf98d3bbe7fdad81066d5b9',
};
const wrong = '0'.repeat(64);

function paymentScheme(toleranceSeconds: number | null): SignatureScheme {
  return createPaymentFamily({ types: [], createdUnit: 'auto', toleranceSeconds, skewSeconds: 300 }).scheme;
}

function shipmentFault(headers: string | readonly string[], at = sent, secrets = [shipment.secret]) {
  return findSignatureFault(shipments, [headers].flat(), shipment.body, { secrets, now: at * 1000 });
}

function paymentFault(header: string, secrets = [payment.current], at = sent, scheme = payments) {
  return findSignatureFault(scheme, [header], payment.body, { secrets, now: at * 1000 });
}

describe('shipments: the HMAC is over the raw body', () => {
  const t = `t=${sent}`;
  const good: readonly string[] = [
    `${t},v1=${shipment.hex}`,
    `${t},v1=${shipment.hex.toUpperCase()}`,
    `${t},v1=${shipment.base64}`,
    `${t},v1=${shipment.base64.slice(0, -1)}`,
    `v1=${shipment.hex},${t}`,
    ` \t${t}\t , v1=${shipment.hex} `,
    `${t},v1=${wrong},v1=nonsense,v1=${shipment.hex}`,
    `${t},v2=${wrong},x,=,,v1=${shipment.hex}`,
    `${t},a=1,b=2,c=3,d=4,e=5,f=6,v1=${shipment.hex}`,
    `t=000${sent},v1=${shipment.hex}`,
  ];
  test.each(good)('accepts %s', (header) => expect(shipmentFault(header)).toBeUndefined());

  test('accepts base64url, padded or not, as well as base64', () => {
    const secrets = [shipment.otherSecret];
    for (const value of [shipment.otherBase64, shipment.otherBase64Url, `${shipment.otherBase64Url}=`])
      expect(shipmentFault(`${t},v1=${value}`, sent, secrets)).toBeUndefined();
  });

  const bad: readonly (readonly [header: string | readonly string[], fault: SignatureFault])[] = [
    [[], 'SIGNATURE_MISSING'],
    [[`${t},v1=${shipment.hex}`, `${t},v1=${shipment.hex}`], 'SIGNATURE_MALFORMED'],
    ['', 'SIGNATURE_MALFORMED'],
    [`v1=${shipment.hex}`, 'SIGNATURE_MALFORMED'],
    [`t,v1=${shipment.hex}`, 'SIGNATURE_MALFORMED'],
    [`t=,v1=${shipment.hex}`, 'SIGNATURE_MALFORMED'],
    [`${t},${t},v1=${shipment.hex}`, 'SIGNATURE_MALFORMED'],
    [`${t},v1=${shipment.hex},t=1`, 'SIGNATURE_MALFORMED'],
    ...[
      '+1767323045',
      '-1767323045',
      '1767323045.0',
      '1.767323045e9',
      '0x695735A5',
      '1 767323045',
      '١٧٦',
    ].map((time) => [`t=${time},v1=${shipment.hex}`, 'SIGNATURE_MALFORMED'] as const),
    [`${t},a=1,b=2,c=3,d=4,e=5,f=6,g=7,v1=${shipment.hex}`, 'SIGNATURE_MALFORMED'],
    [`${t},v1=${shipment.hex},,,,,,,`, 'SIGNATURE_MALFORMED'],
    [`t=${'9'.repeat(400)},v1=${shipment.hex}`, 'SIGNATURE_TOO_FAR_AHEAD'],
    [t, 'SIGNATURE_WRONG'],
    [`${t},v1=`, 'SIGNATURE_WRONG'],
    [`${t},v1=${wrong}`, 'SIGNATURE_WRONG'],
    [`${t},V1=${shipment.hex}`, 'SIGNATURE_WRONG'],
    [`${t},v1 =${shipment.hex}`, 'SIGNATURE_WRONG'],
    [`${t},v1=${shipment.hex}00`, 'SIGNATURE_WRONG'],
    [`${t},v1=${shipment.hex.slice(0, 62)}`, 'SIGNATURE_WRONG'],
    [`${t},v1=${shipment.base64}=`, 'SIGNATURE_WRONG'],
    // The last digit has other unused bits.
    [`${t},v1=${shipment.base64.replace('Q=', 'R=')}`, 'SIGNATURE_WRONG'],
    [`${t},v0=${shipment.hex}`, 'SIGNATURE_WRONG'],
  ];
  test.each(bad)('refuses %j as %s', (headers, fault) => expect(shipmentFault(headers)).toBe(fault));

  test('refuses both alphabets of base64 in one value', () => {
    const mixed = shipment.otherBase64.replace('/', '_');
    expect(shipmentFault(`${t},v1=${mixed}`, sent, [shipment.otherSecret])).toBe('SIGNATURE_WRONG');
  });

  test.each<readonly [seconds: number, fault: SignatureFault | undefined]>([
    [300, undefined],
    [300.999, undefined],
    [301, 'SIGNATURE_TOO_OLD'],
    [-300, undefined],
    [-300.001, 'SIGNATURE_TOO_FAR_AHEAD'],
    [-301, 'SIGNATURE_TOO_FAR_AHEAD'],
  ])('an age of %d seconds gives %s', (age, fault) =>
    expect(shipmentFault(`${t},v1=${shipment.hex}`, sent + age)).toBe(fault),
  );

  test('refuses a body with any one byte altered', () => {
    const header = `${t},v1=${shipment.hex}`;
    for (const at of shipment.body.keys()) {
      const body = Buffer.from(shipment.body);
      body[at]! ^= 1;
      const fault = findSignatureFault(shipments, [header], body, {
        secrets: [shipment.secret],
        now: sent * 1000,
      });
      expect(fault, `byte ${at}`).toBe('SIGNATURE_WRONG');
    }
  });

  test('refuses a signature with any one digit altered', () => {
    for (const at of Array.from(shipment.hex).keys()) {
      const digit = shipment.hex[at] === '0' ? '1' : '0';
      const altered = shipment.hex.slice(0, at) + digit + shipment.hex.slice(at + 1);
      expect(shipmentFault(`${t},v1=${altered}`), `digit ${at}`).toBe('SIGNATURE_WRONG');
    }
  });
});

describe('payments: the HMAC is over `<t>.<raw body>`', () => {
  const v1 = `v1=${payment.hexOfCurrent}`;
  const v0 = `v0=${payment.hexOfPrevious}`;

  test('accepts v1 or v0 by any secret that is valid now', () => {
    expect(paymentFault(`t=${sent},${v1}`)).toBeUndefined();
    expect(paymentFault(`t=${sent},${v1},${v0}`, [payment.previous])).toBeUndefined();
    expect(paymentFault(`t=${sent},${v1},${v0}`, ['whsec_newest', payment.current])).toBeUndefined();
    expect(
      paymentFault(`t=${sent},v1=${payment.hexOfPrevious}`, [payment.current, payment.previous]),
    ).toBeUndefined();
    expect(paymentFault(`t=${sent},v0=${payment.hexOfCurrent}`)).toBeUndefined();
    expect(paymentFault(`t=${sent},${v1},${v0}`, ['whsec_newest'])).toBe('SIGNATURE_WRONG');
    expect(paymentFault(`t=${sent},${v1},${v0}`, [])).toBe('SIGNATURE_WRONG');
  });

  test('verifies the time as it was written', () => {
    expect(paymentFault(`t=0${sent},v1=${payment.hexWithLeadingZero}`)).toBeUndefined();
    expect(paymentFault(`t=0${sent},${v1}`)).toBe('SIGNATURE_WRONG');
    expect(paymentFault(`t=${sent + 1},${v1}`)).toBe('SIGNATURE_WRONG');
  });

  test('uses the configured tolerance or none, but always limits times in the future', () => {
    const header = `t=${sent},${v1}`;
    expect(paymentFault(header, [payment.current], sent + 300)).toBeUndefined();
    expect(paymentFault(header, [payment.current], sent + 301)).toBe('SIGNATURE_TOO_OLD');
    expect(paymentFault(header, [payment.current], sent + 10, paymentScheme(9))).toBe('SIGNATURE_TOO_OLD');
    expect(paymentFault(header, [payment.current], sent + 1e8, anyAge)).toBeUndefined();
    expect(paymentFault(header, [payment.current], sent - 301, anyAge)).toBe('SIGNATURE_TOO_FAR_AHEAD');
  });

  test('agrees with an independent signer', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 1 }), (payload, secret) => {
        const header = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: sent });
        const check = (body: string, key: string) =>
          findSignatureFault(payments, [header], Buffer.from(body), { secrets: [key], now: sent * 1000 });
        expect(check(payload, secret)).toBeUndefined();
        expect(check(`${payload} `, secret)).toBe('SIGNATURE_WRONG');
        expect(check(payload, `${secret}!`)).toBe('SIGNATURE_WRONG');
      }),
    );
  });
});

test.each([
  [[`t=0${sent},v1=x`, 't=1'], sent * 1000],
  [['t=8640000000000'], 8.64e15],
  [['t=8640000000001'], undefined],
  [[`t=${'9'.repeat(400)}`], undefined],
  [['t=1e3'], undefined],
  [[], undefined],
])('%j was signed at %s', (headers, time) => expect(signedAt(headers)).toBe(time));

describe('the header parser', () => {
  const piece = fc.oneof(
    fc.constantFrom('t=', 'v1=', 'v0=', ',', '=', ' ', String(sent), shipment.hex, shipment.base64),
    fc.string({ unit: 'binary' }),
  );

  test('never throws, and returns only digests of 32 bytes', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const parsed = parseSignature(pieces.join(''), ['v1', 'v0']);
        expect(parsed?.t ?? '0').toMatch(/^[0-9]+$/);
        expect((parsed?.signatures ?? []).every(({ length }) => length === 32)).toBe(true);
      }),
    );
  });

  test('reads every element once, in order', () => {
    const { t, signatures } = parseSignature(`t=1,v1=${shipment.hex},v0=${wrong},v1=`, ['v1', 'v0'])!;
    expect(t).toBe('1');
    expect(signatures.map((bytes) => bytes.toString('hex'))).toEqual([shipment.hex, wrong]);
  });
});
