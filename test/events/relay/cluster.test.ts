import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../../src/sandbox/sandbox.js';
import { createEvent, isShown, signedHeaders, type Endpoint, type Event } from '../../chaos/events.js';
import { createRandom } from '../../chaos/random.js';
import { startSubscriber, type Subscriber } from '../../chaos/subscriber.js';
import { openTcpProxy, type TcpProxy } from '../../chaos/tcp-proxy.js';
import { openSession } from '../../chaos/visitors.js';
import { sealRows } from '../../../src/events/relay/stretch.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { noPostgres } from '../../support/engines.js';
import { seriesIn } from '../../support/metrics.js';
import { noNats, startNats, type TestNats } from '../../support/nats-server.js';
import { createTestDatabase, execute } from '../../support/postgres.js';
import { startGatewayProcess, type GatewayProcess } from '../../support/process.js';
import { openTestLog, type TestLog } from '../test-log.js';

const endpoint: Endpoint = { family: 'shipments', id: 'sub_relay', secret: 'a-secret-of-the-test' };
const random = createRandom('relay');
const paceMs = 40;
const straight = { probability: 0, maxMs: 0 };
/** Over which the rows are counted that Postgres is asked for. */
const counted = 50;
/** Postgres has told its statistics by then. */
const statisticsMs = 2_000;
const lostAtMost = 10_000;
/** As large as a server takes. */
const maxPayload = 1024 * 1024;

