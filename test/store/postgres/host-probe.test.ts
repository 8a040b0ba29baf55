import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { HostProbe, type Host } from '../../../src/store/postgres/host-probe.js';
import { PrimaryFinder } from '../../../src/store/postgres/primary-finder.js';
import { TimelineFence } from '../../../src/store/postgres/timeline.js';

/** The answers of Postgres to the first message of a client: it needs no password, and may ask. */
const welcome = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
const goodbye = 'X\0\0\0\u0004';

/** A server that answers nothing by itself, and the first connection to it. */
async function startServer() {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host: Host = { name: `host ${port}`, config: { host: '127.0.0.1', port, user: 'somebody' } };
  async function accept(): Promise<Socket> {
    const [socket] = (await once(server, 'connection')) as [Socket];
    onTestFinished(() => void socket.destroy());
    await once(socket, 'data');
    return socket;
  }
  return { host, accepted: accept() };
}

test('a probe keeps no connection that is made only after it was stopped', async () => {
  const { host, accepted } = await startServer();
  const probe = new HostProbe(host);
  const finding = probe.ask();
  const socket = await accepted;
  probe.stop();
  const told: Buffer[] = [];
  socket.on('data', (bytes) => void told.push(bytes));
  socket.write(welcome);
  await once(socket, 'end');
  expect(Buffer.concat(told).toString('latin1')).toBe(goodbye); // and no question before
  expect(await finding).toMatchObject({ state: 'silent' });
});

test('a finder that is stopped while it asks does not tell that no host answers', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const servers = [await startServer(), await startServer()];
  const finder = new PrimaryFinder({
    hosts: servers.map(({ host }) => host),
    fence: new TimelineFence(),
    log,
  });
  const looked = finder.look();
  await Promise.all(
    servers.map(async ({ accepted }) => {
      const socket = await accepted;
      socket.write(welcome);
      await once(socket, 'data'); // the question
    }),
  );
  finder.stop();
  await looked;
  expect(lines).toEqual([]);
});
