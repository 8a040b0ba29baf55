import { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { maxOperationsPerUser } from '../../src/server/operation/admission.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { bytesOf, Wire } from './balance/raw-clients.js';
import { openThrottledProxy } from './throttled-proxy.js';
import { openSocket, type RawSocket } from './sockets.js';

const megabyte = 1_000_000;
const bytesPerSecond = 10 * megabyte;

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
  const create = `createNote(input: { title: "long", content: "${'x'.repeat(10_000)}" }) { errors { code } }`;
  const ten = `mutation { ${Array.from({ length: 10 }, (_, at) => `a${at}: ${create}`).join(' ')} }`;
  for (let at = 0; at < 10; at += 1) await testbed.ask(ten, {}, token);
});
afterAll(() => testbed.stop());

async function connect(url: string): Promise<RawSocket> {
  const socket = await openSocket(`${url}/graphql`);
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  expect((await socket.next()).type).toBe('connection_ack');
  return socket;
}

const subscribe = (socket: RawSocket, id: string, query: string) =>
  socket.send({ id, type: 'subscribe', payload: { query } });

/** A query whose answer has this many megabytes. */
const notes = (megabytes: number) =>
  `{ ${Array.from({ length: megabytes }, (_, at) => `a${at}: notes(first: 100) { nodes { content } }`).join(' ')} }`;

test('a client that reads slowly gets every answer, and the live updates meanwhile', async () => {
  const socket = await connect(await openThrottledProxy(testbed.url, bytesPerSecond));
  const { data } = await testbed.ask('{ liveCursor }', {}, token);
  const live = `shipmentUpdates(after: "${data.liveCursor}") { event { eventId } }`;
  subscribe(socket, 'live', `subscription { ${live} }`);
  const ids = ['1', '2', '3'];
  for (const id of ids) subscribe(socket, id, notes(10));
  const emitted: ReturnType<typeof testbed.sandbox.webhooks.emitShipment>[] = [];
  const sending = setInterval(() => {
    socket.send({ type: 'ping' });
    emitted.push(testbed.sandbox.webhooks.emitShipment());
  }, 100);
  onTestFinished(() => clearInterval(sending));
  for (const id of ids) {
    const { payload } = await socket.next(id);
    expect(Object.values(payload.data)).toHaveLength(10);
    expect((await socket.next(id)).type).toBe('complete');
  }
  clearInterval(sending);
  const sent = (await Promise.all(emitted)).map(({ eventId }) => eventId);
  const got: string[] = [];
  while (got.length < sent.length)
    got.push((await socket.next('live')).payload.data.shipmentUpdates.event.eventId);
  expect(got.toSorted()).toEqual(sent.toSorted());
  expect(sent).not.toEqual([]);
  socket.close();
});

test('answers that a client does not read hold up none of its user’s other operations', async () => {
  // As if the system took nothing of them: how much it takes before it waits for a client differs.
  const unread: ServerResponse[] = [];
  const end = vi.spyOn(ServerResponse.prototype, 'end').mockImplementation(function (this: ServerResponse) {
    unread.push(this);
    return this;
  });
  onTestFinished(() => end.mockRestore());
  const headers = { authorization: `Bearer ${token}`, 'graphql-cost': '1' };
  const asked = bytesOf({ headers, body: JSON.stringify({ query: '{ __typename }' }) });
  const wires = Array.from({ length: maxOperationsPerUser }, () => new Wire(testbed.url).send(asked));
  onTestFinished(() => wires.forEach((wire) => wire.end('reset')));
  await expect.poll(() => unread).toHaveLength(maxOperationsPerUser);
  end.mockRestore();
  expect((await testbed.ask('{ __typename }', {}, token)).data).toEqual({ __typename: 'Query' });
});
