import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Answered, codesOf } from '../support/testbed.js';
import { faultsOf, leaksOf, only, type Harness, startHarness } from './harness.js';

const signIn = `mutation ($input: SignInInput!) { signIn(input: $input) {
  sessionToken expiresAt viewer { id upstreamId email name createdAt grants } errors { code message path } } }`;
const viewer = '{ viewer { email } }';
const password = 'open, sesame';

let harness: Harness;
let email: string;
let people = 0;

beforeAll(async () => {
  harness = await startHarness();
});
beforeEach(() => {
  harness.sandbox.faults.clear();
  email = `sleeper${(people += 1)}@all.example`;
  harness.sandbox.notes.addUser({ email, password, name: 'Ali Baba' });
});
afterAll(() => harness.stop());

const ask = (input: object) => harness.testbed.ask(signIn, { input });
const refuse = (status: number, headers = {}) =>
  harness.sandbox.faults.add({
    service: 'notes',
    path: /auth/,
    times: 1,
    act: { kind: 'answer', status, headers, body: `the words of ${password}` },
  });

describe('signIn', () => {
  test('returns a session token, its expiry and the viewer', async () => {
    const { sessionToken, expiresAt, viewer: user, errors } = only(await ask({ email, password }));
    expect(errors).toEqual([]);
    expect(Buffer.from(sessionToken, 'base64url')).toHaveLength(32);
    const left = Date.parse(expiresAt) - harness.sandbox.clock.now();
    expect(Math.round(left / 60_000)).toBe(24 * 60);
    expect(user).toMatchObject({ email, name: 'Ali Baba', upstreamId: expect.stringMatching(/^user_/) });
    expect(user.createdAt).toMatch(/\.\d{6}Z$/);
    expect(user.grants.toSorted()).toEqual([
      'APPOINTMENTS_READ',
      'APPOINTMENTS_WRITE',
      'PAYMENTS_READ',
      'SHIPMENTS_READ',
      'WEBHOOKS_READ',
      'WEBHOOKS_ROTATE',
    ]);
    expect(only(await harness.testbed.ask(viewer, {}, sessionToken))).toEqual({ email });
  });

  test.each<[object, readonly string[]]>([
    [{ email: '', password: '' }, ['REQUIRED email', 'REQUIRED password']],
    [{ email: 'a@example.com', password: '' }, ['REQUIRED password']],
    [{ email: '', password }, ['REQUIRED email']],
  ])('reports what is missing in %j before any call', async (input, expected) => {
    const calls = await harness.callsOf(async () => {
      const payload = only(await ask(input));
      expect(payload).toMatchObject({ sessionToken: null, expiresAt: null, viewer: null });
      expect(faultsOf(payload)).toEqual(expected);
    });
    expect(calls).toEqual([]);
  });

  test('reports wrong credentials without saying which one is wrong', async () => {
    const answers = [await ask({ email, password: 'wrong' }), await ask({ email: `no${email}`, password })];
    for (const answer of answers) {
      expect(only(answer)).toMatchObject({ sessionToken: null, expiresAt: null, viewer: null });
      expect(faultsOf(only(answer))).toEqual(['WRONG_CREDENTIALS ']);
    }
    expect(only(answers[0]!)).toEqual(only(answers[1]!));
  });

  test.each([400, 401, 403, 422])('reports %i as WRONG_CREDENTIALS', async (status) => {
    refuse(status);
    const answer = await ask({ email, password });
    expect(faultsOf(only(answer))).toEqual(['WRONG_CREDENTIALS ']);
    expect(leaksOf(harness.testbed, [answer], [password])).toEqual([]);
  });

  test.each([404, 405, 409])('reports %i as UPSTREAM_INVALID_RESPONSE', async (status) => {
    refuse(status);
    expect(codesOf(await ask({ email, password }))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
  });

  test('passes on the service’s rate limit, with its Retry-After', async () => {
    refuse(429, { 'retry-after': '17' });
    const { errors } = await ask({ email, password });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 17 });
  });

  test('is throttled after ten failures, for that address only', async () => {
    for (let left = 10; left > 0; left -= 1) await ask({ email, password: 'wrong' });
    let answer: Answered | undefined;
    const calls = await harness.callsOf(async () => (answer = await ask({ email, password })));
    expect(calls).toEqual([]);
    const { code, retryAfter } = answer!.errors![0]!.extensions as { code: string; retryAfter: number };
    expect([code, Number.isInteger(retryAfter) && retryAfter > 0 && retryAfter <= 900]).toEqual([
      'RATE_LIMITED',
      true,
    ]);
    const other = await harness.join();
    expect(only(await other.ask(viewer))).toEqual({ email: other.email });
    await harness.sandbox.clock.advance(retryAfter * 1000);
    expect(only(await ask({ email, password })).errors).toEqual([]);
  });
});

describe('a session', () => {
  const openSession = async () => only(await ask({ email, password })).sessionToken as string;

  test('ends with signOut', async () => {
    const token = await openSession();
    const signOut = 'mutation { signOut { signedOut errors { code } } }';
    expect(only(await harness.testbed.ask(signOut, {}, token))).toEqual({ signedOut: true, errors: [] });
    expect(only(await harness.testbed.ask(viewer, {}, token))).toBeNull();
    expect(codesOf(await harness.testbed.ask(signOut, {}, token))).toEqual(['UNAUTHENTICATED']);
  });

  test('ends when the notes service answers 401 for its token', async () => {
    const token = await openSession();
    harness.sandbox.notes.revokeTokens();
    const list = '{ notes { nodes { id } } }';
    expect(codesOf(await harness.testbed.ask(list, {}, token))).toEqual(['UNAUTHENTICATED']);
    await expect.poll(async () => only(await harness.testbed.ask(viewer, {}, token))).toBeNull();
    const calls = await harness.callsOf(() => harness.testbed.ask(list, {}, token));
    expect(calls).toEqual([]);
  });

  test('ends with the notes token, after 24 hours', async () => {
    const token = await openSession();
    await harness.sandbox.clock.advance(86_400_000);
    expect(only(await harness.testbed.ask(viewer, {}, token))).toBeNull();
  });
});
