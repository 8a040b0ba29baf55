import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type AppointmentsClient,
  type AppointmentsSettings,
  createAppointmentsClient,
  type NewAppointment,
} from '../../../../src/domains/appointments/service/client.js';
import type { FaultAction } from '../../../../src/sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.js';
import { createSealer } from '../../../../src/lib/sealer.js';
import type { Database } from '../../../../src/store/database.js';
import { openDatabase } from '../../../support/database.js';
import { createKeyv } from '../../../../src/store/sealed-keyv.js';
import { LightAbortController } from '../../../../src/lib/async/abort.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { UpstreamError } from '../../../../src/upstream/errors.js';
import { abortedSignal } from '../../../support/endings.js';
import { createTestFile } from '../../../support/sqlite.js';

const appointment: NewAppointment = {
  status: 'BOOKED',
  start: '2030-01-02T09:00:00.5+01:00',
  end: '2030-01-02T09:30:00Z',
  participants: [
    { actor: { reference: 'Patient/1' }, status: 'ACCEPTED' },
    { actor: { reference: 'Practitioner/2' }, status: 'NEEDS_ACTION' },
  ],
};
const secret = 'secret words of the service';
/** Longer than any call takes on a busy machine: where it has to pass, timers are faked. */
const timeoutMs = 60_000;

let sandbox: Sandbox;
let database: Database;
let client: AppointmentsClient;
let settings: AppointmentsSettings;
let log: string;
const telemetry = createTelemetry('debug', { write: (line: string) => void (log += line) });
const sealer = createSealer([randomBytes(32)]);

/** A replica's client. */
function connect(other: Partial<AppointmentsSettings> = {}): AppointmentsClient {
  const { clock } = sandbox;
  const keyv = createKeyv({ database, sealer, namespace: 'tokens', clock });
  return createAppointmentsClient({
    ...settings,
    keyv,
    database,
    telemetry,
    clock,
    timeoutMs,
    ...other,
  });
}

function misbehave(service: 'appointments' | 'issuer', act: FaultAction, times = Infinity): void {
  sandbox.faults.add({ service, act, times });
}

/** Books, and returns the error; throws if the booking does not fail. */
async function failure(from = client, signal?: LightAbortController): Promise<UpstreamError> {
  const outcome: unknown = await from.book(appointment, 'usr_1', signal).catch((error: unknown) => error);
  if (outcome instanceof UpstreamError) return outcome;
  throw new Error('The booking has not failed as calls do.', { cause: outcome });
}

const callsTo = (service: string) => sandbox.calls.filter((call) => call.service === service).length;
const booked = () => sandbox.appointments.booked.length;

/** Books with a service that hangs, and lets the call's time run out once `count()` is 1; returns the error. */
async function timeOut(count: () => number): Promise<UpstreamError> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const failing = failure();
  await expect.poll(count).toBe(1);
  await vi.advanceTimersByTimeAsync(timeoutMs);
  vi.useRealTimers();
  return failing;
}

beforeEach(async () => {
  log = '';
  sandbox = await startSandbox();
  database = await openDatabase(await createTestFile(), { log: telemetry.log });
  settings = {
    baseUrl: sandbox.settings['APPOINTMENTS_BASE_URL']!,
    authUrl: sandbox.settings['APPOINTMENTS_AUTH_URL']!,
    clientId: sandbox.settings['APPOINTMENTS_CLIENT_ID']!,
    clientSecret: sandbox.settings['APPOINTMENTS_CLIENT_SECRET']!,
    scope: 'appointments:write',
  };
  client = connect();
});

afterEach(async () => {
  vi.useRealTimers();
  await client.stop();
  await database.stop();
  await sandbox.stop();
});

