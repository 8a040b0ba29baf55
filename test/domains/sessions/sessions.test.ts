import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Environment } from '../../../src/config/environment.js';
import type { FaultAction } from '../../../src/sandbox/faults.js';
import { codesOf, demo, startTestbed, type Answered, type Testbed } from '../../support/testbed.js';

const signInOperation = `mutation ($input: SignInInput!) {
  signIn(input: $input) { sessionToken expiresAt viewer { email grants } errors { code path } } }`;
const day = 24 * 60 * 60 * 1000;

let testbed: Testbed;

beforeAll(async () => {
  testbed = await startTestbed();
});

afterEach(() => testbed.sandbox.faults.clear());
afterAll(() => testbed.stop());

const signIn = (input: object = demo, to = testbed) => to.ask(signInOperation, { input });
const viewer = async (token: string, to = testbed) =>
  (await to.ask('{ viewer { email } }', {}, token)).data.viewer;
const wrongCredentials = { code: 'WRONG_CREDENTIALS', path: [] };
const failed = (...errors: object[]) => ({
  signIn: { sessionToken: null, expiresAt: null, viewer: null, errors },
});

type Reply = Omit<Extract<FaultAction, { kind: 'answer' }>, 'kind'>;

/** Makes the notes service give this answer to the next call to this path. */
function answerOnce(path: RegExp, act: Reply): void {
  testbed.sandbox.faults.add({ service: 'notes', path, times: 1, act: { kind: 'answer', ...act } });
}

