import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codesOf, demo, startTestbed, type Testbed } from '../../support/testbed.js';

const signInOperation = `mutation ($input: SignInInput!) {
  signIn(input: $input) { sessionToken errors { code } } }`;
const notes = '{ notes { nodes { id } } }';
const book = `mutation ($input: CreateAppointmentInput!) {
  createAppointment(input: $input) { appointment { confirmation } errors { code } } }`;
const booking = {
  status: 'BOOKED',
  start: '2031-01-01T10:00:00Z',
  end: '2031-01-01T11:00:00Z',
  participants: [{ actor: { reference: 'Patient/1' }, status: 'ACCEPTED' }],
};
const bob = { email: 'bob@example.com', password: 'bobs' };

let testbed: Testbed;

beforeEach(async () => {
  testbed = await startTestbed({
    settings: { TRUST_PROXY: '1', GRANTS: '{"*":["appointments:write","appointments:read"]}' },
  });
  testbed.sandbox.notes.addUser({ ...bob, name: 'Bob' });
});
afterEach(() => testbed.stop());

const signIn = (input: object, network = '192.0.2.1') =>
  testbed.ask(signInOperation, { input }, undefined, { 'x-forwarded-for': network });
const isIn = ({ data }: { data: { signIn?: { sessionToken?: unknown } } | null }) =>
  typeof data?.signIn?.sessionToken === 'string';

function failing(service: 'notes' | 'appointments', path: RegExp, times: number, status = 500): void {
  testbed.sandbox.faults.add({ service, path, times, act: { kind: 'answer', status } });
}

describe('sign-ins at which the service fails', () => {
  const poison = { email: 'x\u0000@x.com', password: 'x' };

  test('pause sign-in for nobody else, in the same network or elsewhere, and no notes', async () => {
    const token = await testbed.signIn();
    failing('notes', /token/, 12);
    for (let count = 0; count < 12; count += 1)
      expect(codesOf(await signIn(poison))).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect(isIn(await signIn(bob))).toBe(true);
    expect(isIn(await signIn(bob, '192.0.2.7'))).toBe(true);
    expect((await testbed.ask(notes, {}, token)).errors).toBeUndefined();
  });

  test('once they have a token pause no notes either', async () => {
    const token = await testbed.signIn();
    failing('notes', /me/, 33);
    for (let count = 0; count < 11; count += 1)
      expect(codesOf(await signIn(bob))).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect((await testbed.ask(notes, {}, token)).errors).toBeUndefined();
  });

  test('from ten networks pause sign-in, but no notes', async () => {
    const token = await testbed.signIn();
    failing('notes', /token/, 10);
    for (let network = 0; network < 10; network += 1) await signIn(poison, `192.0.2.${network}`);
    expect(codesOf(await signIn(bob, '192.0.2.77'))).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect((await testbed.ask(notes, {}, token)).errors).toBeUndefined();
  });

  test('are refused after twenty within a minute, but not to those who have signed in from there', async () => {
    expect(isIn(await signIn(bob))).toBe(true);
    failing('notes', /token/, 20);
    const codes = [];
    for (let count = 0; count < 21; count += 1)
      codes.push(...codesOf(await signIn({ ...poison, email: `${count}@example.com` })));
    expect(codes).toEqual([...Array.from({ length: 20 }, () => 'UPSTREAM_UNAVAILABLE'), 'RATE_LIMITED']);
    expect(isIn(await signIn(bob))).toBe(true);
    expect(isIn(await signIn(demo, '192.0.2.7'))).toBe(true);
    await testbed.sandbox.clock.advance(60_000);
    expect(isIn(await signIn(demo))).toBe(true);
  });

  test.each([
    ['rejects the tokens that it issues', /me/, { status: 401 }, 'NOTES_TOKEN_FIELD'],
    ['issues tokens that cannot be sent', /token/, { status: 200, body: '{"token":"a b"}' }, 'unsendable'],
  ])('are refused after twenty, too, if it %s, of which the log tells', async (_, path, answer, told) => {
    const act = { kind: 'answer', ...answer } as const;
    testbed.sandbox.faults.add({ service: 'notes', path, times: 20, act });
    const codes = [];
    for (let count = 0; count < 21; count += 1) codes.push(...codesOf(await signIn(bob)));
    expect(codes).toEqual([...Array.from({ length: 20 }, () => 'UPSTREAM_INVALID_RESPONSE'), 'RATE_LIMITED']);
    expect(testbed.logged()).toContain(told);
  });

  test('that hang leave room for those of other networks', async () => {
    testbed.sandbox.faults.add({ service: 'notes', path: /token/, times: 16, act: { kind: 'hang' } });
    const hanging = Array.from({ length: 200 }, (_, at) =>
      signIn({ email: `${at}@example.com`, password: 'x' }).catch(() => undefined),
    );
    const called = () => testbed.sandbox.calls.filter(({ path }) => path === '/auth/token').length;
    await expect.poll(called).toBe(16);
    expect(isIn(await signIn(bob, '192.0.2.7'))).toBe(true);
    await testbed.gateway.stop();
    await Promise.all(hanging);
  });
});

