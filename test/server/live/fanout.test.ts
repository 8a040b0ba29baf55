import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { parse } from 'graphql/index.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createFeed } from '../../../src/events/feed/feed.js';
import type { Log } from '../../../src/events/log/log.js';
import { createCursors } from '../../../src/graphql/cursors.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { Fanout } from '../../../src/server/live/fanout.js';
import { WebsocketOutlet } from '../../../src/server/ws/websocket-outlet.js';
import { MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { CompiledDocuments } from '../../../src/server/operation/compiled-documents.js';
import { OperationRules } from '../../../src/server/operation/operation-rules.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { delivery, openTestLog } from '../../events/test-log.js';
import { createTestFile } from '../../support/sqlite.js';
import { collect } from '../../support/memory.js';

const shipments = { family: 'shipments', selected: [] };
const ended = { done: true, value: undefined };

/** The server's end of a websocket, the messages that its client received, and the client's close code. */
async function openPair() {
  const server = new WebSocketServer({ port: 0 });
  onTestFinished(() => server.close());
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const received: string[] = [];
  client.on('message', (data) => received.push((data as Buffer).toString()));
  const closed = once(client, 'close').then(([code]) => code as number);
  const [socket, { socket: stream }] = (await once(server, 'connection')) as [WebSocket, IncomingMessage];
  return { socket, outlet: new WebsocketOutlet({ socket, stream }, '1'), received, closed };
}

/** A fan-out over a log of its own; a subscription may resume from a place (`after`), or fail at event 2 (`stuck`). */
async function openFanout(changes: Partial<Log> = {}) {
  const testLog = await openTestLog(await createTestFile());
  onTestFinished(() => testLog.stop());
  const lines: string[] = [];
  const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const log = { ...testLog.log, ...changes };
  const feed = await createFeed({ ...testLog, log, telemetry, cursors, giveUpLimit: { failures: 3, ms: 1 } });
  onTestFinished(() => feed.stop());
  const schema = makeExecutableSchema({
    typeDefs: 'type Query { seq: Int } type Subscription { seq(after: Int, stuck: Boolean): Int! }',
    resolvers: {
      Subscription: {
        seq: {
          subscribe: async (_: unknown, { after }: { after?: number }) => ({
            ...(await feed.follow(shipments, ({ seq, event }) => ({ seq, event }))),
            after,
          }),
          resolve({ seq }: { seq: number }, { stuck }: { stuck?: boolean }) {
            if (stuck && seq === 2) throw new Error('A fault of ours.');
            return seq;
          },
        },
      },
    },
  });
  const rules = new OperationRules({ schema, introspection: false, telemetry });
  const fanout = new Fanout({
    schema,
    rules,
    feed,
    metrics: telemetry.metrics,
    ledger: new MemoryLedger(telemetry),
    compiled: new CompiledDocuments(schema, rules.costs),
  });
  const subscribe = async (text: string) => {
    const pair = await openPair();
    const group = { requestId: 'group', tally: { exceeded: false }, detached: () => group };
    const contextValue = { requestId: 'request', detached: () => group };
    const { outlet } = pair;
    const document = parse(text);
    const stream = await fanout.subscribe({
      schema,
      document,
      contextValue,
      outlet,
    });
    return {
      ...pair,
      stream: stream as AsyncIterableIterator<never, undefined>,
      context: new WeakRef(contextValue),
    };
  };
  return { testLog, feed, lines, subscribe };
}

test('closes the sockets of a group with 1013 if an event cannot be rendered for it', async () => {
  const { testLog, lines, subscribe } = await openFanout();
  const [stuck, other] = [
    await subscribe('subscription { seq(stuck: true) }'),
    await subscribe('subscription { seq }'),
  ];
  for (const id of ['one', 'two', 'three']) await testLog.log.append(delivery(id));
  expect(await stuck.closed).toBe(1013);
  expect(stuck.received).toHaveLength(1);
  await expect.poll(() => other.received.length).toBe(3);
  expect(other.socket.readyState).toBe(WebSocket.OPEN);
  const logged = lines.map((line) => JSON.parse(line) as { msg: string; seq?: number });
  expect(logged).toContainEqual(
    expect.objectContaining({ seq: 2, msg: expect.stringMatching(/cannot be read or rendered/) }),
  );
});

test('closes sockets with 1013 at a broken row, once the events before it are delivered', async () => {
  const { testLog, lines, subscribe } = await openFanout();
  for (const id of ['one', 'two', 'three', 'four']) await testLog.log.append(delivery(id));
  await testLog.database.kysely.updateTable('events').set({ event: '{' }).where('seq', '=', 3).execute();
  const [before, behind] = [
    await subscribe('subscription { seq(after: 0) }'),
    await subscribe('subscription { seq(after: 3) }'),
  ];
  expect(await before.closed).toBe(1013);
  expect(before.received.map((text) => text.match(/"seq":\d/)?.[0])).toEqual(['"seq":1', '"seq":2']);
  await expect.poll(() => behind.received).toEqual([expect.stringContaining('"seq":4')]);
  const logged = lines.map((line) => JSON.parse(line) as { seq?: number });
  expect(logged).toContainEqual(expect.objectContaining({ seq: 3 }));
});

test('delivers updates from subscribing until the feed stops, and none after that', async () => {
  const { testLog, feed, subscribe } = await openFanout();
  const { received, stream } = await subscribe('subscription { seq }');
  await testLog.log.append(delivery('one'));
  await expect.poll(() => received.length).toBe(1);
  const next = stream.next();
  feed.stop();
  const late = await subscribe('subscription { seq(after: 0) }');
  for (const end of [next, stream.next(), late.stream.next()]) expect(await end).toEqual(ended);
});

test('does not keep the context of its first member in memory', async () => {
  const { testLog, subscribe } = await openFanout();
  const { received, context } = await subscribe('subscription { seq }');
  const isGone = () => {
    collect();
    return context.deref() === undefined;
  };
  await expect.poll(isGone).toBe(true);
  await testLog.log.append(delivery('one'));
  await expect.poll(() => received.length).toBe(1);
});

test('delivers a field with the alias `__proto__`', async () => {
  const { testLog, subscribe } = await openFanout();
  const { received } = await subscribe('subscription { __proto__: seq }');
  await testLog.log.append(delivery('one'));
  await expect.poll(() => received).toEqual([expect.stringContaining('"payload":{"data":{"__proto__":1}}')]);
});

test.each([
  ['while there are no events', 'subscription { seq }'],
  ['while the database hangs', 'subscription { seq(after: 0) }'],
])('ends a subscription at once when it is left %s, and resolves its pending reads', async (_, text) => {
  const { testLog, feed, subscribe } = await openFanout({ read: () => new Promise(() => {}) });
  await testLog.log.append(delivery('one'));
  await expect.poll(() => feed.position().seq).toBe(1);
  const [waiting, idle] = [await subscribe(text), await subscribe(text)];
  const next = waiting.stream.next();
  for (const { stream } of [waiting, idle]) {
    expect(await stream.return!()).toEqual(ended);
    expect(await stream.next()).toEqual(ended);
  }
  expect(await next).toEqual(ended);
  expect(feed.multicast.size).toBe(0);
});

test('refuses to iterate over what a subscription resolver returns', async () => {
  const { feed } = await openFanout();
  const following = await feed.follow(shipments, ({ seq }) => seq);
  expect(() => following[Symbol.asyncIterator]()).toThrow('cannot be pulled');
});

test('lets a subscription that fails before it is read be read, and left after that', async () => {
  const { testLog, feed, subscribe } = await openFanout();
  for (const id of ['one', 'two', 'three']) await testLog.log.append(delivery(id));
  testLog.clock.moveDays(91);
  await testLog.log.prune();
  const { stream } = await subscribe('subscription { seq(after: 0) }');
  await expect.poll(() => feed.multicast.size).toBe(0);
  await expect(stream.next()).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
  await expect(stream.return!()).resolves.toEqual(ended);
});

test('does not count the memory of a subscription that could not join', async () => {
  const { subscribe } = await openFanout();
  const { set } = Map.prototype;
  vi.spyOn(Map.prototype, 'set').mockImplementation(function (this: Map<unknown, unknown>, key, value) {
    if (key === '' && value instanceof Set) throw new RangeError('Map maximum size exceeded');
    return set.call(this, key, value);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const long = `subscription { seq } # ${'-'.repeat(20 * 1024 * 1024)}`;
  await expect(subscribe(long)).rejects.toThrow(RangeError);
  vi.restoreAllMocks();
  const { stream } = await subscribe(long);
  expect(await stream.return!()).toEqual(ended);
});
