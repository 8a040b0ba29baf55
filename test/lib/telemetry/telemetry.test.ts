import { expect, onTestFinished, test, vi } from 'vitest';
import { SqliteError } from '../../../src/store/sqlite/sqlite-statements.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

/** What is logged of an error. */
function logged(err: unknown) {
  const lines: string[] = [];
  const { log } = createTelemetry('info', { write: (line) => void lines.push(line) });
  log.error({ err }, 'it failed');
  return (JSON.parse(lines[0]!) as { readonly err: unknown }).err;
}

test.each([
  ['a text', new SqliteError('database or disk is full', 'SQLITE_FULL'), 'SQLITE_FULL'],
  ['a number', Object.assign(new Error('x'), { code: 14 }), 14],
  ['anything else', Object.assign(new Error('x'), { code: { token: 'hidden' } }), undefined],
])('logs the code of an error if it is a text or a number: %s', (_, error, code) => {
  const { name, message, stack } = error;
  expect(logged(error)).toEqual({ name, message, stack, ...(code !== undefined && { code }) });
});

test('logs no other property of an error, and redacts sensitive names in a cause that is not an error', () => {
  const cause = { status: 401, body: { access_token: 'hidden' }, members: [{ password: 'hidden' }] };
  const error = Object.assign(new Error('refused', { cause }), { detail: 'Key (token)=(hidden)' });
  expect(logged(error)).toEqual({
    name: 'Error',
    message: 'refused',
    stack: error.stack,
    cause: { status: 401, body: { access_token: '[hidden]' }, members: [{ password: '[hidden]' }] },
  });
});

test('logs the first four errors of an AggregateError, such as refused connections', () => {
  const refused = (address: string) =>
    Object.assign(new Error(`connect ${address}`), { code: 'ECONNREFUSED' });
  const parts = ['::1', '127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'].map(refused);
  const whole = Object.assign(new AggregateError(parts, ''), { code: 'ECONNREFUSED' });
  const shown = ['::1', '127.0.0.1', '127.0.0.2', '127.0.0.3'];
  expect(logged(whole)).toEqual({
    name: 'AggregateError',
    message: '',
    stack: whole.stack,
    code: 'ECONNREFUSED',
    errors: shown.map((address) =>
      expect.objectContaining({ message: `connect ${address}`, code: 'ECONNREFUSED' }),
    ),
  });
});

test('logs the causes of an error to a limited depth, and each only once', () => {
  const circular = new Error('outer');
  circular.cause = new Error('inner', { cause: circular });
  expect(logged(circular)).toMatchObject({
    message: 'outer',
    cause: { message: 'inner', cause: '[again]' },
  });
  let deep = new Error('0');
  for (let level = 1; level <= 100; level += 1) deep = new Error(String(level), { cause: deep });
  const text = JSON.stringify(logged(deep));
  expect(text).toContain('"message":"94"');
  expect(text).not.toContain('"message":"93"');
});

test('logs the stack of an error once a cause and minute', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const { log } = createTelemetry('info', { write: (line) => void lines.push(line) });
  const fail = (message: string) => log.error({ err: new Error(message) }, 'it failed');
  for (const message of ['row 1 of 7\nat fault', 'row 2']) fail(message);
  log.error({ err: new TypeError('row 3') }, 'it failed');
  vi.advanceTimersByTime(60_000);
  fail('row 4');
  const errors = lines.map((line) => (JSON.parse(line) as { err: { message: string; stack?: string } }).err);
  expect(errors.map(({ message, stack }) => [message.slice(0, 5), stack !== undefined])).toEqual([
    ['row 1', true],
    ['row 2', false],
    ['row 3', true],
    ['row 4', true],
  ]);
});

test('escapes the control characters that JSON leaves as they are, so that none reaches a terminal', () => {
  const lines: string[] = [];
  const { log } = createTelemetry('info', { write: (line) => void lines.push(line) });
  log.info({ type: '\u009b31m\u0085\u007f\u2028é' }, 'it was \u009d');
  expect(lines[0]).toContain(String.raw`"type":"\u009b31m\u0085\u007f\u2028é"`);
  expect(lines[0]).not.toMatch(/[\u007f-\u009f\u2028]/);
  expect(JSON.parse(lines[0]!)).toMatchObject({ type: '\u009b31m\u0085\u007f\u2028é', msg: 'it was \u009d' });
});
