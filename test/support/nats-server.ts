import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { freePort } from './postgres-server.js';

/** A server of NATS with JetStream, in a process of its own. */
export interface TestNats {
  readonly name: string;
  /** `host:port`, which stays when it is started again. */
  readonly address: string;
  readonly process: ChildProcess;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

// Debian has it where only root looks for programs.
const environment = { PATH: `${process.env['PATH']}:/usr/sbin` };
const isThere = spawnSync('nats-server', ['--version'], { env: environment }).status === 0;

/** Why tests with NATS are skipped here; on CI they always run, and fail if it is missing. */
export const noNats = isThere || process.env['CI'] === 'true' ? undefined : 'nats-server is not installed';
if (noNats !== undefined && process.env['VITEST'] !== undefined) test.skip(`with NATS: ${noNats}`);

const running = new Set<ChildProcess>();
process.on('exit', () => running.forEach((child) => child.kill('SIGKILL')));

/**
 * A cluster of so many servers, which takes messages of so many bytes, and tells clients no addresses. One, at `address`
 * if that is given, is not a cluster, but alone.
 */
export async function startNats(
  size: number,
  maxPayload = 1024 * 1024,
  address?: string,
): Promise<readonly TestNats[]> {
  const routes = await Promise.all(Array.from({ length: size }, () => freePort()));
  const cluster = `cluster { name: test, no_advertise: true, listen: "127.0.0.1:PORT", routes: [${routes
    .map((port) => `"nats://127.0.0.1:${port}"`)
    .join()}] }`;
  return Promise.all(
    routes.map((port, at) =>
      startServer(
        `nats-${at}`,
        [`max_payload: ${maxPayload}`, ...(size > 1 ? [cluster.replace('PORT', String(port))] : [])],
        address,
      ),
    ),
  );
}

async function startServer(
  name: string,
  settings: readonly string[],
  given: string | undefined,
): Promise<TestNats> {
  const folder = await mkdtemp(join(tmpdir(), 'trivium-nats-'));
  const address = given ?? `127.0.0.1:${await freePort()}`;
  const file = join(folder, 'nats.conf');
  const jetstream = `jetstream { store_dir: "${folder}" }`;
  const lines = [`listen: "${address}"`, `server_name: ${name}`, jetstream, ...settings];
  await writeFile(file, lines.join('\n'));
  let child = await run(file);
  const kill = async () => {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await ended;
  };
  return {
    name,
    address,
    get process() {
      return child;
    },
    kill,
    async start() {
      child = await run(file);
    },
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves once it listens. */
async function run(file: string): Promise<ChildProcess> {
  const child = spawn('nats-server', ['--config', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: environment,
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-2_000);
      if (/Server is ready|Listening for client connections/.test(output)) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(output)));
  });
  return child;
}