describe('a booking', () => {
  it('is sent in the service’s own names and values, with date-times as they were written', async () => {
    const outcome = await client.book(appointment, 'usr_1');
    expect(sandbox.appointments.booked).toEqual([
      {
        id: expect.any(String),
        status: 'booked',
        start: appointment.start,
        end: appointment.end,
        participant: [
          { actor: { reference: 'Patient/1' }, status: 'accepted' },
          { actor: { reference: 'Practitioner/2' }, status: 'needs-action' },
        ],
      },
    ]);
    expect(outcome).toEqual({ booked: true, upstreamId: sandbox.appointments.booked[0]?.id });
  });

  it.each([
    [200, '', null],
    [201, 'Booked.', null],
    [204, '', null],
    [202, '<html>', null],
    [200, '[]', null],
    [200, 'null', null],
    [200, '{"id":""}', null],
    [200, '{"id":{}}', null],
    [201, '{"id":42}', '42'],
    [201, '{"id":"a/b"}', 'a/b'],
    [201, '{"data":{"id":"apt"}}', 'apt'],
    [201, '{"id":null,"appointment":{"id":"apt"}}', 'apt'],
    [201, '{"id":{},"data":{"appointment":{"id":"apt"}}}', 'apt'],
    [201, '{"appointment_id":"apt"}', 'apt'],
    [202, '{"appointmentId":7}', '7'],
    [201, '{"result":{"uuid":"apt"}}', 'apt'],
    [201, '{"data":{"_id":"apt"}}', 'apt'],
    [201, '{"patient":{"id":"pat"}}', null],
  ])('is made if the service answers %i %j, and has the id %j', async (status, body, upstreamId) => {
    misbehave('appointments', { kind: 'answer', status, body });
    expect(await client.book(appointment, 'usr_1')).toEqual({ booked: true, upstreamId });
  });

  it.each([
    ['/v1/appointments/42', '', '42'],
    ['http://127.0.0.1/v1/appointments/a%2Fb/', '', 'a/b'],
    ['https://fhir.example/r4/Appointment/42/_history/1', '', '42'],
    ['appointments/42?_format=json', 'Created.', '42'],
    ['/appointments/v1/appointments/42#top', '{"status":"booked"}', '42'],
    ['/appointments/%E0%A4%A', '', '%E0%A4%A'],
    ['/v1/appointments/42', '{"id":"of the body"}', 'of the body'],
    ['/v1/appointments/42', '{"id":""}', '42'],
    ['/v1/appointments/', '', null],
    ['/v1/appointments', '', null],
    ['/v1/jobs/7', '', null],
    ['/v1/appointments/42/status', '', null],
    ['/v1/disappointments/42', '', null],
    ['', '', null],
  ])('answered with Location %j and body %j has the id %j', async (location, body, upstreamId) => {
    misbehave('appointments', { kind: 'answer', status: 201, headers: { location }, body });
    expect(await client.book(appointment, 'usr_1')).toEqual({ booked: true, upstreamId });
  });

  it.each([
    [200, 'location'],
    [202, 'location'],
    [201, 'content-location'],
  ])('answered %i has the id in its %s', async (status, name) => {
    misbehave('appointments', {
      kind: 'answer',
      status,
      headers: { [name]: '/v1/appointments/42' },
      body: '',
    });
    expect(await client.book(appointment, 'usr_1')).toEqual({ booked: true, upstreamId: '42' });
  });

  it.each([400, 404, 409, 410, 412, 413, 422, 451])(
    'is refused if the service answers %i',
    async (status) => {
      misbehave('appointments', { kind: 'answer', status, body: secret });
      expect(await client.book(appointment, 'usr_1')).toEqual({ refused: status });
      expect(callsTo('appointments')).toBe(1);
    },
  );

  it.each([
    ...[403, 408, 421, 423, 425].map((status) => [status, 'UPSTREAM_UNAVAILABLE'] as const),
    ...[402, 405, 406, 411, 415, 426, 431].map((status) => [status, 'UPSTREAM_INVALID_RESPONSE'] as const),
  ])('answered %i is %s, and certainly not made', async (status, code) => {
    misbehave('appointments', { kind: 'answer', status, body: secret });
    expect(await failure()).toMatchObject({ code, uncertain: false });
    expect(callsTo('appointments')).toBe(1);
  });

  const warnings = () =>
    log
      .split('\n')
      .filter((line) => line.includes('refused a booking'))
      .map((line) => JSON.parse(line) as object);

  it.each([401, 402, 403, 404, 405, 408, 410, 415])(
    'refused with %i is logged as a warning',
    async (status) => {
      misbehave('appointments', { kind: 'answer', status, body: secret });
      await client.book(appointment, 'usr_1').catch(() => {});
      expect(warnings()).toEqual([
        { level: 40, time: expect.any(Number), status, suppressed: 0, msg: expect.any(String) },
      ]);
      expect(log).not.toMatch(/Bearer|Patient|secret words/);
    },
  );

  it('refused over and over is logged once a second for each status', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    for (const status of [404, 404, 410, 404]) {
      misbehave('appointments', { kind: 'answer', status }, 1);
      await client.book(appointment, 'usr_1');
    }
    expect(warnings()).toMatchObject([{ status: 404 }, { status: 410 }]);
  });

  it.each([201, 400, 409, 422])('answered %i is not logged as a warning', async (status) => {
    misbehave('appointments', { kind: 'answer', status, body: secret });
    await client.book(appointment, 'usr_1');
    expect(warnings()).toEqual([]);
  });

  it('whose token is refused once is not logged as a warning', async () => {
    misbehave('appointments', { kind: 'answer', status: 401 }, 1);
    await client.book(appointment, 'usr_1');
    expect(warnings()).toEqual([]);
  });
});

