import { createReadStream, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { keepFiles } from '../../../src/server/pages/kept-files.js';

const content = Buffer.alloc(16 * 1024 * 1024, 'a file ');

/** A server of one long file, of which clients read nothing but the first bytes. */
async function serve() {
  const root = mkdtempSync(join(tmpdir(), 'trivium-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'long.txt'), content);
  const app = fastify();
  onTestFinished(() => app.close());
  keepFiles(app);
  app.get('/gone', (_, reply) => reply.send(createReadStream(join(root, 'gone.txt'))));
  await app.register(fastifyStatic, { root });
  const url = await app.listen();
  return { root, url };
}

test('a file is answered as it is', async () => {
  const { url } = await serve();
  for (let time = 0; time < 2; time += 1) {
    const response = await fetch(`${url}/long.txt`);
    expect(response.headers.get('content-length')).toBe(String(content.length));
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
  }
});

test('a file that was replaced is answered as it is now', async () => {
  const { root, url } = await serve();
  for (const replaced of ['short', 'shorter']) {
    writeFileSync(join(root, 'long.txt'), replaced);
    expect(await (await fetch(`${url}/long.txt`)).text()).toBe(replaced);
  }
});

test('a file that is gone before it is opened is an error of its request alone', async () => {
  const { url } = await serve();
  const refused = await fetch(`${url}/gone`);
  expect(refused.status).toBe(500);
  expect((await fetch(`${url}/long.txt`)).status).toBe(200);
});

test.skipIf(process.platform !== 'linux')('a file is not open while clients do not read it', async () => {
  const { root, url } = await serve();
  const clients = Array.from({ length: 5 }, () => connect(Number(new URL(url).port)));
  for (const client of clients) {
    client.write('GET /long.txt HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(client, 'readable');
  }
  const open = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(root);
      } catch {
        return false; // closed meanwhile
      }
    });
  await expect.poll(() => open().length).toBe(0);
  for (const client of clients) client.destroy();
});
