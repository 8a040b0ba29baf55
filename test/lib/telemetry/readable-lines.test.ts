import { expect, test } from 'vitest';
import { readableLine } from '../../../src/lib/telemetry/readable-lines.js';

test('a line has the level, the message and what else is known, an error its stack below', () => {
  const time = new Date(2026, 0, 2, 13, 4, 5).getTime();
  const line = JSON.stringify({
    level: 40,
    time,
    msg: 'a delivery failed',
    family: 'payments',
    counts: { a: 1 },
  });
  expect(readableLine(line)).toBe('13:04:05 WARN  a delivery failed family=payments counts={ a: 1 }\n');
  const failed = JSON.stringify({ level: 50, time, msg: 'failed', err: { stack: 'Error: x\n    at y' } });
  expect(readableLine(failed)).toBe('13:04:05 ERROR failed\n  Error: x\n      at y\n');
});
