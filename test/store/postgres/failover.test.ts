import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { probeDatabase } from '../../../src/store/probe.js';
import { createEvent, isShown, signedHeaders, type Endpoint, type Event } from '../../chaos/events.js';
import { createRandom } from '../../chaos/random.js';
import { shipmentUpdates, subscribe } from '../../replicas/subscriber.js';
import { noPostgres } from '../../support/engines.js';
import { skipPgbouncer, startPgbouncer } from '../../support/pgbouncer.js';
import { execute } from '../../support/postgres.js';
import { startPostgresPair, type PairedPostgres, type PostgresPair } from '../../support/postgres-server.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';

const endpoint: Endpoint = { family: 'shipments', id: 'sub_failover', secret: 'a-secret-of-the-test' };
const random = createRandom('failover');
const pauseMs = 20;

/** Sends events one after the other, each until it is acknowledged, and notes every status that came. */
function startSenders(url: string, count: number) {
  const acknowledged: Event[] = [];
  const statuses: number[] = [];
  let isOn = true;
  const send = async (): Promise<void> => {
    const event = createEvent('shipments', random);
    for (;;) {
      const request = { method: 'POST', headers: signedHeaders(endpoint, event), body: event.body };
      const { status } = await fetch(`${url}/webhooks/shipments/${endpoint.id}`, request);
      statuses.push(status);
      if (status === 200) return void acknowledged.push(event);
      await sleep(pauseMs);
    }
  };
  const work = Array.from({ length: count }, async () => {
    while (isOn) {
      await send();
      await sleep(pauseMs);
    }
  });
  // If the test fails before it stops them, they end with the gateway: `stop` tells of anything else.
  for (const one of work) one.catch(() => undefined);
  const more = (isIt: (status: number) => boolean) => async (least: number) => {
    const before = statuses.filter(isIt).length;
    const began = performance.now();
    await expect
      .poll(() => statuses.filter(isIt).length - before, { interval: 10 })
      .toBeGreaterThanOrEqual(least);
    return performance.now() - began;
  };
  return {
    acknowledged,
    statuses,
    /** Waits for so many more answers of a kind; resolves with how many milliseconds that took. */
    taken: more((status) => status === 200),
    refused: more((status) => status === 503),
    async stop() {
      isOn = false;
      await Promise.all(work);
    },
  };
}

/**
 * The last statements of connections that only ask a server what it is, or have not asked yet; the name of the application
 * is set by PgBouncer, before it passes on what asks.
 */
const asking =
  /pg_is_in_recovery|pg_walfile_name|^rollback$|^set synchronous_commit|^SET application_name=|^$/;

/** The numbers of the log of a server, and who else is connected to it, asked past the gateway. */
async function look({ url }: PairedPostgres) {
  const [head] = await execute(url, 'select seq, (select count(*) from events) as events from log_head');
  const others = await execute(
    url,
    `select query from pg_stat_activity where application_name = 'trivium' and pid <> pg_backend_pid()`,
  );
  return { head, others: others as { readonly query: string }[] };
}

const input = {
  status: 'BOOKED',
  start: '2026-03-01T09:00:00Z',
  end: '2026-03-01T09:30:00Z',
  participants: [{ actor: { reference: 'Patient/1' }, status: 'ACCEPTED' }],
  idempotencyKey: 'a-key',
};

async function book(testbed: Testbed, token: string): Promise<unknown> {
  const query = `mutation ($input: CreateAppointmentInput!) {
    createAppointment(input: $input) { appointment { id } errors { code } } }`;
  const { data, errors } = await testbed.ask(query, { input }, token);
  expect([errors, data.createAppointment.errors]).toEqual([undefined, []]);
  return data.createAppointment.appointment.id;
}

/** How the gateway is led to its database, and what an operator does besides as it fails over. */
interface Way {
  readonly settings: Readonly<Record<string, string>>;
  lead(to: PairedPostgres): Promise<void>;
}

function direct({ primary, standby }: PostgresPair): Way {
  const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
  const url = `postgres://postgres:password@${hosts}/postgres?target_session_attrs=read-write`;
  return { settings: { DATABASE_URL: url }, lead: async () => undefined };
}

async function pooled(pair: PostgresPair): Promise<Way> {
  const bouncer = await startPgbouncer(pair.primary.port);
  onTestFinished(() => bouncer.stop());
  const { DATABASE_URL: DATABASE_LISTEN_URL = '' } = direct(pair).settings;
  return {
    settings: { DATABASE_URL: bouncer.url, DATABASE_LISTEN_URL },
    lead: ({ port }) => bouncer.lead(port),
  };
}

const ways = [
  ['over two hosts', direct],
  ['through a pool in transaction mode', pooled],
] as const;