/** Gets a notes token of the demo user without the gateway. */
async function issueToken(): Promise<string> {
  const url = `${testbed.sandbox.url}/notes/v1/auth/token`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(demo),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

/** Runs `run` with another gateway over the same services. */
async function withGateway<T>(settings: Environment, run: (other: Testbed) => Promise<T>): Promise<T> {
  const other = await startTestbed({ sandbox: testbed.sandbox, settings });
  try {
    return await run(other);
  } finally {
    await other.stop();
  }
}

describe('signing in', () => {
  test('gives a session of one day with a unique token', async () => {
    const before = testbed.sandbox.clock.now();
    const { data } = await signIn();
    const { sessionToken, expiresAt, viewer: user, errors } = data.signIn;
    expect(errors).toEqual([]);
    expect(user).toMatchObject({ email: demo.email, grants: expect.arrayContaining(['SHIPMENTS_READ']) });
    expect(sessionToken).toMatch(/^[\w-]{43}$/);
    expect(sessionToken).not.toBe((await signIn()).data.signIn.sessionToken);
    expect(Date.parse(expiresAt) - before - day).toBeGreaterThanOrEqual(-1000);
    expect(Date.parse(expiresAt) - before - day).toBeLessThan(5000);
    expect(await viewer(sessionToken)).toEqual({ email: demo.email });
  });

  test('gives grants for as long as the session, even if its user’s address changes', async () => {
    const viewerQuery = '{ viewer { id upstreamId email grants createdAt } }';
    const token = await testbed.signIn();
    const { id: _, grants, upstreamId, ...user } = (await testbed.ask(viewerQuery, {}, token)).data.viewer;
    const moved = { id: upstreamId, email: 'moved@example.com', name: 'Moved', created_at: user.createdAt };
    answerOnce(/me/, { status: 200, body: JSON.stringify(moved) });
    const { data } = await testbed.ask(viewerQuery, {}, token);
    expect(data.viewer).toMatchObject({ email: 'moved@example.com', grants });
    expect(grants).toContain('SHIPMENTS_READ');
  });

  test('calls no service for a client that has gone before its turn', async () => {
    const { calls, faults } = testbed.sandbox;
    const asked = calls.length;
    const made = () => calls.slice(asked).filter(({ path }) => path === '/auth/token').length;
    faults.add({ service: 'notes', path: /token/, times: 10, act: { kind: 'delay', ms: 1_500 } });
    const leaving = new AbortController();
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: signInOperation, variables: { input: demo } }),
      signal: leaving.signal,
    };
    const left = Array.from({ length: 30 }, () => fetch(`${testbed.url}/graphql`, request));
    await expect.poll(made).toBe(10);
    leaving.abort();
    await Promise.allSettled(left);
    expect((await signIn()).errors).toBeUndefined();
    expect(made()).toBe(11);
  });

  test('works for forty concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => signIn()));
    const tokens = new Set(answers.map(({ data }) => data.signIn.sessionToken as string));
    expect(tokens.size).toBe(40);
    expect(tokens).not.toContain(null);
  });

  test('without an e-mail address or password is REQUIRED, and makes no upstream call', async () => {
    const asked = testbed.sandbox.calls.length;
    const required = (name: string) => ({ code: 'REQUIRED', path: [name] });
    expect((await signIn({ email: '', password: '' })).data).toEqual(
      failed(required('email'), required('password')),
    );
    expect((await signIn({ email: '', password: 'x' })).data).toEqual(failed(required('email')));
    expect((await signIn({ email: 'x', password: '' })).data).toEqual(failed(required('password')));
    expect(testbed.sandbox.calls).toHaveLength(asked);
  });

  test('with a wrong password or address is WRONG_CREDENTIALS', async () => {
    expect((await signIn({ ...demo, password: 'wrong' })).data).toEqual(failed(wrongCredentials));
    expect((await signIn({ email: 'none@example.com', password: 'wrong' })).data).toEqual(
      failed(wrongCredentials),
    );
  });

  test.each([400, 401, 403, 422])('is WRONG_CREDENTIALS if the service answers %i', async (status) => {
    answerOnce(/token/, { status, body: 'secret words' });
    expect((await signIn({ email: `${status}@example.com`, password: 'x' })).data).toEqual(
      failed(wrongCredentials),
    );
  });

  const faulty: readonly [about: string, path: RegExp, act: Reply, code: string][] = [
    ['a 500', /token/, { status: 500, body: 'secret words' }, 'UPSTREAM_UNAVAILABLE'],
    [
      'a body without a token',
      /token/,
      { status: 200, body: '{"secret words":1}' },
      'UPSTREAM_INVALID_RESPONSE',
    ],
    ['a body that is not JSON', /token/, { status: 200, body: 'secret words' }, 'UPSTREAM_INVALID_RESPONSE'],
    ['a 404', /token/, { status: 404, body: 'secret words' }, 'UPSTREAM_INVALID_RESPONSE'],
    ['a 429', /token/, { status: 429, headers: { 'retry-after': '7' } }, 'RATE_LIMITED'],
    ['a user without an id', /me/, { status: 200, body: '{}' }, 'UPSTREAM_INVALID_RESPONSE'],
    ['a token that it then rejects', /me/, { status: 401 }, 'UPSTREAM_INVALID_RESPONSE'],
  ];

  test.each(faulty)('fails if the service answers with %s', async (_, path, act, code) => {
    answerOnce(path, act);
    const answer = await signIn({ ...demo });
    expect(codesOf(answer)).toEqual([code]);
    expect(JSON.stringify(answer.errors) + testbed.logged()).not.toContain('secret words');
  });

  test('does not end the caller’s session if the new token is rejected', async () => {
    const token = await testbed.signIn();
    answerOnce(/me/, { status: 401 });
    const answer = await testbed.ask(signInOperation, { input: demo }, token);
    expect(codesOf(answer)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    expect(await viewer(token)).toEqual({ email: demo.email });
  });
});

