import { afterEach, expect, test, vi } from 'vitest';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { createWarnings } from '../../../src/lib/telemetry/rate-limited-log.js';

afterEach(() => void vi.useRealTimers());

test('logs one line a second for each kind of warning, with the number of suppressed ones', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lines: string[] = [];
  const warn = createWarnings(createTelemetry('info', { write: (line) => void lines.push(line) }));
  let asked = 0;
  const about = () => ({ asked: (asked += 1) });
  for (let count = 0; count < 3; count += 1) warn('it failed', about);
  warn('it failed', about, 'another kind');
  warn('something else failed', about);
  vi.advanceTimersByTime(999);
  warn('it failed', about);
  vi.advanceTimersByTime(1);
  for (let count = 0; count < 2; count += 1) warn('it failed', about);
  vi.advanceTimersByTime(1_000);
  warn('it failed', about);
  vi.advanceTimersByTime(1_000);
  warn('it failed', about);
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 40, msg: 'it failed', asked: 1, suppressed: 0 },
    { msg: 'it failed', asked: 2, suppressed: 0 },
    { msg: 'something else failed', asked: 3, suppressed: 0 },
    { msg: 'it failed', asked: 4, suppressed: 3 },
    { msg: 'it failed', asked: 5, suppressed: 1 },
    { msg: 'it failed', asked: 6, suppressed: 0 },
  ]);
});
