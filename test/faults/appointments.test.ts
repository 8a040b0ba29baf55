import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FaultAction } from '../../src/sandbox/faults.js';
import { faultsOf, leaksOf, only, type Person, type Harness, startHarness } from '../errors/harness.js';
import { type Answered, codesOf } from '../support/testbed.js';
import { answer, failures, misshapen, serviceText, unhandled } from './acts.js';

const create = `mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) {
  appointment { id upstreamId confirmation } errors { code message path } } }`;
const list = '{ appointments(first: 100) { nodes { id upstreamId confirmation bookedBy } } }';

const rejections = unhandled();
const answers: Answered[] = [];
let harness: Harness;
let quick: Harness;
let person: Person;
let keys = 0;

beforeAll(async () => {
  harness = await startHarness();
  quick = await startHarness({ sandbox: harness.sandbox, upstreamTimeoutMs: 1_000 });
});
beforeEach(async () => {
  person = await harness.join();
});
afterEach(() => harness.sandbox.faults.clear());
afterAll(async () => {
  await quick.stop();
  await harness.stop();
});

/** An input with a new idempotency key. */
function newInput() {
  return {
    status: 'BOOKED',
    start: '2026-11-21T09:30:00+01:00',
    end: '2026-11-21T10:00:00+01:00',
    participants: [{ actor: { reference: 'Patient/42' }, status: 'ACCEPTED' }],
    idempotencyKey: `key ${(keys += 1)}`,
  };
}

async function book(input: object, by = person): Promise<Answered> {
  const given = await by.ask(create, { input });
  answers.push(given);
  return given;
}

const fail = (act: FaultAction, service: 'appointments' | 'issuer' = 'appointments', times = Infinity) =>
  harness.sandbox.faults.add({ service, act, times });
const booked = () => harness.sandbox.appointments.booked.length;
const own = async (by = person) =>
  (only(await by.ask(list)).nodes as { bookedBy: string }[]).filter(({ bookedBy }) => bookedBy === by.email);

/** How many bookings `run` posts. */
async function postsOf(run: () => Promise<unknown>): Promise<number> {
  const calls = await harness.callsOf(run);
  return calls.filter((call) => call === 'POST /appointments').length;
}

describe('a booking whose outcome is unknown', () => {
  const hang: FaultAction = { kind: 'hang' };
  const unknown: readonly (readonly [string, FaultAction])[] = [
    ...failures.map(([name, act]) => [`the service ${name}`, act] as const),
    ['the answer is cut', { kind: 'cut' }],
    ['the answer is cut at once', { kind: 'cut', afterBytes: 0 }],
    ['the service books, and the connection closes', { kind: 'afterwards', act: { kind: 'refuse' } }],
    ['the service books, and answers 502', { kind: 'afterwards', act: answer(502, serviceText) }],
  ];
  const hanging: readonly (readonly [string, FaultAction])[] = [
    ['the service hangs', hang],
    ['the service books, and then hangs', { kind: 'afterwards', act: hang }],
  ];

  /** Books while the service misbehaves, and again with the same key; returns how often that was posted. */
  async function postsDuring(act: FaultAction, by: Person): Promise<number> {
    const input = newInput();
    const before = booked();
    const posts = await postsOf(async () => {
      const restore = fail(act);
      const given = only(await book(input, by));
      expect(given).toEqual({
        appointment: { id: expect.any(String), upstreamId: null, confirmation: 'UNCONFIRMED' },
        errors: [],
      });
      expect(only(await book(input, by))).toEqual(given);
      restore();
      // The service works again, but the key still belongs to the booking that may have been made.
      expect(only(await book(input, by))).toEqual(given);
      expect(faultsOf(only(await book({ ...input, status: 'NOSHOW' }, by)))).toEqual([
        'CONFLICT idempotencyKey',
      ]);
      expect(await own(by)).toEqual([{ ...given.appointment, bookedBy: by.email }]);
    });
    expect(booked() - before).toBeLessThanOrEqual(1);
    expect(only(await book(newInput(), by)).appointment.confirmation).toBe('CONFIRMED');
    return posts;
  }

  test.each(unknown)('is UNCONFIRMED and never posted again: %s', async (_, act) => {
    expect(await postsDuring(act, person)).toBe(1);
  });

  test.each(hanging)('is UNCONFIRMED and never posted again: %s', async (_, act) => {
    expect(await postsDuring(act, await quick.join())).toBe(1);
  });

  test('is the same booking for all concurrent requests', async () => {
    const input = newInput();
    const before = booked();
    fail({ kind: 'afterwards', act: { kind: 'delay', ms: 50, act: { kind: 'refuse' } } });
    const posts = await postsOf(async () => {
      const given = await Promise.all(Array.from({ length: 20 }, () => book(input)));
      expect(new Set(given.map((each) => JSON.stringify(only(each)))).size).toBe(1);
    });
    expect([posts, booked() - before]).toEqual([1, 1]);
  });
});

