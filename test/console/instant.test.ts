import { expect, test, vi } from 'vitest';
import { msOf } from '../../src/console/data/instant.js';

test.each([
  ['2026-11-21T09:30:00.125+01:00', '2026-11-21T08:30:00.125Z'],
  ['2026-11-21T09:30:00,5+0130', '2026-11-21T08:00:00.500Z'],
  ['2026-11-21T09:30:00-05', '2026-11-21T14:30:00.000Z'],
  ['2026-11-21T09:30:00', '2026-11-21T09:30:00.000Z'],
  ['2026-11-21 09:30', '2026-11-21T09:30:00.000Z'],
  ['2026-11-21t09:30:00 z', '2026-11-21T09:30:00.000Z'],
  ['2026-11-21', '2026-11-21T00:00:00.000Z'],
  ['20261121T093000Z', '2026-11-21T09:30:00.000Z'],
  ['2026-11-21T23:59:60Z', '2026-11-21T23:59:59.000Z'],
])('%s is read as %s, whatever the zone of the browser', (written, meant) => {
  vi.stubEnv('TZ', 'America/New_York');
  expect(new Date(msOf(written)).toISOString()).toBe(meant);
  vi.unstubAllEnvs();
});

test.each(['noon', '', '2026-325', '2026-W47-6', '2026-11-21T09:30.5Z', '2026-13-41T09:30:00Z', '1'])(
  '%j is not read',
  (written) => expect(msOf(written)).toBeNaN(),
);
