import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { postGraphql } from '../drain/requests.js';
import { noPostgres } from '../support/engines.js';
import { startPostgres } from '../support/postgres-server.js';
import { startGatewayProcess } from '../support/process.js';
import { findFaults } from './check.js';
import { readContents } from './contents.js';
import { createEvent, signedHeaders, type Endpoint } from './events.js';
import { freezePostgres } from './freeze.js';
import { openSession } from './visitors.js';
import { createRandom } from './random.js';
import type { Sent } from './sender.js';
import { fetchReadModels } from './read-models.js';
import { startSubscriber } from './subscriber.js';

const endpoint: Endpoint = { family: 'shipments', id: 'sub_frozen', secret: 'a-secret-of-the-test' };
const random = createRandom('frozen');

/** Starts a gateway with its own Postgres. */
async function startGateway(settings: Readonly<Record<string, string>> = {}) {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const gateway = await startGatewayProcess({
    ...sandbox.settings,
    DATABASE_URL: postgres.url,
    SECRET_KEYS: randomBytes(32).toString('base64'),
    GRANTS: JSON.stringify({ '*': ['shipments:read', 'payments:read'] }),
    SHIPMENT_WEBHOOKS: `${endpoint.id}=${endpoint.secret}`,
    ...settings,
  });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  return { gateway, url: gateway.url, databaseUrl: postgres.url };
}

test.skipIf(noPostgres)(
  'a Postgres that does not answer makes /readyz fail, and does not delay a shutdown, not even with such a collector',
  async () => {
    const collector = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    onTestFinished(() => collector.close().closeAllConnections());
    const { gateway, url, databaseUrl } = await startGateway({
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
      OTEL_BSP_SCHEDULE_DELAY: '600000', // all spans are sent by the stop
    });
    await postGraphql(url, '{ viewer { id } }');
    const ready = () => fetch(`${url}/readyz`, { signal: AbortSignal.timeout(4_000) });
    expect((await ready()).status).toBe(200);
    const thaw = await freezePostgres(databaseUrl);
    onTestFinished(thaw);
    await expect.poll(async () => (await ready()).status).toBe(503);
    const event = createEvent('shipments', random);
    const delivered = fetch(`${url}/webhooks/shipments/${endpoint.id}`, {
      method: 'POST',
      headers: signedHeaders(endpoint, event),
      body: event.body,
    }).then(
      ({ status }) => status,
      () => 'cut off',
    );
    await sleep(200);
    const began = performance.now();
    expect(await gateway.end('SIGTERM')).toBe(0);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(gateway.output()).toMatch(/shutdown timed out: what was still in progress/);
    expect(gateway.output()).toContain('the last traces could not be sent');
    expect(['cut off', 503]).toContain(await delivered);
  },
);

test.skipIf(noPostgres)(
  'a Postgres that does not answer causes 503s, but loses and repeats nothing',
  { retry: 0 },
  async () => {
    const { url, databaseUrl } = await startGateway();
    const { token, after } = (await openSession({ url: () => url, random, patienceMs: 20_000 }))!;
    const subscribers = (['all', 'nested'] as const).map((selects) =>
      startSubscriber({
        profile: { name: selects, family: 'shipments', selects },
        token,
        after,
        url: () => url,
        random,
      }),
    );
    onTestFinished(async () => void (await Promise.all(subscribers.map((subscriber) => subscriber.stop()))));
    const sent: Sent[] = [];
    const deliver = async (event = createEvent('shipments', random)) => {
      const answer = await fetch(`${url}/webhooks/shipments/${endpoint.id}`, {
        method: 'POST',
        headers: signedHeaders(endpoint, event),
        body: event.body,
      });
      sent.push({ ...event, family: 'shipments', acknowledged: answer.status === 200 });
      return answer;
    };
    const findings = async () => {
      const [contents, readModels] = [await readContents(databaseUrl), await fetchReadModels(url, token)];
      return findFaults({ sent, contents, readModels, subscribers, bookings: [] });
    };
    expect((await deliver()).status).toBe(200);

    const thaw = await freezePostgres(databaseUrl);
    // More than there are connections: some wait for an answer, some for a connection.
    const asked = Array.from({ length: 12 }, (_, number) =>
      postGraphql(url, '{ viewer { id } }', {}, { token: `unknown ${number}` }),
    );
    const refused = await Promise.all([deliver(), deliver(), deliver()]);
    expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(Number(refused[0].headers.get('retry-after'))).toBeGreaterThan(0);
    await thaw();

    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses).toContain(503);
    expect(statuses.filter((status) => status !== 503 && status !== 200)).toEqual([]);
    const again = await Promise.all(sent.map((event) => deliver(event)));
    expect(again.map(({ status }) => status)).toEqual(again.map(() => 200));
    await expect.poll(findings).toEqual([]);
    expect(subscribers.flatMap(({ endings }) => endings)).toEqual([]);
  },
);
