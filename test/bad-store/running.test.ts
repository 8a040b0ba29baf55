import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { createRandom } from '../chaos/random.js';
import { openTcpProxy } from '../chaos/tcp-proxy.js';
import { postGraphql } from '../drain/requests.js';
import { openSocket } from '../server/sockets.js';
import { noPostgres } from '../support/engines.js';
import { createTestFile } from '../support/sqlite.js';
import { demo } from '../support/testbed.js';
import { createTestDatabase, execute } from '../support/postgres.js';
import { createSender, settingsFor, start, stored } from './sending.js';

const random = createRandom('bad store');

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

const startOn = (databaseUrl: string) => start(settingsFor(sandbox, databaseUrl));

/** Sends large events until one is refused with 503, and expects the same of the next one. */
async function fillUp({ send, expectRefused }: ReturnType<typeof createSender>) {
  const statuses: number[] = [];
  for (let i = 0; i < 100 && statuses.at(-1) !== 503; i++) statuses.push((await send(500_000)).status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  await expectRefused(500_000);
}

describe.runIf(process.platform === 'linux')('a gateway on a full disk', { retry: 0 }, () => {
  test('answers 503, keeps what it acknowledged, and accepts events again once there is space', async () => {
    const database = await createTestFile();
    const gateway = await startOn(database);
    const sender = createSender(gateway);
    expect((await sender.send()).status).toBe(200);
    const limit = (bytes: string) =>
      execFileSync('prlimit', ['--pid', String(gateway.child.pid), `--fsize=${bytes}:unlimited`]);
    limit('4000000');
    await fillUp(sender);
    expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
    expect(await stored(database)).toEqual(sender.acknowledged);
    limit('unlimited');
    expect((await sender.send()).status).toBe(200);
    expect(await stored(database)).toEqual(sender.acknowledged);
    limit('100000'); // too little to checkpoint the database when it is closed
    expect(await gateway.end()).toBe(0);
    expect(await stored(database)).toEqual(sender.acknowledged);
  });
});

describe.skipIf(noPostgres)('a gateway on Postgres', { retry: 0 }, () => {
  test('answers 503 while Postgres is unreachable, signs nobody out, and recovers', async () => {
    const database = await createTestDatabase();
    const proxy = await openTcpProxy(random, { probability: 0, maxMs: 0 });
    onTestFinished(proxy.stop);
    proxy.target = Number(new URL(database).port);
    const gateway = await startOn(Object.assign(new URL(database), { port: String(proxy.port) }).href);
    const sender = createSender(gateway);
    expect((await sender.send()).status).toBe(200);
    const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
    const { data } = await postGraphql(gateway.url, signIn, { input: demo });

    proxy.target = undefined;
    proxy.cut(1);
    const refused = await sender.send();
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
    const socket = await openSocket(`${gateway.url}/graphql`);
    socket.send({ type: 'connection_init', payload: { authorization: 'Bearer of-unknown-worth' } });
    expect(await socket.closed).toBe(1013);
    const asked = await postGraphql(gateway.url, '{ liveCursor }', {}, { token: 'of-unknown-worth' });
    expect(asked.data?.liveCursor).toBeUndefined();
    expect(asked.status).not.toBe(401);

    proxy.target = Number(new URL(database).port);
    await vi.waitFor(async () => expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200), 30_000);
    expect((await sender.send()).status).toBe(200);
    expect(await stored(database)).toEqual(sender.acknowledged);
    const { data: known } = await postGraphql(
      gateway.url,
      '{ viewer { id } }',
      {},
      {
        token: data.signIn.sessionToken as string,
      },
    );
    expect(known.viewer).not.toBeNull();
  });

  test('answers 503 while Postgres accepts no writes, as after a failover', async () => {
    const database = await createTestDatabase();
    const name = new URL(database).pathname.slice(1);
    const gateway = await startOn(database);
    const sender = createSender(gateway);
    const elsewhere = Object.assign(new URL(database), { pathname: 'postgres' }).href;
    const turn = async (how: 'on' | 'off') => {
      await execute(elsewhere, `alter database ${name} set default_transaction_read_only = ${how}`);
      await execute(
        elsewhere,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      );
    };
    expect((await sender.send()).status).toBe(200);
    await turn('on');
    await expect.poll(async () => (await sender.send()).status).toBe(503);
    expect((await sender.send()).status).toBe(503);
    expect(await stored(database)).toEqual(sender.acknowledged);
    await turn('off');
    await vi.waitFor(async () => expect((await sender.send()).status).toBe(200), 30_000);
    expect(await stored(database)).toEqual(sender.acknowledged);
  });
});
