import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startSandbox } from '../src/sandbox/sandbox.js';
import { createSender, settingsFor, start } from './bad-store/sending.js';
import { postGraphql } from './drain/requests.js';
import { createTestFile } from './support/sqlite.js';
import { freePort } from './support/postgres-server.js';
import { allGrants, demo } from './support/testbed.js';
import { spawnGateway, startGatewayProcess, type ProcessOptions } from './support/process.js';

const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { grants } } }';

test.each([
  [{}, 'http://localhost:5173'],
  [{ GRANTS: '', ALLOWED_ORIGINS: 'https://app.example' }, 'https://app.example'],
])(
  'with the sandbox and %o, the demo user has all grants, and pages of %s may call',
  async (given, allowed) => {
    const gateway = await startGatewayProcess({ ...given, DATABASE_URL: await createTestFile() });
    onTestFinished(async () => void (await gateway.end('SIGKILL')));
    const { data } = await postGraphql(gateway.url, signIn, { input: demo });
    expect(data.signIn.viewer.grants).toHaveLength(allGrants.length);
    for (const origin of ['http://localhost:5173', 'https://app.example', 'http://localhost.example']) {
      const { headers } = await fetch(`${gateway.url}/graphql?query={__typename}`, { headers: { origin } });
      expect(headers.get('access-control-allow-origin')).toBe(origin === allowed ? origin : null);
      expect(headers.has('x-origin-refused')).toBe(origin !== allowed);
    }
  },
);

test('the sandbox beside a gateway listens on SANDBOX_PORT', async () => {
  const port = await freePort();
  const gateway = await startGatewayProcess({
    DATABASE_URL: await createTestFile(),
    SANDBOX_PORT: String(port),
  });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  await expect.poll(() => gateway.output()).toContain('Trivium is ready');
  expect(gateway.output()).toMatch(new RegExp(`^ +Sandbox +http://127\\.0\\.0\\.1:${port} `, 'm'));
});

test('where SANDBOX_PORT is taken, the sandbox says so, and where it is', async () => {
  const other = await startSandbox();
  onTestFinished(() => other.stop());
  const { port } = new URL(other.url);
  const gateway = await startGatewayProcess({ DATABASE_URL: await createTestFile(), SANDBOX_PORT: port });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  expect(gateway.output()).toMatch(
    new RegExp(`^Port ${port} is taken, .*: this one is at http://127\\.0\\.0\\.1:\\d+\\.$`, 'm'),
  );
});

test.each(['PORT', 'METRICS_PORT'])(
  'the sandbox leaves its port to the gateway whose %s it is',
  async (name) => {
    const port = String(await freePort());
    const gateway = await startGatewayProcess({
      DATABASE_URL: await createTestFile(),
      SANDBOX_PORT: port,
      [name]: port,
    });
    onTestFinished(async () => void (await gateway.end('SIGKILL')));
    const at = name === 'PORT' ? '/livez' : '/metrics';
    expect((await fetch(`http://127.0.0.1:${port}${at}`)).status).toBe(200);
  },
);

test('prints where its metrics are, also at a free port', async () => {
  const gateway = await startGatewayProcess({ DATABASE_URL: await createTestFile(), METRICS_PORT: '0' });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  await expect.poll(() => gateway.output()).toContain('Trivium is ready');
  const [, metrics = ''] = /^ +Metrics +(\S+)$/m.exec(gateway.output()) ?? [];
  expect(new URL(metrics).port).not.toBe(new URL(gateway.url).port);
  expect(await (await fetch(metrics)).text()).toContain('trivium_build_info');
});

test('the sandbox keeps a rotated secret beside the database, wherever the gateway was started', async () => {
  const url = await createTestFile();
  const port = String(await freePort());
  const gateway = await startGatewayProcess({ DATABASE_URL: url, SANDBOX_PORT: port });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  const { status } = await fetch(`http://127.0.0.1:${port}/control/rotate`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  });
  expect(status).toBe(200);
  expect(existsSync(join(dirname(url.slice('sqlite:'.length)), 'sandbox.json'))).toBe(true);
});

/** The output of a gateway that fails to start. */
async function refusal(
  given: Readonly<Record<string, string>>,
  options: ProcessOptions = {},
): Promise<string> {
  const gateway = spawnGateway({ DATABASE_URL: await createTestFile(), ...given }, options);
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  expect(await gateway.ended).toBe(1);
  return gateway.output();
}

test('a port in use is reported with its setting and without a stack', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  for (const name of ['PORT', 'METRICS_PORT']) {
    const said = await refusal({ [name]: String(port) });
    expect(said).toContain(
      `Invalid settings:\n  ${name}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    );
    expect(said).not.toMatch(/^ +at /m);
  }
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s ends it while it starts', async (signal) => {
  const silent = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const gateway = spawnGateway({ DATABASE_URL: `postgres://user@127.0.0.1:${port}/gateway` });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  await once(silent, 'connection');
  // Not by the signal's default action, which the first process of a container does not have.
  expect(await gateway.end(signal)).toBe(0);
});

test('a programming error is printed with its stack, even if it has a `code`', async () => {
  const source = "import net from 'node:net'; net.Server.prototype.listen = () => Buffer.from(undefined);";
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  expect(await refusal({}, { options })).toMatch(/ERR_INVALID_ARG_TYPE[^]*\n +at /);
});

/** The settings of a gateway that logs a line for each delivery of `createSender`. */
async function talkative() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.stop());
  const settings = settingsFor(sandbox, await createTestFile());
  return { ...settings, LOG_LEVEL: 'debug', PAYMENT_EVENT_TYPES: 'payment.failed' };
}

test('neither deliveries nor the end wait for a reader of the log that has stopped', async () => {
  const gateway = await start(await talkative());
  gateway.child.stdout!.pause();
  const { send } = createSender(gateway);
  for (let round = 0; round < 40; round += 1) await Promise.all(Array.from({ length: 50 }, () => send()));
  expect((await send()).status).toBe(200);
  const exited = once(gateway.child, 'exit');
  gateway.child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

test('a reader of the log that was late gets its last lines too', async () => {
  let lines = 0;
  const onLine = (line: string) => void (lines += line.includes('payment.succeeded') ? 1 : 0);
  const gateway = await start(await talkative(), { onLine });
  gateway.child.stdout!.pause();
  const { acknowledged, send } = createSender(gateway);
  for (let round = 0; round < 30; round += 1) await Promise.all(Array.from({ length: 50 }, () => send()));
  gateway.child.stdout!.resume();
  expect(await gateway.end()).toBe(0);
  expect(lines).toBe(acknowledged.length);
});

test.runIf(existsSync('/dev/full'))('starts, serves and ends with a log on a full disk', async () => {
  const port = await freePort();
  const source = "import fs from 'node:fs'; fs.closeSync(1); fs.openSync('/dev/full', 'w');";
  const options = ['--import', `data:text/javascript,${encodeURIComponent(source)}`];
  const gateway = spawnGateway({ ...(await talkative()), PORT: String(port) }, { options });
  onTestFinished(async () => void (await gateway.end('SIGKILL')));
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(() => fetch(url), 60_000);
  const { send } = createSender({ url });
  expect((await send()).status).toBe(200);
  expect((await send()).status).toBe(200);
  expect(await gateway.end()).toBe(0);
});
