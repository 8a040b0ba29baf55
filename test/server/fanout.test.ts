import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { parse } from 'graphql/index.js';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createFeed } from '../../src/events/feed.js';
import { createCursors } from '../../src/relay.js';
import { createSealer } from '../../src/seal.js';
import { createFanout } from '../../src/server/fanout.js';
import { createFrameMessenger } from '../../src/server/frames.js';
import { createRules } from '../../src/server/rules.js';
import { createTelemetry } from '../../src/telemetry.js';
import { delivery, openJournal } from '../events/journal.js';
import { createTestFile } from '../support/engines.js';

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
async function openFanout() {
  const journal = await openJournal(await createTestFile());
  onTestFinished(() => journal.stop());
  const lines: string[] = [];
  const telemetry = createTelemetry('error', { write: (line) => void lines.push(line) });
  const cursors = createCursors(createSealer([randomBytes(32)]));
  const feed = await createFeed({ ...journal, telemetry, cursors, bound: { failures: 3, ms: 1 } });
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
  return { journal, lines, subscribe };
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
    expect.objectContaining({ seq: 2, msg: expect.stringMatching(/cannot be rendered/) }),
  );
});

test('who leaves a subscription that has failed has left', async () => {
  const { journal, subscribe } = await openFanout();
  for (const id of ['one', 'two', 'three']) await journal.log.append(delivery(id));
  journal.clock.moveDays(91);
  await journal.log.prune();
  const { stream } = await subscribe('subscription { seq(after: 0) }');
  await expect(stream.next()).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
  await expect(stream.return!()).resolves.toEqual({ done: true, value: undefined });
});
