import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EventBody } from '../../../src/events/webhooks/request.js';
import {
  createdTime,
  createPaymentFamily,
  readPaymentEvent,
  type PaymentFamilyOptions,
} from '../../../src/domains/payments/family.js';

const receivedAt = '2026-01-02T03:04:05.678Z';
const receivedMs = Date.parse(receivedAt);
const options: PaymentFamilyOptions = {
  types: ['payment.succeeded', 'payment.refunded'],
  createdUnit: 'auto',
  toleranceSeconds: 300,
  skewSeconds: 300,
};
const family = createPaymentFamily(options);

function body(changes: Readonly<Record<string, unknown>> = {}): EventBody {
  return {
    id: 'evt_1',
    object: 'event',
    api_version: '2026-01-01',
    type: 'payment.succeeded',
    created: 1_767_323_045,
    livemode: true,
    data: { object: { id: 'pay_1', amount: 1999, currency: 'eur', status: 'succeeded' } },
    ...changes,
  };
}

const withPayment = (object: unknown) => body({ data: { object } });

function read(event: EventBody, unit: 'auto' | 's' | 'ms' = 'auto') {
  return readPaymentEvent(event, receivedAt, unit);
}

test('parses an event as documented', () => {
  const event = {
    kind: 'PaymentEvent',
    eventId: 'evt_1',
    type: 'payment.succeeded',
    apiVersion: '2026-01-01',
    created: 1_767_323_045,
    livemode: true,
    receivedAt,
    paymentId: 'pay_1',
    amount: 1999,
    currency: 'eur',
    status: 'succeeded',
    data: { object: { id: 'pay_1', amount: 1999, currency: 'eur', status: 'succeeded' } },
  };
  expect(family.parse(body(), receivedAt)).toEqual({
    apiVersion: '2026-01-01',
    // Only readers need the data: it goes to the log as text.
    known: {
      entityId: 'pay_1',
      event: { ...event, data: null },
      text: JSON.stringify(event),
      undated: false,
    },
    unnamed: false,
  });
});

test('parses the configured types, and skips others', () => {
  for (const type of ['payment.succeeded', 'payment.refunded'])
    expect(family.parse(body({ type }), receivedAt).known).toMatchObject({ event: { type } });
  for (const type of ['payment.failed', 'constructor', ''])
    expect(family.parse(body({ type }), receivedAt).known).toBeNull();
});

test('records any api_version, even of a skipped event', () => {
  for (const [given, recorded] of [
    ['2099-12-31', '2099-12-31'],
    ['', ''],
    [undefined, null],
    [7, null],
  ])
    for (const type of ['payment.succeeded', 'unknown'])
      expect(family.parse(body({ type, api_version: given }), receivedAt).apiVersion).toBe(recorded);
});

test.each([
  ['no data', body({ data: undefined })],
  ['data that is null', body({ data: null })],
  ['no object', body({ data: {} })],
  ['an object that is a list', withPayment([{ id: 'pay_1' }])],
  ['no id', withPayment({ amount: 1 })],
  ['an empty id', withPayment({ id: '' })],
  ['a number as id', withPayment({ id: 1 })],
])('skips an event with %s', (_, event) =>
  expect(family.parse(event, receivedAt)).toMatchObject({ known: null, unnamed: true }),
);

test('reads what is absent or of the wrong type as null', () => {
  const none = { amount: null, currency: null, status: null };
  expect(read(withPayment({ id: 'pay_1' }))).toMatchObject(none);
  for (const amount of ['1', 1.5, 2 ** 53, null, Infinity])
    expect(read(withPayment({ id: 'pay_1', amount, currency: 1, status: false }))).toMatchObject(none);
  for (const amount of [0, -5, Number.MAX_SAFE_INTEGER])
    expect(read(withPayment({ id: 'pay_1', amount }))).toMatchObject({ amount });
  for (const livemode of [undefined, null, 'yes', 1])
    expect(read(body({ livemode }))).toMatchObject({ livemode: null });
  for (const livemode of [true, false]) expect(read(body({ livemode }))).toMatchObject({ livemode });
});

test('keeps data as it was sent, or null if it is nested too deeply to be serialised', () => {
  const data = { object: { id: 'pay_1', more: [{ deep: null }] }, previous: { amount: 1 } };
  expect(read(body({ data }))).toMatchObject({ data });
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(read(withPayment({ id: 'pay_1', deep }))).toMatchObject({ paymentId: 'pay_1', data: null });
});

test('keeps numbers in data as JavaScript reads them, and 200 levels at most, as the schema says', () => {
  const shown = (member: string) => {
    const data = JSON.parse(`{ "object": { "id": "pay_1", "more": ${member} } }`) as object;
    return JSON.stringify((read(body({ data })) as { readonly data: unknown }).data);
  };
  const levels = (count: number) => '['.repeat(count) + ']'.repeat(count);
  for (const [sent, seen = sent] of [
    ['9007199254740993', '9007199254740992'],
    ['0.12345678901234567890', '0.12345678901234568'],
    ['1e400', 'null'],
    [levels(198)],
  ])
    expect(shown(sent!)).toBe(`{"object":{"id":"pay_1","more":${seen}}}`);
  expect(shown(levels(199))).toBe('null');
});

