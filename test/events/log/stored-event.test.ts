import { describe, expect, test } from 'vitest';
import { readPaymentEvent } from '../../../src/domains/payments/family.js';
import { readStoredEvent } from '../../../src/events/log/log.js';
import { LaterJson } from '../../../src/lib/json.js';

const long = 'x'.repeat(70_000);

function paymentEvent(data: object, id = 'evt_1') {
  const body = { id, type: 'payment.succeeded', created: 1, livemode: false, data };
  return readPaymentEvent(body, '2026-01-01T00:00:00.000Z', 's')!;
}

/** What was read, with every value parsed. */
function whole(read: unknown): unknown {
  return JSON.parse(JSON.stringify(read));
}

describe('a stored event', () => {
  test('leaves the long data of a payment for later, and has all the rest at once', () => {
    const event = paymentEvent({ object: { id: 'pay_1', amount: 5 }, more: long, data: { data: [] } });
    const read = readStoredEvent(JSON.stringify(event)) as typeof event;
    expect(read.data).toBeInstanceOf(LaterJson);
    expect(read).toMatchObject({ eventId: 'evt_1', paymentId: 'pay_1', amount: 5, livemode: false });
    expect(whole(read)).toEqual(event);
  });

  test('is not misled by texts that look like its data', () => {
    const event = paymentEvent(
      { object: { id: 'pay_1' }, more: long },
      'evt ,"data":{"x":1}} \\",\\"data\\":',
    );
    expect(whole(readStoredEvent(JSON.stringify(event)))).toEqual(event);
  });

  test('is read whole if it is short, or has no data', () => {
    const short = paymentEvent({ object: { id: 'pay_1' } });
    expect(readStoredEvent(JSON.stringify(short))).toEqual(short);
    expect(readStoredEvent(JSON.stringify({ text: long }))).toEqual({ text: long });
  });

  test.each([
    ['cut off', (text: string) => text.slice(0, 66_000)],
    ['damaged before its data', (text: string) => text.replace(':', ';')],
  ])('that is %s is refused', (_, damage) => {
    const text = JSON.stringify({ ...paymentEvent({ object: { id: 'pay_1' } }), data: { long } });
    expect(() => readStoredEvent(damage(text))).toThrow(SyntaxError);
  });

  test('whose data is damaged is told only to those who ask for the data', () => {
    const text = JSON.stringify({ ...paymentEvent({ object: { id: 'pay_1' } }), data: { long } });
    const read = readStoredEvent(text.replace('"long":', '"long";')) as Record<string, unknown>;
    expect(read['paymentId']).toBe('pay_1');
    expect(() => (read['data'] as LaterJson).value).toThrow(SyntaxError);
  });
});