describe('an address that is locked for guesses', () => {
  const guess = async (network: string) => {
    for (let count = 0; count < 10; count += 1) await signIn({ ...bob, password: 'guess' }, network);
  };

  test('lets its owner in from a network where it has signed in, even after a restart, and nobody elsewhere', async () => {
    expect(isIn(await signIn(bob, '198.51.100.1'))).toBe(true);
    await guess('203.0.113.9');
    for (const network of ['203.0.113.9', '192.0.2.200'])
      expect(codesOf(await signIn(bob, network))).toEqual(['RATE_LIMITED']);
    expect(isIn(await signIn(bob, '198.51.100.1'))).toBe(true);
    await guess('198.51.100.1');
    expect(codesOf(await signIn(bob, '198.51.100.1'))).toEqual(['RATE_LIMITED']);

    const { sandbox, folder } = testbed;
    await testbed.gateway.stop();
    testbed = await startTestbed({ settings: { TRUST_PROXY: '1' }, sandbox, folder });
    await guess('203.0.113.9');
    expect(codesOf(await signIn(bob, '192.0.2.200'))).toEqual(['RATE_LIMITED']);
    expect(isIn(await signIn(bob, '198.51.100.1'))).toBe(true);
    await sandbox.stop();
  });
});

describe('one user’s bookings', () => {
  const ask = (token: string) => testbed.ask(book, { input: booking }, token);

  test('that fail have nobody else’s refused', async () => {
    const [one, two] = [await testbed.signIn(), await testbed.signIn(bob)];
    failing('appointments', /appointments/, 12, 502);
    for (let count = 0; count < 12; count += 1)
      expect((await ask(one)).data.createAppointment.appointment.confirmation).toBe('UNCONFIRMED');
    expect((await ask(two)).data.createAppointment.appointment.confirmation).toBe('CONFIRMED');
  });

  test('that meet a 429 pause others no longer than it says', async () => {
    const [one, two] = [await testbed.signIn(), await testbed.signIn(bob)];
    failing('appointments', /appointments/, 1, 429);
    expect((await ask(one)).errors).toMatchObject([{ extensions: { code: 'RATE_LIMITED' } }]);
    expect((await ask(two)).data.createAppointment.appointment.confirmation).toBe('CONFIRMED');
  });
});

test('one user’s failing reads, by ten sessions, have nobody else’s refused, not even after a restart', async () => {
  const other = await testbed.signIn(bob);
  const sessions: string[] = [];
  for (let count = 0; count < 11; count += 1) sessions.push(await testbed.signIn());
  const fail = async () => {
    failing('notes', /notes/, 3 * sessions.length);
    for (const token of sessions)
      expect(codesOf(await testbed.ask(notes, {}, token))).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect((await testbed.ask(notes, {}, other)).errors).toBeUndefined();
  };
  await fail();
  const { sandbox, folder } = testbed;
  await testbed.gateway.stop();
  testbed = await startTestbed({ sandbox, folder });
  await fail();
  await sandbox.stop();
});
