import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../../src/sandbox/sandbox.js';
import { createEvent, signedHeaders, type Endpoint, type Event } from '../../chaos/events.js';
import { createRandom } from '../../chaos/random.js';
import { startSubscriber, type Subscriber } from '../../chaos/subscriber.js';
import { openSession } from '../../chaos/visitors.js';
import { noPostgres } from '../../support/engines.js';
import { seriesIn } from '../../support/metrics.js';
import { noNats, startNats, type TestNats } from '../../support/nats-server.js';
import { createTestDatabase } from '../../support/postgres.js';
import { startGatewayProcess, type GatewayProcess } from '../../support/process.js';

const endpoint: Endpoint = { family: 'shipments', id: 'sub_relay', secret: 'a-secret-of-the-test' };
const random = createRandom('relay');
const paceMs = 20;

describe.skipIf(noPostgres ?? noNats)('gateways on a cluster of three NATS servers', () => {
  let nats: readonly TestNats[] = [];
  let sandbox: Sandbox;
  let gateways: readonly GatewayProcess[] = [];
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
      NATS_URL: nats.map(({ address }) => `nats://${address}`).join(),
      SECRET_KEYS: randomBytes(32).toString('base64'),
      GRANTS: JSON.stringify({ '*': ['shipments:read'] }),
      SHIPMENT_WEBHOOKS: `${endpoint.id}=${endpoint.secret}`,
      LOG_LEVEL: 'info',
    };
    const first = await startGatewayProcess(settings);
    gateways = [first, ...(await Promise.all([1, 2].map(() => startGatewayProcess(settings))))];
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
    await Promise.all(nats.map((server) => server.stop()));
    await sandbox?.stop();
  });

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

  async function leader(): Promise<TestNats> {
    const up = nats.filter(({ process: { exitCode, signalCode } }) => exitCode === null && !signalCode);
    const client = await connect({ servers: up.map(({ address }) => address) });
    try {
      const manager = await jetstreamManager(client);
      const { value: name } = await manager.streams.names()[Symbol.asyncIterator]().next();
      const { config, cluster } = await manager.streams.info(name as string);
      expect(config.num_replicas).toBe(3);
      return nats.find((server) => server.name === cluster?.leader)!;
    } finally {
      await client.close();
    }
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

  test('deliver each event once and in order, whatever becomes of servers and of the one that publishes', async () => {
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
  });
});