describe('a booking that is answered with success', () => {
  const ids: readonly (readonly [FaultAction, string | null])[] = [
    ...[200, 201, 202, 204].map((status) => [answer(status), null] as const),
    [answer(201, 'Booked.', 'text/plain'), null],
    [answer(200, `<html>${serviceText}</html>`, 'text/html'), null],
    [answer(201, '{"id":"apt_1"}', 'text/html'), 'apt_1'],
    [answer(201, '{"id":7}'), '7'],
    [answer(201, '{"id":""}'), null],
    [answer(201, '{"id":[1]}'), null],
    [answer(201, '{"id":1e300}'), null],
    [answer(201, '{"data":{"id":"apt_2"}}'), 'apt_2'],
    [{ kind: 'answer', status: 201, headers: { location: '/v1/appointments/apt_3' } }, 'apt_3'],
    [answer(201, '{"id":"\\u0000\\ud800"}'), '\0\ud800'],
    ...misshapen.map(([, act]) => [act, null] as const),
  ];

  test('is CONFIRMED, whatever its body', async () => {
    for (const [act, upstreamId] of ids) {
      const restore = fail(act);
      const input = newInput();
      const given = only(await book(input));
      const expected = { appointment: { upstreamId, confirmation: 'CONFIRMED' }, errors: [] };
      expect([act, given]).toMatchObject([act, expected]);
      expect(only(await book(input))).toEqual(given);
      restore();
    }
    expect(await own()).toHaveLength(ids.length);
  });
});

describe('a booking that is certainly not made', () => {
  /** Checks that the booking leaves no row, and its key free; returns the codes and how often it was posted. */
  async function bookInVain(by: Person, seconds = 0): Promise<readonly [codes: unknown, posts: number]> {
    const input = newInput();
    const before = booked();
    let given: Answered | undefined;
    const posts = await postsOf(async () => (given = await book(input, by)));
    expect([given!.data, booked(), await own(by)]).toEqual([null, before, []]);
    harness.sandbox.faults.clear();
    await harness.sandbox.clock.advance(seconds * 1000);
    const again = only(await book({ ...input, status: 'FULFILLED' }, by));
    expect(again).toMatchObject({ appointment: { confirmation: 'CONFIRMED' }, errors: [] });
    expect(booked()).toBe(before + 1);
    return [codesOf(given!), posts];
  }

  const badTokens = [
    '{"access_token":5}',
    '{"access_token":""}',
    '{"access_token":"a\\nb"}',
    '{"token":"x"}',
  ];
  test.each<readonly [string, FaultAction, string]>([
    ...failures,
    ...misshapen.map(([name, act]) => [`answers ${name}`, act, 'UPSTREAM_INVALID_RESPONSE'] as const),
    ...badTokens.map((body) => [`answers ${body}`, answer(200, body), 'UPSTREAM_INVALID_RESPONSE'] as const),
    ['cuts its answer', { kind: 'cut' }, 'UPSTREAM_UNAVAILABLE'],
    ['refuses the credentials', answer(401, serviceText), 'UPSTREAM_UNAVAILABLE'],
    ['refuses the scope', answer(400, serviceText), 'UPSTREAM_UNAVAILABLE'],
    ['answers 429', answer(429, serviceText), 'RATE_LIMITED'],
  ])('leaves no row, and its key free, when the token issuer %s', async (_, act, code) => {
    harness.sandbox.appointments.revokeTokens();
    fail(act, 'issuer');
    // The one post is with the old token, which is refused; the very first booking has no old token.
    const posts = booked() === 0 ? 0 : 1;
    expect(await bookInVain(person)).toEqual([[code], posts]);
  });

  test('leaves no row, and its key free, when the token issuer hangs', async () => {
    const by = await quick.join();
    await book(newInput(), by);
    const other = await quick.join();
    harness.sandbox.appointments.revokeTokens();
    fail({ kind: 'hang' }, 'issuer');
    expect(await bookInVain(other)).toEqual([['UPSTREAM_TIMEOUT'], 1]);
  });

  test('is posted with one new token when the service answers 401', async () => {
    await book(newInput(), await harness.join()); // so that there is a token already
    fail(answer(401, serviceText));
    const calls = await harness.callsOf(async () => {
      expect(await bookInVain(person)).toEqual([['UPSTREAM_UNAVAILABLE'], 2]);
    });
    expect(calls.filter((call) => call.includes('/oauth/token'))).toHaveLength(1);
  });

  test.each([
    ['403, as the scope is too small', 403, 'UPSTREAM_UNAVAILABLE'],
    ['405, as the address is wrong', 405, 'UPSTREAM_INVALID_RESPONSE'],
    ['408, as it waited too long', 408, 'UPSTREAM_UNAVAILABLE'],
    ['415, as it accepts no JSON', 415, 'UPSTREAM_INVALID_RESPONSE'],
  ])('leaves no row, and its key free, when the service answers %s', async (_, status, code) => {
    fail(answer(status, serviceText));
    expect(await bookInVain(person)).toEqual([[code], 1]);
    const line = `"status":${status},"suppressed":0,"msg":"the appointment service refused`;
    expect(harness.testbed.logged()).toContain(line);
  });

  test.each([
    [{ 'retry-after': '17' }, 17],
    [{}, 60],
  ])('is RATE_LIMITED when the service answers 429 with %j, for %i seconds', async (headers, seconds) => {
    fail({ kind: 'answer', status: 429, headers, body: serviceText });
    expect(await bookInVain(person, seconds)).toEqual([['RATE_LIMITED'], 1]);
    expect(answers.at(-2)!.errors![0]!.extensions).toEqual({ code: 'RATE_LIMITED', retryAfter: seconds });
  });

  test.each(['APPOINTMENTS_BASE_URL', 'APPOINTMENTS_AUTH_URL'])(
    'leaves no row when nothing listens at %s',
    async (name) => {
      const settings = { [name]: 'http://127.0.0.1:1/v1' };
      const lost = await startHarness({ sandbox: harness.sandbox, settings });
      const by = await lost.join();
      const given = await book(newInput(), by);
      expect([codesOf(given), await own(by)]).toEqual([['UPSTREAM_UNAVAILABLE'], []]);
      await lost.stop();
    },
  );
});

