import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { readConfig, type GatewayConfig } from '../src/config/config.js';
import { startGateway } from '../src/gateway.js';
import { startSandbox, type Sandbox } from '../src/sandbox/sandbox.js';
import { createTelemetry } from '../src/lib/telemetry/telemetry.js';
import { testWriter } from './support/database.js';
import { createTestFile } from './support/sqlite.js';

/** The errors that the next upstream clients throw when they stop. */
const faults = vi.hoisted((): string[] => []);

vi.mock(import('../src/upstream/client.js'), async (original) => {
  const { createUpstream, ...others } = await original();
  const failing = (...options: Parameters<typeof createUpstream>) => {
    const upstream = createUpstream(...options);
    const stop = async () => {
      await upstream.stop();
      const fault = faults.shift();
      if (fault !== undefined) throw new Error(fault);
    };
    return { ...upstream, stop };
  };
  return { ...others, createUpstream: failing };
});

let sandbox: Sandbox;
let url: string;
let lines: string[];

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());
beforeEach(async () => {
  url = await createTestFile();
  lines = [];
});

function start(port = '0') {
  const settings = { ...sandbox.settings, PORT: port, DATABASE_URL: url };
  const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
  return startGateway(readConfig(settings, () => '') as GatewayConfig, { telemetry, writer: testWriter() });
}

const logged = () => lines.map((line) => (JSON.parse(line) as { err: { message: string } }).err.message);

/** Starts another gateway, which would fail if the database were still open. */
async function expectDatabaseClosed(): Promise<void> {
  await (await start()).stop();
}

test('stops every part even if some fail to stop, rejects with the first error, and logs all', async () => {
  const gateway = await start();
  faults.push('first', 'second');
  await expect(gateway.stop()).rejects.toThrow('first');
  expect(logged()).toEqual(['first', 'second']);
  await expectDatabaseClosed();
});

test('rejects with the reason for not starting, even if parts then fail to stop', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  faults.push('first');
  const { port } = other.address() as AddressInfo;
  await expect(start(String(port))).rejects.toThrow('EADDRINUSE');
  expect(logged()).toEqual(['first']);
  await expectDatabaseClosed();
});
