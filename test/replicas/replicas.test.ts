import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { signPayment } from '../../src/sandbox/signing.js';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { noPostgres } from '../support/engines.js';
import { codesOf, startTestbed, type Testbed } from '../support/testbed.js';
import { createMigratedDatabase, execute } from '../support/postgres.js';
import { startPostgres } from '../support/postgres-server.js';
import { shipmentUpdates, subscribe, type Subscriber } from './subscriber.js';

const secretKey = randomBytes(32).toString('base64');
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

let sandbox: Sandbox;
let databaseUrl: string;
let testbeds: Testbed[];
let open: Subscriber[];
let closers: (() => Promise<void>)[];

/** Starts gateways over one Postgres and one sandbox at once; webhooks go to the first unless sent elsewhere. */
async function startReplicas(count: number, keys = secretKey): Promise<readonly Testbed[]> {
  const settings = { DATABASE_URL: databaseUrl, SECRET_KEYS: keys };
  const started = await Promise.all(numbers(count).map(() => startTestbed({ sandbox, settings })));
  testbeds.push(...started);
  sandbox.deliverTo(started[0]!.url);
  return started;
}

async function startTwo(): Promise<readonly [Testbed, Testbed]> {
  const [a, b] = await startReplicas(2);
  return [a!, b!];
}

async function begin(): Promise<void> {
  testbeds = [];
  open = [];
  closers = [];
  sandbox = await startSandbox();
  databaseUrl = await createMigratedDatabase();
}

async function end(): Promise<void> {
  for (const subscriber of open) subscriber.close();
  for (const testbed of testbeds) await testbed.stop();
  await sandbox.stop();
  for (const close of closers) await close();
}

async function follow(testbed: Testbed, token: string, after?: string): Promise<Subscriber> {
  const subscriber = await subscribe(testbed.url, token, { query: shipmentUpdates, variables: { after } });
  open.push(subscriber);
  return subscriber;
}

/** Sends an event through this replica, and returns its id once it is acknowledged. */
async function ship(testbed: Testbed): Promise<string> {
  sandbox.deliverTo(testbed.url);
  const { eventId, state } = await sandbox.webhooks.emitShipment();
  expect(state).toBe('acknowledged');
  return eventId;
}

const viewerOf = async (testbed: Testbed, token: string) =>
  (await testbed.ask('{ viewer { email } }', {}, token)).data?.viewer;

const input = {
  status: 'BOOKED',
  start: '2026-03-01T09:00:00Z',
  end: '2026-03-01T09:30:00Z',
  participants: [{ actor: { reference: 'Patient/1' }, status: 'ACCEPTED' }],
};

async function book(testbed: Testbed, token: string, idempotencyKey: string): Promise<string> {
  const query = `mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) {
    appointment { id confirmation } errors { code } } }`;
  const { data, errors } = await testbed.ask(query, { input: { ...input, idempotencyKey } }, token);
  expect(errors).toBeUndefined();
  expect(data.createAppointment.errors).toEqual([]);
  expect(data.createAppointment.appointment.confirmation).toBe('CONFIRMED');
  return data.createAppointment.appointment.id;
}

const callsTo = (service: string, method = 'POST') =>
  sandbox.calls.filter((call) => call.service === service && call.method === method).length;