describe('created', () => {
  test('is the raw number', () => {
    for (const created of [0, -1, 1_767_323_045, 1_767_323_045_678, Number.MAX_SAFE_INTEGER])
      expect(read(body({ created }))).toMatchObject({ created });
  });

  test.each([
    ['1767323045', 1_767_323_045],
    [' 1767323045.25 ', 1_767_323_045],
    [1_767_323_045.987, 1_767_323_045],
    [-1.5, -2],
    [JSON.parse('1767323045123456789') as number, 1_767_323_045_123_456],
    ['1767323045123456789', 1_767_323_045_123_456],
  ])('is read from %j as %d', (given, created) => {
    expect(read(body({ created: given }))).toMatchObject({ created });
  });

  test('in nanoseconds is the time that it stands for', () => {
    const { created } = read(body({ created: JSON.parse('1767323045123456789') as number }))!;
    expect(createdTime(created, 'auto')).toBe('2026-01-02T03:04:05.123456Z');
  });

  test.each([undefined, null, 'soon', '', '1e9', '0x10', 2 ** 53, {}, [1], true])(
    'is the time of receipt if it is given as %j',
    (created) => {
      expect(read(body({ created }), 'auto')).toMatchObject({ created: 1_767_323_045 });
      expect(read(body({ created }), 's')).toMatchObject({ created: 1_767_323_045 });
      expect(read(body({ created }), 'ms')).toMatchObject({ created: receivedMs });
    },
  );

  test.each([
    [1_767_323_045, 's', '2026-01-02T03:04:05.000Z'],
    [1_767_323_045, 'auto', '2026-01-02T03:04:05.000Z'],
    [1_767_323_045, 'ms', '1970-01-21T10:55:23.045Z'],
    [1_767_323_045_678, 'auto', '2026-01-02T03:04:05.678Z'],
    [1_767_323_045_678_009, 'auto', '2026-01-02T03:04:05.678009Z'],
    [253_402_300_799, 's', '9999-12-31T23:59:59.000Z'],
    [253_402_300_800, 's', undefined],
    [1_767_323_045_678_009, 'ms', undefined],
    [-99_999_999_999, 'auto', undefined],
    [99_999_999_999, 'auto', '5138-11-16T09:46:39.000Z'],
    [100_000_000_000, 'auto', '1973-03-03T09:46:40.000Z'],
    [99_999_999_999_999, 'auto', '5138-11-16T09:46:39.999Z'],
    [100_000_000_000_000, 'auto', '1973-03-03T09:46:40.000000Z'],
    [-1, 'auto', '1969-12-31T23:59:59.000Z'],
    [-100_000_000_000, 'auto', '1966-10-31T14:13:20.000Z'],
    [-100_000_000_000_001, 'auto', '1966-10-31T14:13:19.999999Z'],
  ] as const)('%d in the unit %s is %s', (created, unit, time) =>
    expect(createdTime(created, unit)).toBe(time),
  );

  test('in microseconds loses no precision', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1e14, max: Number.MAX_SAFE_INTEGER }), fc.boolean(), (size, isBefore) => {
        const created = isBefore ? -size : size;
        const [whole, fraction] = createdTime(created, 'auto')!.slice(0, -1).split('.');
        expect(Date.parse(`${whole}Z`) * 1000 + Number(fraction)).toBe(created);
      }),
    );
  });

  test('that is no time in the unit stays as it is, and the time of receipt counts', () => {
    const inSeconds = createPaymentFamily({ ...options, createdUnit: 's' });
    for (const [created, undated] of [
      [receivedMs, true],
      [Math.floor(receivedMs / 1000), false],
    ] as const)
      expect(inSeconds.parse(body({ created }), receivedAt).known).toMatchObject({
        event: { created },
        undated,
      });
  });

  const [first, last] = [Date.parse('0000-01-01'), Date.parse('9999-12-31T23:59:59.999Z')];
  const moment = fc.integer({ min: first, max: last });

  test.each([
    ['s', 1000],
    ['ms', 1],
  ] as const)(
    'in the unit %s becomes the date-time of its moment, in the order of the numbers',
    (unit, ms) => {
      fc.assert(
        fc.property(moment, moment, (...moments) => {
          const numbers = moments.map((at) => Math.floor(at / ms)).toSorted((one, other) => one - other);
          const times = numbers.map((created) => createdTime(created, unit)!);
          expect(times.map((time) => Date.parse(time) / ms)).toEqual(numbers);
          expect(times).toEqual(times.toSorted());
        }),
      );
    },
  );

  test('in the unit auto becomes a date-time with a year of four digits, or none', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: -2e11, max: 2e11 }), fc.maxSafeInteger()), (created) => {
        const time = createdTime(created, 'auto');
        if (time === undefined) return;
        expect(time).toMatch(/^\d{4}-/);
        expect(Date.parse(time)).not.toBeNaN();
      }),
    );
  });
});

test('never throws, whatever the JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const event of [
        body({ data: value, created: value }),
        withPayment(value),
        withPayment({ id: 'x', value }),
      ])
        expect(() => JSON.stringify(read(event))).not.toThrow();
    }),
  );
});
