import { expect, onTestFinished, test, vi } from 'vitest';
import { dayFrom, dayName } from '../../src/console/views/appointments/week.js';

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
