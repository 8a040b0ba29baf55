import { expect, onTestFinished, test, vi } from 'vitest';
import { dayFrom, dayName, tomorrowAt, withOffset } from '../../src/console/views/appointments/week.js';

test.each(['2026-11-23', '2028-02-29', '1970-01-01', '9998-12-31'])('an address names the day %s', (name) => {
  expect(dayName(dayFrom(name))).toBe(name);
});

test.each([undefined, '', 'soon', '2026-99-99', '2026-02-29', '0000-01-01', '9999-12-31'])(
  'shows today where an address names no day: %s',
  (name) => {
    vi.useFakeTimers({ toFake: ['Date'], now: new Date(2026, 10, 23, 23, 59) });
    onTestFinished(() => void vi.useRealTimers());
    expect(dayName(dayFrom(name))).toBe('2026-11-23');
  },
);

test.each([
  ['2026-03-07T23:30:00-05:00', '2026-03-08T09:00'],
  ['2026-11-01T00:30:00-04:00', '2026-11-02T09:00'],
])('tomorrow is the next day, also where a day has no 24 hours: %s', (now, tomorrow) => {
  vi.stubEnv('TZ', 'America/New_York');
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(now) });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });
  expect(tomorrowAt(9)).toBe(tomorrow);
});

test.each([
  ['2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
  ['2026-03-29T03:30', '2026-03-29T01:30:00.000Z'],
  ['2026-07-01T09:00', '2026-07-01T07:00:00.000Z'],
])('%s is the same moment with its offset, though summer time leave it out', (local, moment) => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(new Date(withOffset(local)).toISOString()).toBe(moment);
});
