import { expect, test } from 'vitest';
import { upstreams } from '../config/upstreams.js';
import { createTestFile } from '../support/sqlite.js';
import { trivium } from './trivium.js';

test('a start exits with 1 for a partial set, and names what is missing', async () => {
  const { PAYMENT_WEBHOOKS: _, APPOINTMENTS_AUTH_URL: __, ...partial } = upstreams;
  expect(await trivium([], partial)).toMatchObject({
    code: 1,
    out: '',
    told:
      'Invalid settings:\n  APPOINTMENTS_AUTH_URL: missing, although NOTES_BASE_URL is set; ' +
      'write it as in https://issuer.example.com\n' +
      '  PAYMENT_WEBHOOKS: missing, although NOTES_BASE_URL is set; write it as in we_1=replace-me\n',
  });
});

test('a start in production without settings exits with 1, and never starts a sandbox', async () => {
  const { code, out, told } = await trivium([], { NODE_ENV: 'production' });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(told.match(/\w+(?=: missing)/g)).toEqual([...Object.keys(upstreams), 'SECRET_KEYS']);
});

test('a start exits with 1 for an unknown host, and names the setting', async () => {
  const settings = { HOST: 'no..host', SANDBOX: 'on', DATABASE_URL: await createTestFile() };
  const { code, told } = await trivium([], settings);
  expect(code).toBe(1);
  expect(told).toMatch(/^Invalid settings:\n {2}HOST: getaddrinfo \w+ no\.\.host\n$/);
});

test('a start names the setting whose file it cannot read', async () => {
  const { code, told } = await trivium([], { SECRET_KEYS_FILE: '/nowhere/keys' });
  expect(code).toBe(1);
  expect(told).toBe('Invalid settings:\n  SECRET_KEYS_FILE: the file cannot be read (ENOENT)\n');
});

test.each(['--help', '-h'])('%s prints how to use it', async (option) => {
  const { code, out, told } = await trivium([option]);
  expect([code, told]).toEqual([0, '']);
  expect(out).toContain('Usage: trivium [command]');
});

test('an unknown command exits with 1', async () => {
  const told = 'Unknown command sandbx: see trivium --help.\n';
  expect(await trivium(['sandbx'])).toMatchObject({ code: 1, out: '', told });
});