describe('a failed booking', () => {
  it.each<[string, FaultAction, string]>([
    ['a cut', { kind: 'cut' }, 'UPSTREAM_UNAVAILABLE'],
    ['a lost connection', { kind: 'refuse' }, 'UPSTREAM_UNAVAILABLE'],
    ['500', { kind: 'answer', status: 500, body: secret }, 'UPSTREAM_UNAVAILABLE'],
    ['303', { kind: 'answer', status: 303, headers: { location: '/' } }, 'UPSTREAM_INVALID_RESPONSE'],
    ['302', { kind: 'answer', status: 302, headers: { location: '/' } }, 'UPSTREAM_INVALID_RESPONSE'],
    ['10 MB', { kind: 'answer', status: 201, body: 'x'.repeat(10_000_000) }, 'UPSTREAM_INVALID_RESPONSE'],
  ])('has an unknown outcome after %s, and is not sent again', async (_, act, code) => {
    misbehave('appointments', act);
    expect(await failure()).toMatchObject({ code, uncertain: true });
    expect(callsTo('appointments')).toBe(1);
  });

  it('has an unknown outcome after a missing answer, and is not sent again', async () => {
    misbehave('appointments', { kind: 'afterwards', act: { kind: 'hang' } });
    expect(await timeOut(booked)).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: true });
    expect([callsTo('appointments'), booked()]).toEqual([1, 1]);
  });

  it('has an unknown outcome if its operation ends while it is in progress', async () => {
    await client.book(appointment, 'usr_1');
    misbehave('appointments', { kind: 'afterwards', act: { kind: 'hang' } });
    const ending = new LightAbortController();
    const failing = failure(client, ending);
    await expect.poll(booked).toBe(2);
    ending.abort();
    const error = await failing;
    expect(error).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: true });
    expect(booked()).toBe(2);
  });

  it('was not made if the service cannot be reached', async () => {
    const other = connect({ baseUrl: 'http://127.0.0.1:1/v1' });
    expect(await failure(other)).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    await other.stop();
  });

  it.each([301, 307, 308])('was not made if the service redirects with %i', async (status) => {
    misbehave('appointments', { kind: 'answer', status, headers: { location: '/' } });
    expect(await failure()).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE', uncertain: false });
    expect(callsTo('appointments')).toBe(1);
  });

  it('was not made if the service answers 429, and reports when to retry', async () => {
    misbehave('appointments', { kind: 'answer', status: 429, headers: { 'retry-after': '7' } });
    const error = await failure();
    expect(error).toMatchObject({ uncertain: false, extensions: { code: 'RATE_LIMITED', retryAfter: 7 } });
  });

  it('was not made if its operation had already ended', async () => {
    expect(await failure(client, abortedSignal())).toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      uncertain: false,
    });
    expect(callsTo('appointments')).toBe(0);
  });

  it.each<[string, FaultAction, string]>([
    ['cuts its answer', { kind: 'cut' }, 'UPSTREAM_UNAVAILABLE'],
    ['answers 500', { kind: 'answer', status: 500, body: secret }, 'UPSTREAM_UNAVAILABLE'],
    ['answers 401', { kind: 'answer', status: 401, body: secret }, 'UPSTREAM_UNAVAILABLE'],
    ['answers HTML', { kind: 'answer', status: 200, body: '<p>' }, 'UPSTREAM_INVALID_RESPONSE'],
    ['answers {}', { kind: 'answer', status: 200, body: '{}' }, 'UPSTREAM_INVALID_RESPONSE'],
    [
      'issues a token that no header can carry',
      { kind: 'answer', status: 200, body: '{"access_token":"\\n"}' },
      'UPSTREAM_INVALID_RESPONSE',
    ],
    ['answers 429', { kind: 'answer', status: 429, body: secret }, 'RATE_LIMITED'],
  ])('was not made if the token issuer %s', async (_, act, code) => {
    misbehave('issuer', act);
    expect(await failure()).toMatchObject({ code, uncertain: false });
    expect([callsTo('issuer'), callsTo('appointments')]).toEqual([1, 0]);
    sandbox.faults.clear();
    expect(await client.book(appointment, 'usr_1')).toMatchObject({ booked: true });
  });

  it.each([
    [400, 'UPSTREAM_UNAVAILABLE', 'client credentials or the scope'],
    [401, 'UPSTREAM_UNAVAILABLE', 'client credentials or the scope'],
    [404, 'UPSTREAM_INVALID_RESPONSE', 'APPOINTMENTS_AUTH_URL'],
    [405, 'UPSTREAM_INVALID_RESPONSE', 'APPOINTMENTS_AUTH_URL'],
    [408, 'UPSTREAM_UNAVAILABLE', 'for now'],
    [423, 'UPSTREAM_UNAVAILABLE', 'for now'],
  ])(
    'to which the token issuer answers %i is %s, and logged with its cause: %s',
    async (status, code, cause) => {
      misbehave('issuer', { kind: 'answer', status, body: secret });
      expect(await failure()).toMatchObject({ code, uncertain: false });
      const lines = log.split('\n').filter((line) => line.includes('"level":50'));
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
        { status, msg: expect.stringContaining(cause) },
      ]);
    },
  );

  it('has what the token issuer refuses over and over logged once a second', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    misbehave('issuer', { kind: 'answer', status: 401 });
    for (const _ of [1, 2, 3]) await failure();
    expect(log.match(/client credentials or the scope/g)).toHaveLength(1);
  });

  it('has the token issuer left alone for as long as its 429 says', async () => {
    misbehave('issuer', { kind: 'answer', status: 429, headers: { 'retry-after': '7' } });
    for (const _ of [1, 2, 3]) expect(await failure()).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 7 });
    expect(callsTo('issuer')).toBe(1);
    sandbox.faults.clear();
    await sandbox.clock.advance(7_000);
    expect(await client.book(appointment, 'usr_1')).toMatchObject({ booked: true });
  });

  it('was not made if the token issuer hangs', async () => {
    misbehave('issuer', { kind: 'hang' });
    expect(await timeOut(() => callsTo('issuer'))).toMatchObject({
      code: 'UPSTREAM_TIMEOUT',
      uncertain: false,
    });
    expect([callsTo('issuer'), callsTo('appointments')]).toEqual([1, 0]);
    sandbox.faults.clear();
    expect(await client.book(appointment, 'usr_1')).toMatchObject({ booked: true });
  });

  it.each(['<p>secret words', '{"token":"secret words"}', '{"access_token":"secret words"}'])(
    'is logged without the issuer’s answer if that is %s',
    async (body) => {
      misbehave('issuer', { kind: 'answer', status: 200, body });
      const { reason } = await failure();
      const lines = log.split('\n').filter((line) => line.includes('upstream call failed'));
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
        { level: 40, upstream: 'issuer', method: 'POST', reason },
      ]);
      expect(log).not.toContain('secret words');
      expect(log).not.toContain(settings.clientSecret);
    },
  );

  it('is reported without the service’s answer, and logged without secrets', async () => {
    misbehave('appointments', { kind: 'answer', status: 500, body: secret });
    const error = await failure();
    expect(JSON.stringify([error, String(error)])).not.toContain(secret);
    sandbox.faults.clear();
    await client.book(appointment, 'usr_1');
    expect(log).toContain('upstream call');
    expect(log).not.toContain(secret);
    expect(log).not.toContain(settings.clientSecret);
    expect(log).not.toMatch(/Bearer|Patient/);
  });
});

