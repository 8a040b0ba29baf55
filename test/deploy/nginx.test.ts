import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { Agent, request } from 'undici';
import WebSocket from 'ws';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { settingsFor } from '../bad-store/sending.js';
import { createTestFile } from '../support/sqlite.js';
import { freePort } from '../support/postgres-server.js';
import { startGatewayProcess } from '../support/process.js';

const hasNginx =
  spawnSync('nginx', ['-v']).error === undefined && spawnSync('openssl', ['version']).error === undefined;

/** Runs nginx with the file as it is; only its ports, its folder, the certificate and the replicas are the test's. */
async function startNginx(ports: readonly number[]): Promise<string> {
  const folder = mkdtempSync(join(inject('testDirectory'), 'nginx-'));
  cpSync('deploy/nginx', folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  const [secure, plain] = [await freePort(), await freePort()];
  const own = readFileSync(file, 'utf8')
    .replace('listen 8443 ', `listen ${secure} `)
    .replace('listen 8080;', `listen ${plain};`)
    .replaceAll('/tmp/trivium-nginx', join(folder, 'nginx'));
  writeFileSync(file, own);
  const servers = ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(' ');
  writeFileSync(join(folder, 'upstreams.conf'), `upstream trivium { ${servers} }`);
  const certificate = [
    '-keyout',
    join(folder, 'tls.key'),
    '-out',
    join(folder, 'tls.crt'),
    '-subj',
    '/CN=localhost',
  ];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...certificate], {
    stdio: 'ignore',
  });
  const nginx = spawn('nginx', ['-c', file, '-g', 'daemon off;'], { stdio: 'ignore' });
  const ended = once(nginx, 'exit');
  onTestFinished(async () => {
    nginx.kill('SIGTERM');
    await ended;
  });
  return `https://127.0.0.1:${secure}`;
}

/** What a browser that knows HTTP/2 is given. */
async function protocolOf(address: string): Promise<string | undefined> {
  const { hostname, port } = new URL(address);
  const socket = connect({
    host: hostname,
    port: Number(port),
    ALPNProtocols: ['h2', 'http/1.1'],
    rejectUnauthorized: false,
  });
  await once(socket, 'secureConnect');
  socket.destroy();
  return socket.alpnProtocol || undefined;
}

test.runIf(hasNginx)(
  'behind nginx as it is shipped, a rolling restart loses no request',
  async () => {
    const sandbox = await startSandbox();
    onTestFinished(() => sandbox.stop());
    const replicas = await Promise.all(
      [1, 2].map(async () => ({
        ...settingsFor(sandbox, await createTestFile()),
        PORT: String(await freePort()),
        TRUST_PROXY: '1',
      })),
    );
    const ports = replicas.map(({ PORT }) => Number(PORT));
    const start = async (at: number) => {
      const gateway = await startGatewayProcess(replicas[at]!);
      onTestFinished(async () => void (await gateway.end('SIGKILL')));
      return gateway;
    };
    const running = await Promise.all(replicas.map((_, at) => start(at)));
    const url = await startNginx(ports);

    const dispatcher = new Agent({ connect: { rejectUnauthorized: false }, connections: 20 });
    onTestFinished(() => dispatcher.destroy());
    const ask = async () => {
      const { statusCode, body } = await request(`${url}/graphql`, {
        dispatcher,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"query":"mutation { __typename }"}',
      });
      const text = await body.text();
      return statusCode === 200 && text.includes('Mutation') ? undefined : `${statusCode} ${text}`;
    };
    await vi.waitFor(async () => expect(await ask()).toBeUndefined(), 60_000);

    const total = Number(process.env['TRIVIUM_TEST_REQUESTS'] ?? 500);
    const lost: unknown[] = [];
    let sent = 0;
    let rolled = false;
    const load = Array.from({ length: 10 }, async () => {
      while (sent < total || !rolled) {
        sent += 1;
        const fault = await ask().catch((error: unknown) => error);
        if (fault !== undefined) lost.push(fault);
      }
    });
    try {
      for (const [at, gateway] of running.entries()) {
        expect(await gateway.end()).toBe(0);
        await start(at);
      }
    } finally {
      rolled = true;
    }
    await Promise.all(load);
    expect(lost).toEqual([]);
    expect(sent).toBeGreaterThanOrEqual(total);

    expect((await request(`${url}/metrics`, { dispatcher })).statusCode).toBe(404);
    expect(await protocolOf(url)).toBe('h2');
    const socket = new WebSocket(`${url.replace('https', 'wss')}/graphql`, 'graphql-transport-ws', {
      rejectUnauthorized: false,
    });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.close();
  },
  240_000,
);