test.skipIf(noPostgres).each(skipPgbouncer ? ways.slice(0, 1) : ways)(
  '%s, a failover loses and repeats nothing, and an old primary is never used',
  { timeout: 180_000, retry: 0 },
  async (_, makeWay) => {
    const pair = await startPostgresPair();
    onTestFinished(() => pair.stop());
    const { primary, standby } = pair;
    const way = await makeWay(pair);
    const testbed = await startTestbed({
      settings: {
        ...way.settings,
        LOG_LEVEL: 'info',
        SECRET_KEYS: randomBytes(32).toString('base64'),
        SHIPMENT_WEBHOOKS: `${endpoint.id}=${endpoint.secret}`,
      },
    });
    onTestFinished(() => testbed.stop());
    const token = await testbed.signIn();
    const { data } = await testbed.ask('{ liveCursor }', {}, token);
    const asked = { query: shipmentUpdates, variables: { after: data.liveCursor as string } };
    const subscriber = await subscribe(testbed.url, token, asked);
    onTestFinished(() => subscriber.close());
    const booking = await book(testbed, token);
    const senders = startSenders(testbed.url, 4);
    await senders.taken(100);

    await primary.kill();
    await senders.refused(1);
    await execute(standby.url, 'select pg_promote()');
    const promoted = performance.now();
    await way.lead(standby);
    const { length: taken } = senders.acknowledged;
    const firstShown = () => senders.acknowledged.slice(taken).find(isShown)?.id;
    await expect.poll(firstShown, { interval: 10 }).toBeDefined();
    await expect.poll(() => subscriber.got, { interval: 10 }).toContain(firstShown());
    expect(performance.now() - promoted).toBeLessThan(30_000);
    expect(await book(testbed, token)).toBe(booking);
    const { data: seen } = await testbed.ask('{ viewer { email } }', {}, token);
    expect(seen.viewer).toEqual({ email: 'demo@example.com' });

    // The old primary comes back beside the new one: it is asked what it is, and no more.
    await primary.start();
    const before = await look(primary);
    await expect.poll(async () => (await look(primary)).others.length).toBeGreaterThan(0);
    await senders.taken(50);
    const beside = await look(primary);
    expect(beside.head).toEqual(before.head);
    for (const { query } of beside.others) expect(query).toMatch(asking);

    // It is all there is: nothing is written to it, and nothing that it has is shown.
    await standby.kill();
    await way.lead(primary);
    await senders.refused(20);
    const { data: shown } = await testbed.ask('{ shipments(first: 1) { nodes { shipmentId } } }', {}, token);
    expect(shown?.shipments ?? null).toBeNull();
    const alone = await look(primary);
    expect(alone.head).toEqual(before.head);
    for (const { query } of alone.others) expect(query).toMatch(asking);

    await standby.start();
    await way.lead(standby);
    await senders.taken(50);
    await senders.stop();
    const stored = (await execute(
      standby.url,
      'select event_id from events where event is not null order by seq',
    )) as {
      readonly event_id: string;
    }[];
    const order = stored.map(({ event_id }) => event_id);
    await expect.poll(() => subscriber.got.length).toBeGreaterThanOrEqual(order.length);
    expect(subscriber.got).toEqual(order);
    const all = await execute(standby.url, 'select event_id from event_ids');
    expect(all).toHaveLength(senders.acknowledged.length);
    expect(testbed.logged()).not.toContain('password@');
    // A gateway that starts now, too, is told by the new primary which one is old.
    const { DATABASE_URL: url = '', DATABASE_LISTEN_URL: listenUrl } = way.settings;
    expect(await probeDatabase(url, listenUrl)).toEqual([
      `127.0.0.1:${primary.port} accepts writes, but is not used (timeline 1)`,
      `127.0.0.1:${standby.port} accepts writes (timeline 2)`,
    ]);
  },
);

test.skipIf(noPostgres)(
  'a gateway that starts while nothing but an old primary answers does not use it if that waits for its standby',
  { timeout: 60_000 },
  async () => {
    const pair = await startPostgresPair();
    onTestFinished(() => pair.stop());
    const { primary, standby } = pair;
    const url = direct(pair).settings['DATABASE_URL']!;
    await primary.kill();
    await execute(standby.url, 'select pg_promote()');
    await standby.kill();

    await primary.start(true);
    await expect(probeDatabase(url, undefined)).rejects.toThrow(
      `127.0.0.1:${primary.port} accepts writes, but waits for a standby that is away (timeline 1)`,
    );
    await standby.start();
    expect(await probeDatabase(url, undefined)).toContain(
      `127.0.0.1:${standby.port} accepts writes (timeline 2)`,
    );

    // One that waits for no standby cannot be told from the only one that there is.
    await standby.kill();
    await primary.kill();
    await primary.start();
    expect(await probeDatabase(url, undefined)).toContain(
      `127.0.0.1:${primary.port} accepts writes (timeline 1)`,
    );
  },
);
