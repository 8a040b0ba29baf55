import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { FaultAction } from '../../../src/sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.js';
import { postGraphql } from '../../drain/requests.js';
import { engines, noPostgres } from '../../support/engines.js';
import { type Testbed, startTestbed } from '../../support/testbed.js';
import { createMigratedDatabase, execute } from '../../support/postgres.js';
import { startGatewayProcess } from '../../support/process.js';
import { input, postsOf } from './replica.js';

const create = `mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) {
  appointment { id confirmation upstreamId } errors { code } } }`;
const list = '{ appointments { nodes { id confirmation upstreamId } } }';
const minute = 60_000;

let sandbox: Sandbox;
let settings: Readonly<Record<string, string>>;

beforeEach(async () => {
  sandbox = await startSandbox();
  settings = {
    ...sandbox.settings,
    SECRET_KEYS: randomBytes(32).toString('base64'),
    GRANTS: JSON.stringify({ '*': ['appointments:write'] }),
  };
});
afterEach(() => sandbox.stop());

/** Starts a gateway that is stopped at the end of the test. */
async function startHere(databaseUrl: string): Promise<Testbed> {
  const testbed = await startTestbed({ sandbox, settings: { ...settings, DATABASE_URL: databaseUrl } });
  onTestFinished(testbed.stop);
  return testbed;
}

async function book(url: string, token: string, more = {}) {
  const { data } = await postGraphql(url, create, { input: { ...input, ...more } }, { token });
  return data.createAppointment as { appointment: unknown; errors: unknown };
}

async function bookings(url: string, token: string): Promise<unknown> {
  return (await postGraphql(url, list, {}, { token })).data.appointments.nodes;
}

/** Blocks writes of bookings until the returned function is called, which cancels those that still wait. */
async function holdBookings(url: string): Promise<() => Promise<void>> {
  if (url.startsWith('sqlite:')) {
    const file = new DatabaseSync(url.slice('sqlite:'.length), { timeout: 5_000 });
    file.exec('begin immediate');
    return async () => file.close();
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('begin; lock table bookings in share mode');
  return async () => {
    // Postgres would otherwise still carry out what a client sent before it was killed.
    await execute(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    );
    await client.end();
  };
}

/** What the service does when the gateway is killed, and how many bookings it has made by then. */
interface Moment {
  readonly act: FaultAction;
  readonly booked: number;
}

const moments: readonly (readonly [string, Moment])[] = [
  ['before the service has booked', { act: { kind: 'hang' }, booked: 0 }],
  ['before the service answers', { act: { kind: 'afterwards', act: { kind: 'hang' } }, booked: 1 }],
  ['before its answer is written', { act: { kind: 'delay', ms: 500 }, booked: 1 }],
];

/** Books through a gateway in a process of its own, and kills it in the middle of the booking. */
async function killWhileBooking(url: string, token: string, { act, booked }: Moment): Promise<void> {
  const gateway = await startGatewayProcess({ ...settings, DATABASE_URL: url });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  sandbox.faults.add({ service: 'appointments', method: 'POST', act });
  const gone = book(gateway.url, token).catch(() => 'gone');
  await expect.poll(() => postsOf(sandbox), { timeout: 10_000 }).toBe(1);
  const release = await holdBookings(url);
  await expect.poll(() => sandbox.appointments.booked.length, { timeout: 10_000 }).toBe(booked);
  await sleep(200); // an answer may be in flight, and nothing shows when it has arrived
  expect(await gateway.end('SIGKILL')).toBe('SIGKILL');
  expect(await gone).toBe('gone');
  await release();
  sandbox.faults.clear();
}

/** Lets the time pass that a booking takes at most. By Postgres's clock, it passes for the rows. */
async function passMinute(databaseUrl: string): Promise<void> {
  await sandbox.clock.advance(minute);
  if (databaseUrl.startsWith('sqlite:')) return;
  await execute(databaseUrl, `update bookings set pending_until = pending_until - ${minute}`);
}

/** The answers of a gateway about a booking during which another one was killed. */
async function answersOf({ url, signIn }: Testbed, token: string, databaseUrl: string) {
  const atOnce = await bookings(url, token);
  const withOtherInput = await book(url, token, { end: '2026-11-21T11:00:00Z' });
  const waiting = book(url, token);
  const sameAtOnce = await Promise.race([waiting, sleep(300, 'waits')]);
  await passMinute(databaseUrl);
  const sameLater = await waiting;
  await sandbox.clock.advance(30 * 24 * 60 * minute);
  const again = await signIn();
  const sameMuchLater = await book(url, again);
  const muchLater = await bookings(url, again);
  return { atOnce, withOtherInput, sameAtOnce, sameLater, sameMuchLater, muchLater };
}

/** The answers that are expected; with replicas, the booking may at first still be in progress on another one. */
function unconfirmed({ atOnce }: { readonly atOnce: unknown }, mayBeInProgress: boolean) {
  const [booking] = atOnce as unknown[];
  const same = { appointment: booking, errors: [] };
  return {
    atOnce: [{ id: expect.any(String) as string, confirmation: 'UNCONFIRMED', upstreamId: null }],
    withOtherInput: { appointment: null, errors: [{ code: 'CONFLICT' }] },
    sameAtOnce: mayBeInProgress ? 'waits' : same,
    sameLater: same,
    sameMuchLater: same,
    muchLater: [booking],
  };
}

describe.each(engines)(
  'a gateway killed in the middle of a booking on %s',
  { retry: 0 },
  (engine, freshUrl) => {
    // On Postgres, the row is the same at every moment, and a replica reads it below at each.
    test.each(engine === 'sqlite' ? moments : moments.slice(-1))(
      '%s: reports it UNCONFIRMED after a restart, and never posts it again',
      async (__, moment) => {
        const url = await freshUrl();
        const before = await startHere(url);
        const token = await before.signIn();
        await before.stop();
        await killWhileBooking(url, token, moment);
        const answers = await answersOf(await startHere(url), token, url);
        expect(answers).toEqual(unconfirmed(answers, url.startsWith('postgres:')));
        expect(postsOf(sandbox)).toBe(1);
      },
    );
  },
);

describe.skipIf(noPostgres)('a replica killed in the middle of a booking', { retry: 0 }, () => {
  test.each(moments)(
    '%s: the other replica reports it UNCONFIRMED, and never posts it again',
    async (_, moment) => {
      const url = await createMigratedDatabase();
      const other = await startHere(url);
      const token = await other.signIn();
      await killWhileBooking(url, token, moment);
      const answers = await answersOf(other, token, url);
      expect(answers).toEqual(unconfirmed(answers, true));
      expect(postsOf(sandbox)).toBe(1);
    },
  );
});