describe('the token', () => {
  it('is requested once for a hundred concurrent first bookings', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => client.book(appointment, 'usr_1')));
    expect(outcomes.every((outcome) => 'booked' in outcome)).toBe(true);
    expect([callsTo('issuer'), callsTo('appointments'), booked()]).toEqual([1, 100, 100]);
  });

  it('is requested once for all replicas', async () => {
    const replicas = [client, connect(), connect()];
    await Promise.all(
      replicas.flatMap((each) => [each.book(appointment, 'usr_1'), each.book(appointment, 'usr_1')]),
    );
    expect([callsTo('issuer'), booked()]).toEqual([1, 6]);
    await Promise.all(replicas.slice(1).map((each) => each.stop()));
  });

  it('that was revoked costs one refresh and one retry', async () => {
    await client.book(appointment, 'usr_1');
    sandbox.appointments.revokeTokens();
    sandbox.calls.length = 0;
    expect(await client.book(appointment, 'usr_1')).toMatchObject({ booked: true });
    expect([callsTo('issuer'), callsTo('appointments'), booked()]).toEqual([1, 2, 2]);
  });

  it('that was revoked costs a hundred concurrent bookings one refresh', async () => {
    await client.book(appointment, 'usr_1');
    sandbox.appointments.revokeTokens();
    sandbox.calls.length = 0;
    await Promise.all(Array.from({ length: 100 }, () => client.book(appointment, 'usr_1')));
    expect([callsTo('issuer'), booked()]).toEqual([1, 101]);
    // Bookings that begin once the new token is there are not refused.
    expect(callsTo('appointments')).toBeGreaterThan(100);
    expect(callsTo('appointments')).toBeLessThanOrEqual(200);
  });

  it('that is always refused leads to an error, and to no booking', async () => {
    misbehave('appointments', { kind: 'answer', status: 401, body: secret });
    const error = await failure();
    expect(error).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    expect(error.message).not.toContain(secret);
    expect([callsTo('issuer'), callsTo('appointments'), booked()]).toEqual([2, 2, 0]);
  });

  it('that lacks a scope is replaced after a 403, at most once a minute', async () => {
    sandbox.appointments.grantScopes('records:read');
    expect(await failure()).toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', uncertain: false });
    expect([callsTo('issuer'), callsTo('appointments')]).toEqual([1, 1]);
    await failure();
    await failure();
    expect([callsTo('issuer'), callsTo('appointments')]).toEqual([2, 3]);
    sandbox.appointments.grantScopes('records:read', 'appointments:write');
    await sandbox.clock.advance(60_000);
    await failure();
    expect(await client.book(appointment, 'usr_1')).toMatchObject({ booked: true });
    expect([callsTo('issuer'), callsTo('appointments'), booked()]).toEqual([3, 5, 1]);
  });

  it('that lacks a scope is replaced after the first 403 following a restart', async () => {
    sandbox.appointments.grantScopes();
    await failure();
    sandbox.appointments.grantScopes('appointments:write');
    const restarted = connect();
    await failure(restarted);
    expect(await restarted.book(appointment, 'usr_1')).toMatchObject({ booked: true });
    await restarted.stop();
  });

  it('that led to a 403 stays in use while the issuer fails', async () => {
    await client.book(appointment, 'usr_1');
    misbehave('appointments', { kind: 'answer', status: 403 }, 1);
    await failure();
    misbehave('issuer', { kind: 'answer', status: 503 });
    sandbox.calls.length = 0;
    expect(await client.book(appointment, 'usr_1')).toMatchObject({ booked: true });
    expect([callsTo('issuer'), callsTo('appointments')]).toEqual([1, 1]);
  });

  it('that lacks a scope is logged with the missing scope', async () => {
    sandbox.appointments.grantScopes('records:read');
    const other = connect({ scope: 'records:read  appointments:write' });
    await failure(other);
    await other.stop();
    const lines = log.split('\n').filter((line) => line.includes('granted less'));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 40, missing: ['appointments:write'] },
    ]);
  });

  it('that has every scope, or comes without its scopes, is not logged', async () => {
    await client.book(appointment, 'usr_1');
    misbehave('issuer', { kind: 'answer', status: 200, body: '{"access_token":"one"}' });
    const other = connect({ clientId: 'another' });
    await other.book(appointment, 'usr_1').catch(() => undefined);
    await other.stop();
    expect(log).not.toContain('granted less');
  });

  it('is renewed before its hour ends', async () => {
    await client.book(appointment, 'usr_1');
    await sandbox.clock.advance(59 * 60_000);
    expect(await client.book(appointment, 'usr_1')).toMatchObject({ booked: true });
    expect([callsTo('issuer'), callsTo('appointments')]).toEqual([2, 2]);
  });

  it.each(['1e400', '1e300', '1e14'])('is kept if its lifetime is given as %s seconds', async (lifetime) => {
    const body = `{"access_token":"one","expires_in":${lifetime}}`;
    misbehave('issuer', { kind: 'answer', status: 200, body });
    misbehave('appointments', { kind: 'answer', status: 201 });
    await client.book(appointment, 'usr_1');
    await sandbox.clock.advance(24 * 60 * 60 * 1000);
    await client.book(appointment, 'usr_1');
    expect([callsTo('issuer'), callsTo('appointments')]).toEqual([1, 2]);
  });

  it('is kept for an hour if its lifetime is not given', async () => {
    misbehave('issuer', { kind: 'answer', status: 200, body: '{"access_token":"one"}' });
    misbehave('appointments', { kind: 'answer', status: 201 });
    await client.book(appointment, 'usr_1');
    await sandbox.clock.advance(45 * 60_000);
    await client.book(appointment, 'usr_1');
    expect(callsTo('issuer')).toBe(1);
    await sandbox.clock.advance(15 * 60_000);
    await client.book(appointment, 'usr_1');
    expect(callsTo('issuer')).toBe(2);
  });
});
