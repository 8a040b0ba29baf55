import { expect, test } from 'vitest';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
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
  const err = { name: 'Error', message: 'x', stack: 'Error: x\n    at y' };
  const failed = JSON.stringify({ level: 50, time, msg: 'failed', err });
  expect(readableLine(failed)).toBe('13:04:05 ERROR failed\n  Error: x\n      at y\n');
});

test('an error says why each time that it is logged, and what it was caused by', () => {
  const lines: string[] = [];
  const { log } = createTelemetry('warn', { write: (line) => void lines.push(readableLine(line)) });
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  const cause = new AggregateError([refused, 'odd'], 'all failed');
  const err = new Error('Sessions cannot be looked up.', { cause });
  for (let time = 0; time < 2; time += 1) log.warn({ err }, 'a request failed');
  const [first = '', again = ''] = lines.map((line) => line.slice(line.indexOf(' ') + 1));
  expect(first).toMatch(/^WARN {2}a request failed\n {2}Error: Sessions cannot be looked up\.\n {6}at /);
  expect(again).toBe(
    'WARN  a request failed\n' +
      '  Error: Sessions cannot be looked up.\n' +
      '  caused by AggregateError: all failed\n' +
      '  one of them Error: connect ECONNREFUSED\n' +
      '  one of them odd\n',
  );
});

test('a control character in what is logged does not reach the terminal', () => {
  const text = 'a\u001b[2J\u009b2J\r\nb';
  const line = JSON.stringify({
    level: 40,
    time: 0,
    msg: text,
    id: text,
    err: { message: text, stack: `Error: ${text}` },
  });
  expect(readableLine(line).match(/(?!\n)\p{Cc}/gu)).toBe(null);
  expect(readableLine(line)).toContain(String.raw`id=a\u001b[2J\u009b2J\u000d\u000ab`);
});