describe('a service that fails for ten users', () => {
  afterEach(() => vi.restoreAllMocks());

  test('is not called for some seconds, in which nothing is booked, and then called again', async () => {
    const place = await startedOwn();
    const by = await place.join();
    const people: Person[] = [];
    while (people.length < 10) people.push(await place.join());
    fail({ kind: 'refuse' });
    for (const each of people)
      expect(only(await book(newInput(), each)).appointment.confirmation).toBe('UNCONFIRMED');
    const input = newInput();
    const posts = await postsOf(async () => {
      for (const each of [by, people[0]!])
        expect(codesOf(await book(input, each))).toEqual(['UPSTREAM_UNAVAILABLE']);
    });
    expect([posts, (await own(by)).length, (await own(people[0])).length]).toEqual([0, 0, 1]);
    harness.sandbox.faults.clear();
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 6_000);
    for (const each of [by, people[0]!])
      expect(only(await book(input, each)).appointment.confirmation).toBe('CONFIRMED');
    expect([(await own(by)).length, (await own(people[0])).length]).toEqual([1, 2]);
  });

  let started: Harness | undefined;
  const startedOwn = async () => (started = await startHarness({ sandbox: harness.sandbox }));
  afterEach(() => started?.stop());
});

describe('answers and logs', () => {
  test('contain no token, no client secret and no text of the service', async () => {
    const token = 'token-of-the-appointment-service';
    harness.sandbox.appointments.revokeTokens();
    const restore = fail(answer(200, `{"access_token":"${token}","expires_in":3600}`), 'issuer');
    for (const act of [
      ...failures.map(([, one]) => one),
      answer(422, serviceText),
      answer(401, serviceText),
    ]) {
      const end = fail(act);
      await book(newInput());
      end();
      fail(answer(201), 'appointments', 1);
      await book(newInput()); // so that the circuit breaker stays closed
    }
    restore();
    const secrets = [token, serviceText, harness.sandbox.settings['APPOINTMENTS_CLIENT_SECRET']!, 'Bearer '];
    expect(answers.length).toBeGreaterThan(100);
    expect(leaksOf(harness.testbed, answers, secrets)).toEqual([]);
    expect(leaksOf(quick.testbed, [], secrets)).toEqual([]);
  });
});

test('no promise rejection was left unhandled', () => {
  expect(rejections).toEqual([]);
});