describe.skipIf(noPostgres ?? noNats)('gateways on a cluster of three NATS servers', () => {
  let nats: readonly TestNats[] = [];
  let sandbox: Sandbox;
  let gateways: readonly GatewayProcess[] = [];
  /** The last gateway's way to each server of NATS. */
  let proxies: readonly TcpProxy[] = [];
  let subscribers: readonly Subscriber[] = [];
  let sent: Event[] = [];
  let databaseUrl: string;
  const key = randomBytes(32);
  /** Opens a session at the first gateway. */
  const visit = async () => (await openSession({ url: () => gateways[0]!.url, random, patienceMs: 20_000 }))!;
  let session: Awaited<ReturnType<typeof visit>>;
  let settings: Readonly<Record<string, string>>;
  /** Gets no deliveries, since it stands still. */
  let frozen: GatewayProcess | undefined;
  let isSending = false;
  let sending = Promise.resolve();
  /** How many rows Postgres was asked for, for each event, while there was one gateway. */
  let alone: number;

  beforeAll(async () => {
    nats = await startNats(3);
    sandbox = await startSandbox();
    databaseUrl = await createTestDatabase();
    // So that a row counts as read only if it is asked for, though the table is small.
    await execute(
      databaseUrl,
      `alter database ${new URL(databaseUrl).pathname.slice(1)} set enable_seqscan = off`,
    );
    settings = {
      ...sandbox.settings,
      DATABASE_URL: databaseUrl,
      NATS_URL: addressOf(nats.map(({ address }) => address)),
      SECRET_KEYS: key.toString('base64'),
      GRANTS: JSON.stringify({ '*': ['shipments:read'] }),
      SHIPMENT_WEBHOOKS: `${endpoint.id}=${endpoint.secret}`,
      LOG_LEVEL: 'info',
    };
    gateways = [await startGatewayProcess(settings)];
    session = await visit();
    subscribers = gateways.map(follow);
    proxies = await Promise.all(nats.map(() => openTcpProxy(random, straight)));
    join();
  });
  afterAll(async () => {
    await stopSending();
    await Promise.all(subscribers.map((subscriber) => subscriber.stop()));
    await Promise.all(gateways.map((gateway) => gateway.end('SIGKILL')));
    proxies.forEach((proxy) => proxy.stop());
    await Promise.all(nats.map((server) => server.stop()));
    await sandbox?.stop();
  });

  const addressOf = (servers: readonly string[]) => servers.map((server) => `nats://${server}`).join();

  /** Lets the last gateway reach NATS. */
  function join(): void {
    proxies.forEach((proxy, at) => (proxy.target = Number(nats[at]!.address.split(':').at(-1))));
  }

  /** Cuts the last gateway off from NATS, and from nothing else. */
  function cutOff(): void {
    for (const proxy of proxies) {
      proxy.target = undefined;
      proxy.cut(1);
    }
  }

  /** Starts three more gateways; the last one has its own way to NATS. */
  async function startOthers(): Promise<void> {
    const apart = { NATS_URL: addressOf(proxies.map(({ port }) => `127.0.0.1:${port}`)) };
    const starting = [{}, {}, apart].map((own) => startGatewayProcess({ ...settings, ...own }));
    const others = await Promise.all(starting);
    gateways = [...gateways, ...others];
    subscribers = [...subscribers, ...others.map(follow)];
  }

  function follow({ url }: GatewayProcess): Subscriber {
    const profile = { name: 'all', family: 'shipments', selects: 'few' } as const;
    return startSubscriber({ profile, ...session, url: () => url, random });
  }

  function startSending(): void {
    isSending = true;
    sending = send();
  }

  async function stopSending(): Promise<void> {
    isSending = false;
    await sending;
  }

  /** One event after another, each until it is acknowledged. */
  async function send(): Promise<void> {
    while (isSending) {
      const event = createEvent('shipments', random);
      while (!(await isTaken(event))) await pause(paceMs);
      sent.push(event);
      await pause(paceMs);
    }
  }

  async function isTaken(event: Event): Promise<boolean> {
    const { url } = random.pick(gateways.filter((gateway) => gateway !== frozen));
    const answer = await fetch(`${url}/webhooks/shipments/${endpoint.id}`, {
      method: 'POST',
      headers: signedHeaders(endpoint, event),
      body: event.body,
      signal: AbortSignal.timeout(5_000),
    }).catch(() => undefined);
    await answer?.arrayBuffer();
    return answer?.status === 200;
  }

  async function measure({ url }: GatewayProcess, series: string): Promise<number> {
    return seriesIn(await (await fetch(`${url}/metrics`)).text()).get(series) ?? 0;
  }

  /** Waits until every gateway gets events by the relay. */
  async function expectInStep(): Promise<void> {
    const relayed = () =>
      Promise.all(gateways.map((gateway) => measure(gateway, 'trivium_relay_entries_total{source="relay"}')));
    const before = await relayed();
    const grown = async () => (await relayed()).filter((count, at) => count >= before[at]! + 5).length;
    await expect.poll(grown, { timeout: 60_000, interval: 200 }).toBe(gateways.length);
  }

  /** Waits until every subscriber has what was sent by now: the metrics of a gateway are a second old at most. */
  async function expectDelivered(those: readonly Subscriber[] = subscribers): Promise<void> {
    const last = sent.findLast(isShown)!.id;
    const behind = () => those.filter(({ seen }) => seen.every(({ eventId }) => eventId !== last)).length;
    await expect.poll(behind, { timeout: 30_000 }).toBe(0);
  }

  /** Asks the cluster, while all of it is up. */
  async function withStream<T>(
    ask: (stream: StreamInfo, client: NatsConnection) => T | Promise<T>,
  ): Promise<T> {
    const client = await connect({ servers: nats.map(({ address }) => address) });
    try {
      const manager = await jetstreamManager(client);
      const { value: name } = await manager.streams.names()[Symbol.asyncIterator]().next();
      return await ask(await manager.streams.info(name as string), client);
    } finally {
      await client.drain();
    }
  }

  function leader(): Promise<TestNats> {
    return withStream(({ config, cluster }) => {
      expect(config.num_replicas).toBe(3);
      return nats.find((server) => server.name === cluster?.leader)!;
    });
  }

  /** The gateway that publishes. */
  async function holder(): Promise<GatewayProcess> {
    const published = () =>
      Promise.all(gateways.map((gateway) => measure(gateway, 'trivium_relay_published_total{}')));
    const before = await published();
    let at = -1;
    await expect
      .poll(async () => (at = (await published()).findIndex((count, index) => count > before[index]!)))
      .not.toBe(-1);
    return gateways[at]!;
  }

  /** Every subscriber has had each event once and in order, and was never sent away. */
  async function expectWhole(): Promise<void> {
    await stopSending();
    await expectDelivered();
    const expected = sent.filter(isShown).map(({ id }) => id);
    for (const { seen, endings } of subscribers) {
      expect(seen.map(({ eventId }) => eventId)).toEqual(expected);
      expect(endings).toEqual([]);
    }
  }

  /** How many rows of the log Postgres has given to all who asked; it counts with a delay. */
  async function rowsGiven(): Promise<number> {
    await pause(statisticsMs);
    const statement = `select idx_tup_fetch + seq_tup_read as rows from pg_stat_user_tables where relname = 'events'`;
    const [{ rows }] = (await execute(databaseUrl, statement)) as [{ rows: string }];
    return Number(rows);
  }

  /** How many rows Postgres is asked for, for each event, while all gateways are in step. */
  async function rowsEach(): Promise<number> {
    startSending();
    try {
      await expectInStep();
      const before = { rows: await rowsGiven(), sent: sent.length };
      await expect.poll(() => sent.length, { timeout: 60_000 }).toBeGreaterThan(before.sent + counted);
      const rows = (await rowsGiven()) - before.rows;
      return rows / (sent.length - before.sent);
    } finally {
      await stopSending();
    }
  }

  /** Has the log read by somebody else. */
  async function withLog<T>(read: (opened: TestLog) => Promise<T>): Promise<T> {
    const opened = await openTestLog(databaseUrl);
    try {
      return await read(opened);
    } finally {
      await opened.stop();
    }
  }

  /** Publishes to the stream of the gateways, as whoever may write there can. */
  function publish(messages: Iterable<string>): Promise<void> {
    return withStream(async ({ config }, client) => {
      for (const message of messages) client.publish(config.subjects[0]!, message);
      await client.flush();
    });
  }

  const refused = () =>
    Promise.all(
      gateways.map((gateway) => measure(gateway, 'trivium_relay_refused_total{reason="unreadable"}')),
    );

  // In a test of its own: were it repeated together with the next one, there would be four by then.
  test('have Postgres asked for some rows by one gateway', { timeout: 120_000 }, async () => {
    alone = await rowsEach();
    expect(alone).toBeGreaterThanOrEqual(1);
  });

  describe('of which there are four', () => {
    beforeAll(startOthers);

    test('have Postgres asked for no more rows than one gateway has', { timeout: 180_000 }, async () => {
      await expectDelivered();
      // Without the relay, it would be four times as many. Where the machine stands still for a moment, it is so for once.
      await expect.poll(rowsEach, { timeout: 90_000 }).toBeLessThan(2 * alone);
      await expectWhole();
    });

    test(
      'deliver each event once and in order, whatever becomes of servers and gateways',
      { timeout: 300_000, retry: 0 },
      async () => {
        startSending();
        await expectInStep();

        // A server that does not lead, and then the one that does.
        const led = await leader();
        const other = nats.find((server) => server !== led)!;
        await other.kill();
        await expectInStep();
        await other.start();
        await led.kill();
        await expectInStep();
        await led.start();
        await expectDelivered();

        // The whole cluster hangs: events come from Postgres.
        nats.forEach((server) => server.process.kill('SIGSTOP'));
        const sentBefore = sent.length;
        await expect.poll(() => sent.length).toBeGreaterThan(sentBefore + 10);
        await expectDelivered();
        nats.forEach((server) => server.process.kill('SIGCONT'));
        await expectInStep();

        // One gateway is cut off from NATS alone: it goes on from Postgres, and comes back.
        const apart = gateways.at(-1)!;
        const ownReads = () => measure(apart, 'trivium_relay_entries_total{source="database"}');
        const isConnected = (gateway: GatewayProcess) => measure(gateway, 'trivium_relay_connected{}');
        const readBefore = await ownReads();
        expect(await isConnected(apart)).toBe(1);
        cutOff();
        await expect.poll(() => isConnected(apart)).toBe(0);
        await expect.poll(async () => (await ownReads()) - readBefore).toBeGreaterThan(20);
        await expectDelivered();
        join();
        await expectInStep();

        // The whole cluster is away, and has forgotten everything when it is back: its stream is in memory.
        await Promise.all(nats.map((server) => server.kill()));
        const [killedAt, sentUntilThen] = [Date.now(), sent.length];
        await expect.poll(() => Promise.all(gateways.map(isConnected))).toEqual([0, 0, 0, 0]);
        await expect.poll(() => sent.length).toBeGreaterThan(sentUntilThen + counted);
        await expectDelivered();
        await Promise.all(nats.map((server) => server.start()));
        await expectInStep();
        const { state } = await withStream((stream) => stream);
        expect(Date.parse(state.first_ts)).toBeGreaterThan(killedAt);

        // The gateway that publishes stands still until another has its lease.
        frozen = await holder();
        frozen.child.kill('SIGSTOP');
        const awake = gateways.filter((gateway) => gateway !== frozen);
        const published = () =>
          Promise.all(awake.map((gateway) => measure(gateway, 'trivium_relay_published_total{}')));
        const before = await published();
        await expect
          .poll(async () => (await published()).some((count, at) => count > before[at]!), { interval: 200 })
          .toBe(true);
        frozen.child.kill('SIGCONT');
        frozen = undefined;
        await expectInStep();

        await expectWhole();
      },
    );

    test('deliver nothing that is forged, not even with a stolen key', { retry: 0 }, async () => {
      const { position, forged } = await withLog(async ({ log }) => {
        const { head } = await log.bounds();
        const [last] = (await log.rowsAfter((await log.position(head - 1))!, 1))!.rows;
        return {
          position: (await log.position(head))!,
          forged: { ...last!, seq: head + 1, event_id: 'forged' },
        };
      });
      const sealed = (by: Buffer) => sealRows(createSealer([by]), position, [forged], maxPayload);
      const before = await refused();
      await publish(['forged', ...sealed(randomBytes(32))]);
      await expect.poll(refused).toEqual(before.map((count) => count + 2));
      // What is sealed with our own key counts only if Postgres has signalled it.
      await publish(sealed(key));
      startSending();
      await expectInStep();
      await expectWhole();
    });

    test('deliver nothing of the time after a backup once it is restored', { retry: 0 }, async () => {
      const kept = await withLog(async ({ log }) => (await log.position((await log.bounds()).head))!);
      startSending();
      await expectInStep();
      await stopSending();
      await expectDelivered();
      const lost = await withLog(async ({ log, database: { kysely } }) => {
        const { rows } = (await log.rowsAfter(kept, lostAtMost))!;
        await kysely.transaction().execute(async (db) => {
          await db.deleteFrom('events').where('seq', '>', kept.seq).execute();
          await db.deleteFrom('event_ids').where('seq', '>', kept.seq).execute();
          await db.updateTable('log_head').set({ seq: kept.seq }).execute();
        });
        return rows;
      });
      expect(lost.length).toBeGreaterThan(0);
      const endings = () => subscribers.map((subscriber) => subscriber.endings[0]);
      await expect.poll(endings, { timeout: 30_000 }).toEqual(gateways.map(() => 'CURSOR_EXPIRED'));
      await Promise.all(subscribers.map((subscriber) => subscriber.stop()));

      sent = [];
      session = await visit();
      subscribers = gateways.map(follow);
      await publish(sealRows(createSealer([key]), kept, lost, maxPayload));
      startSending();
      await expectInStep();
      await expectWhole();
    });
  });
});