describe('the token call', () => {
  /** The lifetime in seconds of the session that this answer of the token call starts. */
  async function lifetimeAfter(answer: object, settings?: Environment): Promise<number | undefined> {
    const run = async (other: Testbed) => {
      const given = await issueToken();
      const body = JSON.stringify(answer).replace('<token>', given);
      answerOnce(/token/, { status: 200, body });
      const now = testbed.sandbox.clock.now();
      const { data } = await signIn(demo, other);
      const { expiresAt } = data?.signIn ?? {};
      return expiresAt && Math.round((Date.parse(expiresAt as string) - now) / 1000);
    };
    return settings ? withGateway(settings, run) : run(testbed);
  }

  const lifetimes: readonly [answer: object, seconds: number | undefined, settings?: Environment][] = [
    [{ access_token: '<token>', expires_in: 600 }, 600],
    [{ accessToken: '<token>', expires_in: '600' }, 600],
    [{ token: '<token>' }, 86_400],
    [{ data: { token: '<token>', expires_in: 600 } }, 600],
    [{ token: '<token>', expires_in: 0 }, 86_400],
    [{ token: '<token>', expires_in: 600.4 }, 600],
    [{ token: '<token>', expires_in: 1e15 }, 366 * 86_400],
    [{ token: '<token>' }, 60, { NOTES_TOKEN_LIFETIME_SECONDS: '60' }],
    [{ token: 'other', jwt: '<token>' }, 86_400, { NOTES_TOKEN_FIELD: 'jwt' }],
    [{ token: '<token>' }, undefined, { NOTES_TOKEN_FIELD: 'jwt' }],
  ];

  test.each(lifetimes)('%j gives a session of %j seconds', async (answer, seconds, settings) => {
    expect(await lifetimeAfter(answer, settings)).toBe(seconds);
  });
});

describe('guessing', () => {
  const isLimited = ({ errors }: Answered) => errors?.[0]?.extensions['code'] === 'RATE_LIMITED';

  test('is stopped for one address, however it is written and however many attempts are concurrent', async () => {
    await withGateway({}, async (other) => {
      const spellings = ['ann@example.com', 'Ann@Example.com', ' ann@example.com'];
      const asked = testbed.sandbox.calls.length;
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, at) => signIn({ email: spellings[at % 3], password: 'wrong' }, other)),
      );
      expect(answers.filter((answer) => !isLimited(answer))).toHaveLength(10);
      expect(testbed.sandbox.calls).toHaveLength(asked + 10);
      const { message, extensions } = answers.find(isLimited)!.errors![0]!;
      expect(extensions).toEqual({ code: 'RATE_LIMITED', retryAfter: expect.any(Number) });
      expect(extensions['retryAfter']).toBeGreaterThan(890);
      expect(message).not.toContain('ann');
      expect((await signIn(demo, other)).errors).toBeUndefined();
    });
  });

  test('is stopped for one client, whatever the addresses', async () => {
    await withGateway({}, async (other) => {
      const answers = await Promise.all(
        Array.from({ length: 110 }, (_, at) =>
          signIn({ email: `user${at}@example.com`, password: 'x' }, other),
        ),
      );
      expect(answers.filter((answer) => !isLimited(answer))).toHaveLength(100);
      expect(isLimited(await signIn(demo, other))).toBe(true);
      await testbed.sandbox.clock.advance(15 * 60 * 1000);
      expect((await signIn(demo, other)).errors).toBeUndefined();
    });
  });

  test('is stopped for one IPv6 network, whatever its addresses', async () => {
    await withGateway({ TRUST_PROXY: '1' }, async (other) => {
      const from = (client: string, email: string, password: string) =>
        other.ask(signInOperation, { input: { email, password } }, undefined, { 'x-forwarded-for': client });
      const answers = await Promise.all(
        Array.from({ length: 110 }, (_, at) =>
          from(`2001:db8:0:1:${at.toString(16)}::${at}`, `user${at}@example.com`, 'x'),
        ),
      );
      expect(answers.filter((answer) => !isLimited(answer))).toHaveLength(100);
      expect(isLimited(await from('2001:db8:0:1::1', demo.email, demo.password))).toBe(true);
      expect((await from('2001:db8:0:2::1', demo.email, demo.password)).errors).toBeUndefined();
    });
  });

  test('does not include attempts at which the service failed', async () => {
    const ann = { email: 'cut@example.com', password: 'wrong' };
    for (let count = 0; count < 12; count += 1) {
      answerOnce(/token/, { status: 404 });
      expect(codesOf(await signIn(ann))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
    }
    expect((await signIn(ann)).data).toEqual(failed(wrongCredentials));
  });
});