const terminateBackends = (condition: string) =>
  execute(
    databaseUrl,
    `select pg_terminate_backend(pid) as gone from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
  );

describe.skipIf(noPostgres)('a pair of replicas over one Postgres', () => {
  let a: Testbed;
  let b: Testbed;

  beforeAll(async () => {
    await begin();
    [a, b] = await startTwo();
  });
  afterAll(end);

  describe('the log', () => {
    // The first: whoever subscribes later at a replica that lags behind gets an event of the test before.
    test('is resumed on one replica with a cursor from the other', async () => {
      const token = await a.signIn();
      const first = await follow(a, token);
      const id = await ship(a);
      await expect.poll(() => first.got).toEqual([id]);
      first.close();
      const missed = [await ship(b), await ship(a)];
      const second = await follow(b, token, first.cursor());
      missed.push(await ship(a));
      await expect.poll(() => second.got).toEqual(missed);
    });

    test('reaches the subscribers of every replica, whichever received the webhook', async () => {
      const token = await a.signIn();
      const subscriber = await follow(b, token);
      const ids = [await ship(a), await ship(a)];
      await expect.poll(() => subscriber.got).toEqual(ids);
    });

    test('stores an event once that both replicas receive at the same moment', async () => {
      const token = await a.signIn();
      const subscriber = await follow(b, token);
      const id = await ship(a);
      const again = numbers(20).map((n) => {
        sandbox.deliverTo((n % 2 === 0 ? a : b).url);
        return sandbox.webhooks.replay(id, 'sub_demo');
      });
      for (const { state } of await Promise.all(again)) expect(state).toBe('acknowledged');
      const last = await ship(a);
      await expect.poll(() => subscriber.got).toEqual([id, last]);
    });
  });

  describe('a session', () => {
    test('begun on one replica is valid on the other', async () => {
      const token = await a.signIn();
      expect(await viewerOf(b, token)).toEqual({ email: 'demo@example.com' });
    });

    test('ended by signOut on one replica closes its sockets on the other with 4401', async () => {
      const [token, kept] = [await a.signIn(), await a.signIn()];
      const [ended, other] = [await follow(b, token), await follow(b, kept)];
      expect(await viewerOf(b, token)).not.toBeNull();
      await a.ask('mutation { signOut { signedOut } }', {}, token);
      expect(await ended.closed).toBe(4401);
      expect(await viewerOf(b, token)).toBeNull();
      const id = await ship(a);
      await expect.poll(() => other.got).toEqual([id]);
    });

    test('refused by the notes service on one replica ends on the other', async () => {
      const token = await a.signIn();
      const subscriber = await follow(b, token);
      sandbox.notes.revokeTokens();
      const { errors } = await a.ask('{ tags { nodes { name } } }', {}, token);
      expect(codesOf({ errors })).toEqual(['UNAUTHENTICATED']);
      expect(await subscriber.closed).toBe(4401);
      await expect.poll(() => viewerOf(b, token)).toBeNull();
    });
  });
});

describe.skipIf(noPostgres)('replicas over one Postgres', () => {
  beforeEach(begin);
  afterEach(end);

  test('start at once on an empty database, and each delivers what the others receive', async () => {
    const replicas = await startReplicas(3);
    const token = await replicas[0]!.signIn();
    const subscribers = await Promise.all(replicas.map((testbed) => follow(testbed, token)));
    const ids: string[] = [];
    for (const testbed of replicas) ids.push(await ship(testbed));
    for (const { got } of subscribers) await expect.poll(() => got).toEqual(ids);
  });

  test('open a session that an older key of theirs sealed', async () => {
    const [older] = await startReplicas(1);
    const token = await older!.signIn();
    const newer = randomBytes(32).toString('base64');
    const [b] = await startReplicas(1, `${newer},${secretKey}`);
    expect(await viewerOf(b!, token)).toEqual({ email: 'demo@example.com' });
  });

  describe('a secret', () => {
    const rotate = `mutation { rotatePaymentWebhookSecret(input: { endpointId: "pe_demo" }) {
      rotatedAt errors { code } } }`;

    test.each(['current', 'previous'])(
      'rotated on one replica is valid on the other at once, if it is the %s one',
      async (which) => {
        const [a, b] = await startTwo();
        const token = await a.signIn();
        const before = sandbox.webhooks.endpoints()[0]!.secret;
        const { data } = await a.ask(rotate, {}, token);
        expect(data.rotatePaymentWebhookSecret.errors).toEqual([]);
        const secret = which === 'current' ? sandbox.webhooks.endpoints()[0]!.secret : before;
        const body = JSON.stringify({ id: `evt_${which}`, type: 'payment.other', created: 1 });
        const seconds = Math.floor(sandbox.clock.now() / 1000);
        const response = await fetch(`${b.url}/webhooks/payments/pe_demo`, {
          method: 'POST',
          headers: { 'payments-signature': signPayment(secret, undefined, seconds, body) },
          body,
        });
        expect(response.status).toBe(200);
      },
    );
  });

  describe('the appointment service', () => {
    test('issues one token for the first bookings through three replicas', async () => {
      const replicas = await startReplicas(3);
      const token = await replicas[0]!.signIn();
      const ids = await Promise.all(replicas.map((testbed, at) => book(testbed, token, `key ${at}`)));
      expect(new Set(ids).size).toBe(3);
      expect(callsTo('issuer')).toBe(1);
      expect(callsTo('appointments')).toBe(3);
    });

    test('books once for 50 concurrent requests with the same key through both replicas', async () => {
      const [a, b] = await startTwo();
      const token = await a.signIn();
      const ids = await Promise.all(numbers(50).map((n) => book(n % 2 === 0 ? a : b, token, 'key')));
      expect(new Set(ids).size).toBe(1);
      expect(callsTo('appointments')).toBe(1);
    });
  });

  describe('the database', () => {
    test('is listened to again after the listening connection is cut, and nothing is missed', async () => {
      const [a, b] = await startTwo();
      const token = await a.signIn();
      const subscriber = await follow(b, token);
      const ids = [await ship(a)];
      await expect.poll(() => subscriber.got).toEqual(ids);
      expect((await terminateBackends(`query ilike 'listen %'`)).length).toBeGreaterThanOrEqual(2);
      ids.push(await ship(a), await ship(a));
      await expect.poll(() => subscriber.got).toEqual(ids);
      await expect.poll(() => b.logged().includes('listening for database notifications again')).toBe(true);
      ids.push(await ship(b), await ship(a));
      await expect.poll(() => subscriber.got).toEqual(ids);
    });

    test('restarts under load without losing an event or a subscriber', { retry: 0 }, async () => {
      const postgres = await startPostgres();
      closers.push(postgres.stop);
      databaseUrl = postgres.url;
      const [a, b] = await startTwo();
      const token = await a.signIn();
      const subscriber = await follow(b, token);
      const statuses = new Set<number | null>();
      const acknowledged = new Set<string>();
      const emitted = new Set<string>();
      let running = true;
      const load = async () => {
        for (let at = 0; running; at++) {
          sandbox.deliverTo((at % 2 === 0 ? a : b).url);
          const { eventId, attempts, state } = await sandbox.webhooks.emitShipment();
          emitted.add(eventId);
          statuses.add(attempts[0]!.status);
          if (state === 'acknowledged') acknowledged.add(eventId);
        }
      };
      const loads = numbers(4).map(load);
      const more = () => acknowledged.size + 20;
      for (const awayMs of [0, 500, 1_500]) {
        await expect.poll(() => acknowledged.size).toBeGreaterThan(more());
        await postgres.restart(awayMs);
      }
      await expect.poll(() => acknowledged.size).toBeGreaterThan(more());
      running = false;
      await Promise.all(loads);
      expect(statuses).toEqual(new Set([200, 503]));

      for (const testbed of [a, b])
        await expect.poll(async () => (await fetch(`${testbed.url}/readyz`)).status).toBe(200);
      const last = await ship(a);
      await expect.poll(() => subscriber.got.at(-1)).toBe(last);
      const rows = await execute(databaseUrl, 'select seq, event_id from events order by seq');
      const stored = (rows as { seq: string; event_id: string }[]).map(({ event_id }) => event_id);
      expect(subscriber.got).toEqual(stored);
      expect(new Set(stored).size).toBe(stored.length);
      expect([...acknowledged].filter((id) => !stored.includes(id))).toEqual([]);
      expect(stored.filter((id) => id !== last && !emitted.has(id))).toEqual([]);
    });
  });
});
