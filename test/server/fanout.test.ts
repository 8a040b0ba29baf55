import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { parse } from 'graphql/index.js';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createFeed } from '../../src/events/feed.js';
import type { Log } from '../../src/events/log.js';
import { createCursors } from '../../src/relay.js';
import { createSealer } from '../../src/seal.js';
import { createFanout } from '../../src/server/fanout.js';
import { createFrameMessenger } from '../../src/server/frames.js';
import { createRules } from '../../src/server/rules.js';
import { createTelemetry } from '../../src/telemetry.js';
import { delivery, openJournal } from '../events/journal.js';
import { createTestFile } from '../support/engines.js';

const over = { done: true, value: undefined };

/** Both ends of a websocket; what the far one got, and the code with which it was closed. */
async function openPair() {
  const server = new WebSocketServer({ port: 0 });
  onTestFinished(() => server.close());
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const got: string[] = [];
  client.on('message', (data) => got.push((data as Buffer).toString()));
  const closed = once(client, 'close').then(([code]) => code as number);
  const [socket] = (await once(server, 'connection')) as [WebSocket];
  return { socket, got, closed };
}

/** A fan-out over the shipments of a log of its own; a subscription names the place to go on from, and may be stuck. */
async function openFanout(changes: Partial<Log> = {}) {
  const journal = await openJournal(await createTestFile());
  onTestFinished(() => journal.stop());
  const lines: string[] = [];
  const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const log = { ...journal.log, ...changes };
  const feed = await createFeed({ ...journal, log, telemetry, cursors, giveUpLimit: { failures: 3, ms: 1 } });
  onTestFinished(() => feed.stop());
  const schema = makeExecutableSchema({
    typeDefs: 'type Query { seq: Int } type Subscription { seq(after: Int, stuck: Boolean): Int! }',
    resolvers: {
      Subscription: {
        seq: {
          subscribe: (_: unknown, { after }: { after?: number }) =>
            feed.follow({ family: 'shipments', ...(after !== undefined && { after }) }, ({ seq }) => ({
              seq,
            })),
          resolve({ seq }: { seq: number }, { stuck }: { stuck?: boolean }) {
            if (stuck && seq === 2) throw new Error('A fault of ours.');
            return seq;
          },
        },
      },
    },
  });
  const rules = createRules({ schema, introspection: false, telemetry });
  const messenger = createFrameMessenger();
  const fanout = createFanout({ schema, rules, multicast: feed.multicast, messenger });
  const subscribe = async (text: string) => {
    const pair = await openPair();
    const group = { requestId: 'group', tally: { exceeded: false }, lasting: () => group };
    const contextValue = { requestId: 'request', lasting: () => group };
    const { socket } = pair;
    const document = parse(text);
    const stream = await fanout.subscribe({ schema, document, contextValue, socket, operationId: '1' });
    return { ...pair, stream: stream as AsyncIterableIterator<never, undefined> };
  };
  return { journal, feed, lines, subscribe };
}

test('an event that cannot be rendered closes the sockets of its group so that they resume elsewhere', async () => {
  const { journal, lines, subscribe } = await openFanout();
  const [stuck, other] = [
    await subscribe('subscription { seq(stuck: true) }'),
    await subscribe('subscription { seq }'),
  ];
  for (const id of ['one', 'two', 'three']) await journal.log.append(delivery(id));
  expect(await stuck.closed).toBe(1013);
  expect(stuck.got).toHaveLength(1);
  await expect.poll(() => other.got.length).toBe(3);
  expect(other.socket.readyState).toBe(WebSocket.OPEN);
  const told = lines.map((line) => JSON.parse(line) as { msg: string; seq?: number });
  expect(told).toContainEqual(
    expect.objectContaining({ seq: 2, msg: expect.stringMatching(/cannot be read or rendered/) }),
  );
});

test('so does one that is broken in the database, once those before it are delivered', async () => {
  const { journal, lines, subscribe } = await openFanout();
  for (const id of ['one', 'two', 'three', 'four']) await journal.log.append(delivery(id));
  await journal.database.kysely.updateTable('events').set({ event: '{' }).where('seq', '=', 3).execute();
  const [before, behind] = [
    await subscribe('subscription { seq(after: 0) }'),
    await subscribe('subscription { seq(after: 3) }'),
  ];
  expect(await before.closed).toBe(1013);
  expect(before.got.map((text) => text.match(/"seq":\d/)?.[0])).toEqual(['"seq":1', '"seq":2']);
  await expect.poll(() => behind.got).toEqual([expect.stringContaining('"seq":4')]);
  const told = lines.map((line) => JSON.parse(line) as { seq?: number });
  expect(told).toContainEqual(expect.objectContaining({ seq: 3 }));
});

test('updates begin when they are subscribed to, and end with the feed, for who comes afterwards too', async () => {
  const { journal, feed, subscribe } = await openFanout();
  const { got, stream } = await subscribe('subscription { seq }');
  await journal.log.append(delivery('one'));
  await expect.poll(() => got.length).toBe(1);
  const next = stream.next();
  feed.stop();
  const late = await subscribe('subscription { seq(after: 0) }');
  for (const end of [next, stream.next(), late.stream.next()]) expect(await end).toEqual(over);
});

test('an update may bear `__proto__` as a name', async () => {
  const { journal, subscribe } = await openFanout();
  const { got } = await subscribe('subscription { __proto__: seq }');
  await journal.log.append(delivery('one'));
  await expect.poll(() => got).toEqual([expect.stringContaining('"payload":{"data":{"__proto__":1}}')]);
});

test.each([
  ['while nothing comes', 'subscription { seq }'],
  ['while the database hangs', 'subscription { seq(after: 0) }'],
])('who leaves %s has left at once, and whoever waits hears of it', async (_, text) => {
  const { journal, feed, subscribe } = await openFanout({ read: () => new Promise(() => {}) });
  await journal.log.append(delivery('one'));
  await expect.poll(() => feed.place().seq).toBe(1);
  const [waiting, idle] = [await subscribe(text), await subscribe(text)];
  const next = waiting.stream.next();
  for (const { stream } of [waiting, idle]) {
    expect(await stream.return!()).toEqual(over);
    expect(await stream.next()).toEqual(over);
  }
  expect(await next).toEqual(over);
  expect(feed.multicast.size).toBe(0);
});

test('what a resolver gives is joined, never iterated', async () => {
  const { feed } = await openFanout();
  const following = feed.follow({ family: 'shipments' }, ({ seq }) => seq);
  expect(() => following[Symbol.asyncIterator]()).toThrow('joins the multicast');
});

test('who leaves a subscription that has failed has left', async () => {
  const { journal, subscribe } = await openFanout();
  for (const id of ['one', 'two', 'three']) await journal.log.append(delivery(id));
  journal.clock.moveDays(91);
  await journal.log.prune();
  const { stream } = await subscribe('subscription { seq(after: 0) }');
  await expect(stream.next()).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
  await expect(stream.return!()).resolves.toEqual(over);
});
