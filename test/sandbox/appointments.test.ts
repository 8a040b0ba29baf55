import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.js';
import { ask } from './requests.js';

const appointment = {
  status: 'booked',
  start: '2026-05-01T09:00:00+02:00',
  end: '2026-05-01T09:30:00+02:00',
  participant: [
    { actor: { reference: 'Patient/17' }, status: 'accepted' },
    { actor: { reference: 'Practitioner/3' }, status: 'needs-action' },
  ],
};
let sandbox: Sandbox;

beforeEach(async () => void (sandbox = await startSandbox()));
afterEach(() => sandbox.stop());

function requestToken(change: Record<string, unknown> = {}) {
  const json = {
    grant_type: 'client_credentials',
    client_id: sandbox.settings['APPOINTMENTS_CLIENT_ID'],
    client_secret: sandbox.settings['APPOINTMENTS_CLIENT_SECRET'],
    scope: 'appointments:write',
    ...change,
  };
  return ask(`${sandbox.settings['APPOINTMENTS_AUTH_URL']}/oauth/token`, { json });
}

async function token(scope?: string): Promise<string> {
  const { body } = await requestToken(scope ? { scope } : {});
  return body.access_token ?? '';
}

function book(bearer: string, change: Record<string, unknown> = {}) {
  const url = `${sandbox.settings['APPOINTMENTS_BASE_URL']}/appointments`;
  return ask(url, { token: bearer, json: { ...appointment, ...change } });
}

test('issues a token for client credentials, for one hour, with the requested scopes', async () => {
  const { status, body } = await requestToken({ scope: 'records:read appointments:write' });
  expect([status, body]).toEqual([
    200,
    {
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 3600,
      scope: 'records:read appointments:write',
    },
  ]);
});

test.each([
  [401, 'invalid_client', { client_secret: 'guess' }],
  [400, 'invalid_scope', { scope: 'everything' }],
  [400, 'invalid_request', { scope: undefined }],
  [400, 'unsupported_grant_type', { grant_type: 'password' }],
])('refuses a token request: %i %s', async (status, error, change) => {
  const refused = await requestToken(change);
  expect([refused.status, refused.body]).toEqual([status, { error }]);
});

test('books an appointment and returns it', async () => {
  const { status, body } = await book(await token());
  expect([status, body]).toEqual([201, { id: expect.any(String), ...appointment }]);
  expect(sandbox.appointments.booked).toEqual([body]);
});

test('requires a valid token (401) with the right scope (403) to book', async () => {
  const live = await token();
  expect((await book('guess')).status).toBe(401);
  expect((await book(await token('appointments:read'))).status).toBe(403);
  await sandbox.clock.advance(3_600_000);
  expect((await book(live)).status).toBe(401);
  const revoked = await token();
  sandbox.appointments.revokeTokens();
  expect((await book(revoked)).status).toBe(401);
  expect(sandbox.appointments.booked).toEqual([]);
});

test.each([
  '2026-01-02T09:00Z',
  '2026-01-02T09:00:00,5+01',
  '2026-01-02T09:00:00.123456+0530',
  '2016-12-31T23:59:60Z',
  '2026-01-02t09:00:00z',
  '2026-01-02T09:00:00',
])('takes every form of an ISO 8601 datetime: %s', async (start) => {
  expect(await book(await token(), { start })).toMatchObject({ status: 201, body: { start } });
});

test.each([
  ['status', { status: 'maybe' }],
  ['start', { start: 'tomorrow' }],
  ['month', { start: '2026-13-02T09:00:00Z' }],
  ['minute', { start: '2026-01-02T09:60:00Z' }],
  ['end', { end: undefined }],
  ['participant', { participant: [] }],
  ['reference', { participant: [{ actor: { reference: 'Patient' }, status: 'accepted' }] }],
  ['participant status', { participant: [{ actor: { reference: 'Patient/1' }, status: 'booked' }] }],
  ['patient', { participant: [{ actor: { reference: 'Practitioner/1' }, status: 'accepted' }] }],
])('refuses a booking with a wrong %s', async (_, change) => {
  expect((await book(await token(), change)).status).toBe(400);
});
