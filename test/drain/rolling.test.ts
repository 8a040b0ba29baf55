import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { findFaults } from '../chaos/check.js';
import { readContents } from '../chaos/contents.js';
import { createEvent, signedHeaders, type Endpoint } from '../chaos/events.js';
import { createRandom } from '../chaos/random.js';
import type { Fault } from '../chaos/faults.js';
import type { Sent } from '../chaos/sender.js';
import { fetchReadModels } from '../chaos/read-models.js';
import { startSubscriber } from '../chaos/subscriber.js';
import { noPostgres } from '../support/engines.js';
import { demo } from '../support/testbed.js';
import { createTestDatabase } from '../support/postgres.js';
import { startGatewayProcess } from '../support/process.js';
import { postGraphql } from './requests.js';

const endpoint: Endpoint = { family: 'shipments', id: 'sub_rolling', secret: 'a-secret-of-the-test' };
const random = createRandom('rolling');

function settingsOf(sandbox: Sandbox, url: string): Record<string, string> {
  return {
    ...sandbox.settings,
    DATABASE_URL: url,
    SECRET_KEYS: Buffer.alloc(32, 7).toString('base64'),
    GRANTS: JSON.stringify({ '*': ['shipments:read', 'payments:read'] }),
    SHIPMENT_WEBHOOKS: `${endpoint.id}=${endpoint.secret}`,
  };
}

/** Posts to one of these URLs; only if the connection is refused, to the next one. */
async function postToAny(
  urls: readonly string[],
  path: string,
  headers: Record<string, string>,
  body: string,
) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await post(`${urls[attempt % urls.length]!}${path}`, headers, body);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ECONNREFUSED' || attempt > 50) return `${path}: ${code}`;
      if (attempt >= urls.length) await sleep(20);
    }
  }
}

const agent = new Agent({ keepAlive: true });

function post(url: string, headers: Record<string, string>, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().on('error', reject);
      answer.on('end', () => resolve(answer.statusCode));
    });
    sent.on('error', reject).end(body);
  });
}

/** Replaces each of three replicas by one of the next build, under load; without a folder, the build is this one. */
async function rollUnderLoad([first, ...builds]: readonly (string | undefined)[]) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  onTestFinished(() => agent.destroy());
  const database = await createTestDatabase();
  const settings = settingsOf(sandbox, database);
  const replicas = await Promise.all([1, 2, 3].map(() => startGatewayProcess(settings, { folder: first })));
  onTestFinished(async () => void (await Promise.all(replicas.map((replica) => replica.end('SIGKILL')))));
  const urls = replicas.map(({ url }) => url);
  const shuffled = () => urls.toSorted(() => random.between(-1, 1));

  const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const { data: signedIn } = await postGraphql(urls[0]!, signIn, { input: demo });
  const token = signedIn.signIn.sessionToken as string;
  const { data: start } = await postGraphql(urls[0]!, '{ liveCursor }', {}, { token });
  const subscribers = [1, 2, 3].map((number) =>
    startSubscriber({
      profile: { name: `subscriber ${number}`, family: 'shipments', selects: 'all' },
      token,
      after: start.liveCursor as string,
      url: () => random.pick(urls),
      random,
    }),
  );
  onTestFinished(async () => void (await Promise.all(subscribers.map((subscriber) => subscriber.stop()))));

  const sent: Sent[] = [];
  const answers: (number | string | undefined)[] = [];
  let isUnderLoad = true;
  const query = JSON.stringify({ query: '{ shipments(first: 5) { nodes { id stage } } }' });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const deliver = async () => {
    const event = {
      ...createEvent('shipments', random),
      family: 'shipments' as const,
      acknowledged: false,
    };
    sent.push(event);
    const path = `/webhooks/shipments/${endpoint.id}`;
    const status = await postToAny(shuffled(), path, signedHeaders(endpoint, event), event.body);
    event.acknowledged = status === 200;
    return status;
  };
  const load = Array.from({ length: 8 }, async (_, number) => {
    while (isUnderLoad) {
      answers.push(
        number % 2 === 0 ? await deliver() : await postToAny(shuffled(), '/graphql', headers, query),
      );
      await sleep(random.between(0, 20));
    }
  });

  let restarted = 0;
  for (const folder of builds)
    for (const [at, url] of urls.entries()) {
      await sleep(500);
      expect(await replicas[at]!.end('SIGTERM')).toBe(0);
      replicas[at] = await startGatewayProcess({ ...settings, PORT: new URL(url).port }, { folder });
      restarted += 1;
    }
  isUnderLoad = false;
  await Promise.all(load);

  const failed = answers.filter((answer) => answer !== 200);
  const find = async () => {
    const contents = await readContents(database);
    const readModels = await fetchReadModels(urls[0]!, token);
    return findFaults({ sent, contents, readModels, subscribers, bookings: [] });
  };
  const deadline = performance.now() + 60_000;
  let findings = await find();
  while (findings.length > 0 && performance.now() < deadline) {
    await sleep(100);
    findings = await find();
  }
  const count = (...sought: readonly Fault[]) =>
    findings.filter(({ fault }) => sought.includes(fault)).length;
  process.stdout.write(
    `rolling restart: replicas restarted ${restarted}, HTTP requests answered ${answers.length}, ` +
      `failed ${failed.length}, events acknowledged ${sent.filter((it) => it.acknowledged).length}, ` +
      `lost ${count('acknowledged and lost', 'not delivered')}, ` +
      `repeated ${count('stored twice', 'delivered twice')}\n`,
  );
  expect(answers.length).toBeGreaterThan(300);
  return { failed, findings, endings: subscribers.flatMap(({ endings }) => endings) };
}

const nothing = { failed: [], findings: [], endings: [] };

describe.skipIf(noPostgres)('a rolling restart of three replicas under load', () => {
  test('fails no request, and loses and repeats no event', { timeout: 240_000, retry: 0 }, async () =>
    expect(await rollUnderLoad([undefined, undefined])).toEqual(nothing),
  );
});

/** A folder with a build of the release before, which no checkout has: without it, there is nothing to run. */
const before = process.env['TRIVIUM_RELEASE_BEFORE'];
if (before !== undefined)
  test(
    'a rolling upgrade from the release before, back to it, and up again fails no request, and loses and repeats no event',
    { timeout: 600_000, retry: 0 },
    async () => expect(await rollUnderLoad([before, undefined, before, undefined])).toEqual(nothing),
  );
