import { expect, test } from 'vitest';
import { SqliteError } from '../src/store/sqlite-statements.js';
import { createTelemetry } from '../src/telemetry.js';

/** What the log tells of an error. */
function told(err: unknown) {
  const lines: string[] = [];
  const { log } = createTelemetry('info', { write: (line) => void lines.push(line) });
  log.error({ err }, 'it failed');
  return (JSON.parse(lines[0]!) as { readonly err: unknown }).err;
}

test.each([
  ['a text', new SqliteError('database or disk is full', 'SQLITE_FULL'), 'SQLITE_FULL'],
  ['a number', Object.assign(new Error('x'), { code: 14 }), 14],
  ['anything else', Object.assign(new Error('x'), { code: { token: 'hidden' } }), undefined],
])('an error is told with its code where that is %s', (_, error, code) => {
  const { name, message, stack } = error;
  expect(told(error)).toEqual({ name, message, stack, ...(code !== undefined && { code }) });
});

test('nothing else of it is told, and of a cause that is no error nothing under a telling name', () => {
  const cause = { status: 401, body: { access_token: 'hidden' }, members: [{ password: 'hidden' }] };
  const error = Object.assign(new Error('refused', { cause }), { detail: 'Key (token)=(hidden)' });
  expect(told(error)).toEqual({
    name: 'Error',
    message: 'refused',
    stack: error.stack,
    cause: { status: 401, body: { access_token: '[hidden]' }, members: [{ password: '[hidden]' }] },
  });
});

test('of an error that stands for several a few are told, as Node.js has it where two addresses refuse', () => {
  const refused = (address: string) =>
    Object.assign(new Error(`connect ${address}`), { code: 'ECONNREFUSED' });
  const parts = ['::1', '127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'].map(refused);
  const whole = Object.assign(new AggregateError(parts, ''), { code: 'ECONNREFUSED' });
  const shown = ['::1', '127.0.0.1', '127.0.0.2', '127.0.0.3'];
  expect(told(whole)).toEqual({
    name: 'AggregateError',
    message: '',
    stack: whole.stack,
    code: 'ECONNREFUSED',
    errors: shown.map((address) =>
      expect.objectContaining({ message: `connect ${address}`, code: 'ECONNREFUSED' }),
    ),
  });
});

test('what an error is caused by is told as far as it goes, and once', () => {
  const circular = new Error('outer');
  circular.cause = new Error('inner', { cause: circular });
  expect(told(circular)).toMatchObject({
    message: 'outer',
    cause: { message: 'inner', cause: '[again]' },
  });
  let deep = new Error('0');
  for (let level = 1; level <= 100; level += 1) deep = new Error(String(level), { cause: deep });
  const text = JSON.stringify(told(deep));
  expect(text).toContain('"message":"94"');
  expect(text).not.toContain('"message":"93"');
});
