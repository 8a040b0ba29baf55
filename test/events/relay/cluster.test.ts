import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../../src/sandbox/sandbox.js';
import { createEvent, signedHeaders, type Endpoint, type Event } from '../../chaos/events.js';
import { createRandom } from '../../chaos/random.js';
import { startSubscriber, type Subscriber } from '../../chaos/subscriber.js';
import { openTcpProxy, type TcpProxy } from '../../chaos/tcp-proxy.js';
import { openSession } from '../../chaos/visitors.js';
import { noPostgres } from '../../support/engines.js';
import { seriesIn } from '../../support/metrics.js';
import { noNats, startNats, type TestNats } from '../../support/nats-server.js';
import { createTestDatabase } from '../../support/postgres.js';
import { startGatewayProcess, type GatewayProcess } from '../../support/process.js';

const endpoint: Endpoint = { family: 'shipments', id: 'sub_relay', secret: 'a-secret-of-the-test' };
const random = createRandom('relay');
const paceMs = 20;
/** As long as the stream keeps what is published. */
const awayMs = 60_000;
const straight = { probability: 0, maxMs: 0 };

describe.skipIf(noPostgres ?? noNats)('gateways on a cluster of three NATS servers', () => {
  let nats: readonly TestNats[] = [];
  let sandbox: Sandbox;
  let gateways: readonly GatewayProcess[] = [];
  /** The last gateway's way to each server of NATS. */
  let proxies: readonly TcpProxy[] = [];
  let subscribers: readonly Subscriber[] = [];
  const sent: Event[] = [];
  /** Gets no deliveries, since it stands still. */
  let frozen: GatewayProcess | undefined;
  let isSending = true;
  let sending = Promise.resolve();

  beforeAll(async () => {
    nats = await startNats(3);
    sandbox = await startSandbox();
    const settings = {
      ...sandbox.settings,
      DATABASE_URL: await createTestDatabase(),
      NATS_URL: addressOf(nats.map(({ address }) => address)),
      SECRET_KEYS: randomBytes(32).toString('base64'),
      GRANTS: JSON.stringify({ '*': ['shipments:read'] }),
      SHIPMENT_WEBHOOKS: `${endpoint.id}=${endpoint.secret}`,
      LOG_LEVEL: 'info',
    };
    const first = await startGatewayProcess(settings);
    proxies = await Promise.all(nats.map(() => openTcpProxy(random, straight)));
    join();
    const apart = { NATS_URL: addressOf(proxies.map(({ port }) => `127.0.0.1:${port}`)) };
    const others = [{}, {}, apart].map((own) => startGatewayProcess({ ...settings, ...own }));
    gateways = [first, ...(await Promise.all(others))];
    const { token, after } = (await openSession({ url: () => first.url, random, patienceMs: 20_000 }))!;
    const profile = { name: 'all', family: 'shipments', selects: 'few' } as const;
    subscribers = gateways.map(({ url }) =>
      startSubscriber({ profile, token, after, url: () => url, random }),
    );
    sending = send();
  });
  afterAll(async () => {
    isSending = false;
    await sending;
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
  async function withStream<T>(ask: (stream: StreamInfo, client: NatsConnection) => T): Promise<T> {
    const client = await connect({ servers: nats.map(({ address }) => address) });
    try {
      const manager = await jetstreamManager(client);
      const { value: name } = await manager.streams.names()[Symbol.asyncIterator]().next();
      return ask(await manager.streams.info(name as string), client);
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

  const isShown = ({ type }: Event) => type !== 'shipment.weighed';

  test(
    'deliver each event once and in order, whatever becomes of servers and gateways',
    { timeout: 300_000 },
    async () => {
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
      await pause(500);
      await expectDelivered();
      nats.forEach((server) => server.process.kill('SIGCONT'));
      await expectInStep();

      // One gateway is cut off from NATS alone: it goes on from Postgres, and comes back.
      const apart = gateways.at(-1)!;
      const ownReads = () => measure(apart, 'trivium_relay_entries_total{source="database"}');
      const isConnected = () => measure(apart, 'trivium_relay_connected{}');
      const readBefore = await ownReads();
      expect(await isConnected()).toBe(1);
      cutOff();
      await expect.poll(isConnected).toBe(0);
      await expect.poll(async () => (await ownReads()) - readBefore).toBeGreaterThan(20);
      await expectDelivered();
      join();
      await expectInStep();

      // Somebody else publishes to the cluster what is none of ours.
      await withStream(({ config }, client) => client.publish(config.subjects[0]!, 'forged'));
      const refused = () => measure(gateways[0]!, 'trivium_relay_refused_total{reason="unreadable"}');
      await expect.poll(refused).toBe(1);
      await expectInStep();

      // The whole cluster is away for a minute, and has forgotten everything when it is back.
      await Promise.all(nats.map((server) => server.kill()));
      await pause(awayMs);
      await expectDelivered();
      await Promise.all(nats.map((server) => server.start()));
      await expectInStep();

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

      isSending = false;
      await sending;
      await expectDelivered();
      const expected = sent.filter(isShown).map(({ id }) => id);
      for (const { seen, endings } of subscribers) {
        expect(seen.map(({ eventId }) => eventId)).toEqual(expected);
        expect(endings).toEqual([]);
      }
    },
  );
});
