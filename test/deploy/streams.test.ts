import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { transports } from '../server/live/transports.js';
import { openEventStream } from '../server/stream/event-stream.js';
import { freePort } from '../support/postgres-server.js';
import { startTestbed } from '../support/testbed.js';

const hasNginx = spawnSync('nginx', ['-v']).error === undefined;

/** What nginx cuts off when it is silent for so long. In operation it is 20 seconds of silence, and a beat every 12. */
const silenceSeconds = 4;
const beatMs = 1_000;

/** A server block as it is without any thought of streams: nginx gathers answers, and cuts off those that are silent. */
const configuration = (folder: string, port: number, gateway: string) => `
worker_processes 1;
error_log stderr warn;
pid ${folder}/nginx.pid;
events { worker_connections 64; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass ${gateway};
      proxy_buffering on;
      proxy_read_timeout ${silenceSeconds}s;
    }
  }
}`;

/** Starts nginx in front of a gateway; gives its address. */
async function startNginx(gateway: string): Promise<string> {
  const folder = mkdtempSync(join(inject('testDirectory'), 'nginx-'));
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, configuration(folder, port, gateway));
  const nginx = spawn('nginx', ['-c', file, '-g', 'daemon off;'], { stdio: 'ignore' });
  onTestFinished(() => void nginx.kill('SIGTERM'));
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(async () => expect((await fetch(`${url}/livez`)).status).toBe(200), 60_000);
  return url;
}

test.runIf(hasNginx)('streams pass an nginx that gathers answers and cuts off what is silent', async () => {
  const testbed = await startTestbed({ streamBeatMs: beatMs });
  onTestFinished(() => testbed.stop());
  const url = await startNginx(testbed.url);
  const token = await testbed.signIn();
  const query = 'subscription { shipmentUpdates { event { eventId } } }';
  const [, ...streams] = transports;
  const all = await Promise.all(streams.map(([, open]) => open(url, token, query)));
  const watched = await openEventStream(url, { query }, { headers: { authorization: `Bearer ${token}` } });
  // The first block, and more beats than there may be silence.
  for (let beats = 0; beats < silenceSeconds + 2; beats += 1)
    expect(await watched.next()).toMatchObject({ id: expect.any(String), event: undefined });
  const { eventId } = await testbed.sandbox.webhooks.emitShipment();
  expect((await watched.nextOf('next')).data).toContain(eventId);
  for (const live of all) {
    expect(await live.next()).toMatchObject({ data: { shipmentUpdates: { event: { eventId } } } });
    live.leave();
  }
});
