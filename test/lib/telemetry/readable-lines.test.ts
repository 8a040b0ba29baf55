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

test('a control character in what is logged does not reach the terminal', () => {
  const text = 'a\u001b[2J\u009b2J\r\nb';
  const line = JSON.stringify({ level: 40, time: 0, msg: text, id: text, err: { stack: `Error: ${text}` } });
  expect(readableLine(line).match(/(?!\n)\p{Cc}/gu)).toBe(null);
  expect(readableLine(line)).toContain(String.raw`id=a\u001b[2J\u009b2J\u000d\u000ab`);
});