describe('a session', () => {
  test('is stored without its token or the service’s in plain text, and neither is logged', async () => {
    await withGateway({}, async (other) => {
      const upstream = await issueToken();
      answerOnce(/token/, { status: 200, body: JSON.stringify({ token: upstream }) });
      const token = await other.signIn();
      const files = readdirSync(other.folder).filter(
        (name) => name.startsWith('gateway.db') && !name.endsWith('lock'),
      );
      const stored = files.map((name) => readFileSync(join(other.folder, name), 'latin1')).join('');
      expect(stored).toContain(demo.email);
      for (const secret of [token, upstream, demo.password]) {
        expect(stored).not.toContain(secret);
        expect(other.logged()).not.toContain(secret);
      }
    });
  });

  test('survives a restart of the gateway', async () => {
    const place = { sandbox: testbed.sandbox, folder: join(testbed.folder, 'again') };
    const first = await startTestbed(place);
    const token = await first.signIn();
    await first.stop();
    const second = await startTestbed(place);
    expect(await viewer(token, second)).toEqual({ email: demo.email });
    await second.stop();
  });

  test('ends on signing out, and no other session does', async () => {
    const [token, other] = [await testbed.signIn(), await testbed.signIn()];
    const signOut = () => testbed.ask('mutation { signOut { signedOut errors { code } } }', {}, token);
    expect((await signOut()).data).toEqual({ signOut: { signedOut: true, errors: [] } });
    expect(codesOf(await signOut())).toEqual(['UNAUTHENTICATED']);
    expect(await viewer(token)).toBeNull();
    expect(await viewer(other)).toEqual({ email: demo.email });
  });

  test('ends on signing out for later mutations of the same document', async () => {
    const token = await testbed.signIn();
    const operation = `mutation ($input: CreateNoteInput!) {
      signOut { signedOut }
      createNote(input: $input) { note { id } errors { code } }
    }`;
    const before = testbed.sandbox.notes.noteCount(demo.email);
    const answer = await testbed.ask(operation, { input: { title: 'late', content: 'late' } }, token);
    expect(answer.errors).toMatchObject([{ path: ['createNote'], extensions: { code: 'UNAUTHENTICATED' } }]);
    expect(testbed.sandbox.notes.noteCount(demo.email)).toBe(before);
    expect(await viewer(token)).toBeNull();
  });

  test('ends when the notes service rejects its token', async () => {
    const token = await testbed.signIn();
    testbed.sandbox.notes.revokeTokens();
    const answer = await testbed.ask('{ __typename tags { nodes { name } } }', {}, token);
    expect(codesOf(answer)).toEqual(['UNAUTHENTICATED']);
    expect(await viewer(token)).toBeNull();
    expect(codesOf(await testbed.ask('{ liveCursor }', {}, token))).toEqual(['UNAUTHENTICATED']);
  });

  test('ends when its notes token expires, and makes no call with it', async () => {
    const token = await testbed.signIn();
    const begun = testbed.sandbox.clock.now();
    expect(await viewer(token)).toEqual({ email: demo.email });
    await testbed.sandbox.clock.advance(day - 5000 - (testbed.sandbox.clock.now() - begun));
    expect(codesOf(await testbed.ask('{ liveCursor }', {}, token))).toEqual([]);
    await testbed.sandbox.clock.advance(5000);
    const asked = testbed.sandbox.calls.length;
    expect(codesOf(await testbed.ask('{ tags { nodes { name } } }', {}, token))).toEqual(['UNAUTHENTICATED']);
    expect(testbed.sandbox.calls).toHaveLength(asked);
  });
});
