import { once } from 'node:events';
import {
  Agent,
  createServer,
  request,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { GracefulShutdown } from '../../../src/server/http/graceful-shutdown.js';
import { openConnection } from '../../drain/raw-connection.js';
import { collect } from '../../support/memory.js';

/** A server whose responses a drain tracks, and a client with one keep-alive connection. */
async function start(answer: (response: ServerResponse) => void, hurry = () => {}) {
  const cut: number[] = [];
  const drain = new GracefulShutdown();
  const server = createServer((_, response) => {
    drain.track(response);
    answer(response);
  });
  server.on('connection', drain.onConnection);
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => {
    agent.destroy();
    server.close();
  });
  const ask = async () => {
    const { port } = server.address() as AddressInfo;
    const asked = request({ port, host: '127.0.0.1', agent }).end();
    const [answered] = (await once(asked, 'response')) as [IncomingMessage];
    return { headers: answered.headers, body: await text(answered) };
  };
  const run = () =>
    drain.run(server, {
      hurry,
      onCutOff: (responses) => cut.push(responses),
      retire: () => Promise.resolve(),
    });
  return { run, server, ask, cut };
}

/** Resolves once a drain has closed the idle connections, and waits for the others. */
function idleClosed(server: Server): Promise<void> {
  const close = server.closeIdleConnections.bind(server);
  return new Promise((resolve) => {
    vi.spyOn(server, 'closeIdleConnections').mockImplementation(() => resolve(close()));
  });
}

test('does not keep finished responses in memory while their connection stays open', async () => {
  const given: WeakRef<ServerResponse>[] = [];
  const { ask } = await start((response) => {
    given.push(new WeakRef(response));
    response.end('given');
  });
  for (let times = 0; times < 3; times += 1) expect((await ask()).body).toBe('given');
  const left = () => {
    collect();
    return given.filter((reference) => reference.deref()).length;
  };
  await expect.poll(left, { timeout: 10_000, interval: 200 }).toBe(0);
});

test('waits for a response, however long ago it was requested', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const waiting: ServerResponse[] = [];
  const { run, server, ask } = await start((response) => void waiting.push(response));
  const arrived = once(server, 'request');
  const asked = ask();
  await arrived;
  vi.advanceTimersByTime(2_500); // in which finished responses would be swept
  vi.useRealTimers();
  const closed = idleClosed(server);
  const drained = run();
  await closed;
  waiting[0]!.end('late');
  expect(await asked).toMatchObject({ body: 'late', headers: { connection: 'close' } });
  await drained;
});

test.each(['before', 'meanwhile'])(
  'waits for no response whose client left %s, even to a request behind another',
  async (when) => {
    let requested = 0;
    const hurry = vi.fn<() => void>();
    const { run, server, cut } = await start(() => (requested += 1), hurry);
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const { socket: client } = openConnection((server.address() as AddressInfo).port);
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2));
    const [socket] = await accepted;
    await expect.poll(() => requested).toBe(2);
    const leave = async () => {
      client.destroy();
      await once(socket, 'close');
    };
    if (when === 'before') await leave();
    const closed = idleClosed(server);
    const drained = run();
    if (when === 'meanwhile') await closed.then(leave);
    await drained;
    expect(hurry).not.toHaveBeenCalled();
    expect(cut).toEqual([]);
  },
);

test('waits for a request that comes behind an answer which had begun before', async () => {
  const responses: ServerResponse[] = [];
  const { run, server, cut } = await start((response) => {
    responses.push(response);
    response.writeHead(200).write('begun');
  });
  const { socket: client, received } = openConnection((server.address() as AddressInfo).port);
  const ask = () => client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  ask();
  await expect.poll(received).toMatch(/begun/);
  const closed = idleClosed(server);
  const drained = run();
  await closed;
  ask();
  await expect.poll(() => responses).toHaveLength(2);
  responses[0]!.end('first');
  await expect.poll(received).toMatch(/first/);
  responses[1]!.end('second');
  await drained;
  await expect.poll(received).toMatch(/second/);
  expect(cut).toEqual([]);
});

test('waits some seconds for a response, hurries it, and cuts off one that still does not finish', async () => {
  let hurried: ServerResponse | undefined;
  const slow = await start(
    (response) => (hurried = response),
    () => setTimeout(() => hurried!.end('hurried'), 400),
  );
  const arrived = once(slow.server, 'request');
  const asked = slow.ask();
  await arrived;
  await slow.run();
  expect((await asked).body).toBe('hurried');
  expect(slow.cut).toEqual([]);

  const hanging = await start(() => undefined);
  const hangs = once(hanging.server, 'request');
  const lost = hanging.ask().catch((error: unknown) => error);
  await hangs;
  const began = performance.now();
  await hanging.run();
  expect(await lost).toMatchObject({ code: 'ECONNRESET' });
  expect(performance.now() - began).toBeGreaterThan(6_500);
  expect(hanging.cut).toEqual([1]);
});

test('does not hurry responses that finish in time', async () => {
  const hurry = vi.fn<() => void>();
  let waiting: ServerResponse | undefined;
  const { run, server, ask } = await start((response) => (waiting = response), hurry);
  const arrived = once(server, 'request');
  const asked = ask();
  await arrived;
  const closed = idleClosed(server);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const drained = run();
  await closed;
  waiting!.end('there');
  await drained;
  expect((await asked).body).toBe('there');
  vi.advanceTimersByTime(60_000);
  expect(hurry).not.toHaveBeenCalled();
});

test('counts the time until it hurries from its beginning, not once it has accepted what was pending', async () => {
  const hurry = vi.fn<() => void>();
  const { run } = await start(() => undefined, hurry);
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const drained = run();
  vi.advanceTimersByTime(6_000);
  expect(hurry).toHaveBeenCalledOnce();
  await drained;
});
