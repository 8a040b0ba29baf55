import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instant, looseInstant } from '../../src/lib/iso-instant.js';

const moment = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9998-12-30T00:00:00Z'),
  noInvalidDate: true,
});
const offset = fc.option(fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 }));
/** A moment in milliseconds, and its text with some offset or none. */
const written = fc.record({ moment, offset, between: fc.constantFrom('T', 't', ' ') }).map(write);

function write(about: { moment: Date; offset: number | null; between: string }) {
  const time = about.moment.getTime();
  const local = new Date(time + (about.offset ?? 0) * 60_000).toISOString().slice(0, -1);
  const minutes = Math.abs(about.offset ?? 0);
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  const zone = about.offset === null ? '' : `${about.offset < 0 ? '-' : '+'}${hour}:${minute}`;
  return { time, text: local.replace('T', about.between) + zone };
}

const compare = (a: string, b: string) => Number(a > b) - Number(a < b);

describe('a timestamp', () => {
  test('sorts by its time, which is in UTC if it has no offset', () => {
    const near = fc.integer({ min: -90_000, max: 90_000 });
    fc.assert(
      fc.property(written, offset, near, (one, zone, apart) => {
        const other = write({ moment: new Date(one.time + apart), offset: zone, between: 'T' });
        expect(looseInstant(one.text)).toBe(instant(new Date(one.time).toISOString()));
        expect(compare(looseInstant(one.text)!, looseInstant(other.text)!)).toBe(Math.sign(-apart) + 0);
      }),
    );
  });

  test.each([
    ['2026-05-01T12:00:00', '2026-05-01T12:00:00Z'],
    ['2026-05-01 12:00:00', '2026-05-01T12:00:00Z'],
    ['2026-05-01 12:00:00.5+02:00', '2026-05-01T10:00:00.5Z'],
    ['2026-05-01 12:00:00 +0200', '2026-05-01T10:00:00Z'],
    ['2026-05-01T12:00', '2026-05-01T12:00:00Z'],
    ['2026-05-01', '2026-05-01T00:00:00Z'],
    ['2026-05-01T24:00', '2026-05-02T00:00:00Z'],
    ['2026-05-01T12', '2026-05-01T12:00:00Z'],
    ['2026-05-01T12+02', '2026-05-01T10:00:00Z'],
    ['20260501', '2026-05-01T00:00:00Z'],
    ['20260501T12Z', '2026-05-01T12:00:00Z'],
    ['20260501T1230-0130', '2026-05-01T14:00:00Z'],
    ['20260501T123000,25Z', '2026-05-01T12:30:00.25Z'],
    ['2026-W40-1T10:00:00Z', '2026-09-28T10:00:00Z'],
    ['2026W401T100000Z', '2026-09-28T10:00:00Z'],
    ['2026-W53-7', '2027-01-03T00:00:00Z'],
    ['2025-W01-1', '2024-12-30T00:00:00Z'],
    ['2026-271T10:00:00Z', '2026-09-28T10:00:00Z'],
    ['2026271T10Z', '2026-09-28T10:00:00Z'],
    ['2024-366', '2024-12-31T00:00:00Z'],
    ['2026-09-28T10:00.5Z', '2026-09-28T10:00:30Z'],
    ['20260928T1000,51+02', '2026-09-28T08:00:30.6Z'],
    ['2026-09-28T10.5', '2026-09-28T10:30:00Z'],
    ['2026-271T10.00010Z', '2026-09-28T10:00:00.36Z'],
    ['2026-09-28T24.0Z', '2026-09-29T00:00:00Z'],
  ])('%s is %s', (text, strict) => expect(looseInstant(text)).toBe(instant(strict)));

  test.each([
    '',
    '2026-05',
    '2026-02-30',
    '2026-05-01Z',
    '2026-05-01T',
    '2026-05-01T25:00',
    '2026-05-01  12:00',
    '2026-05-01T1',
    '2026-05-01T123',
    '2026-05-01T12:',
    '2026-05-01T12.',
    '2026-05-01T12:.5',
    '2026-05-01T24.1',
    '2026-05-01T12:60.5',
    '2026-05-01T12.5:30',
    '2026-05-01 12.5.5',
    '2026-000',
    '2026-366',
    '2026-05',
    '2026-W40',
    '2026-W00-1',
    '2025-W53-1',
    '2026-W40-0',
    '2026-W40-8',
    '2026-W4-1',
    '20260',
    '20260501T1230001Z',
  ])('%j is not a timestamp', (text) => expect(looseInstant(text)).toBeUndefined());
});

test.each(['2026-05-01T12:00:00', '2026-05-01 12:00:00Z', '2026-05-01'])(
  '%s is not a strict date-time',
  (text) => expect(instant(text)).toBeUndefined(),
);

describe('a very long text', () => {
  const many = 1_000_000;

  test('is not a timestamp if a blank follows its digits', () => {
    expect(looseInstant(`2026-01-01T${'1'.repeat(many)} `)).toBeUndefined();
  });

  test('is a time to the nanosecond, even in its fraction of an hour', () => {
    const thirds = looseInstant(`2026-05-01T12.${'3'.repeat(many)}Z`);
    expect(thirds).toBe(instant('2026-05-01T12:19:59.999999999Z'));
    const date = '2026-05-01T12:00:00';
    expect(instant(`${date}.1234567891${'9'.repeat(many)}Z`)).toBe(instant(`${date}.123456789Z`));
    expect(instant(`${date}.${'0'.repeat(many)}1Z`)).toBe(instant(`${date}Z`));
  });

  test('loses the trailing zeros of its fraction', () => {
    expect(instant(`2026-05-01T12:00:00.5${'0'.repeat(many)}Z`)).toBe(instant('2026-05-01T12:00:00.5Z'));
  });
});
