import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';
import { expect, onTestFinished, test } from 'vitest';
import { ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { startTestbed } from '../../support/testbed.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { subscribeThrowing } from '../uncaught.js';

const settings = { SECRET_KEYS: randomBytes(32).toString('base64') };
const proxied = useProxiedGateway({ settings });
const { emit, liveCursor } = proxied;

/** Asks for an upgrade where there is none: it never opens, as behind a proxy that knows nothing of websockets. */
class Unopened extends WebSocket {
  constructor(url: string, protocols: string) {
    super(url.replace('/graphql', '/livez'), protocols);
  }
}

const connect = (more = {}) => proxied.connect({ webSocketImpl: Unopened, ...more });

function follow(trivium: Trivium, after: string) {
  const shown: string[] = [];
  const ended = (async () => {
    for await (const { shipmentUpdates } of trivium.updates(ShipmentUpdatesDocument, { after }))
      shown.push((JSON.parse(Buffer.from(shipmentUpdates.event.id, 'base64url').toString()) as string[])[1]!);
  })();
  ended.catch(() => {});
  return { shown, ended };
}

const streamsAsked = () => proxied.proxy.said().toString('latin1').split('POST /graphql/stream').length - 1;

test('where no websocket opens, each event is shown once and in order, however often the stream is cut', async () => {
  const { shown } = follow(connect(), await liveCursor());
  const sent = await emit(3);
  await expect.poll(() => shown).toEqual(sent);
  for (let round = 0; round < 5; round++) {
    const inFlight = emit(8);
    await pause(round * 3);
    proxied.proxy.cut();
    sent.push(...(await inFlight));
    proxied.proxy.shut(true);
    proxied.proxy.cut();
    sent.push(...(await emit(3)));
    proxied.proxy.shut(false);
    await expect.poll(() => shown.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(sent.length);
  }
  expect(shown).toEqual(sent);
  expect(streamsAsked()).toBeGreaterThan(5);
});

test('a websocket that opens before it is known that the gateway answers is kept', async () => {
  let attempts = 0;
  class OpensLater extends WebSocket {
    constructor(url: string, protocols: string) {
      super((attempts += 1) === 1 ? url.replace('/graphql', '/livez') : url, protocols);
    }
  }
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  let answered: Promise<Response> | undefined;
  const trivium = connect({
    webSocketImpl: OpensLater,
    fetch: (url: string, init: RequestInit) =>
      (init.body as string).includes('{ __typename }')
        ? (answered = held.then(() => fetch(url, init)))
        : fetch(url, init),
  });
  const before = streamsAsked();
  const { shown } = follow(trivium, await liveCursor());
  const sent = await emit(1);
  await expect.poll(() => shown).toEqual(sent);
  answer();
  expect((await answered)?.status).toBe(200);
  sent.push(...(await emit(2)));
  await expect.poll(() => shown).toEqual(sent);
  expect(streamsAsked()).toBe(before);
});

test('what a callback throws is an uncaught error, and neither cuts the stream nor disturbs others on it', async () => {
  const trivium = connect();
  const after = await liveCursor();
  const { failure, uncaught } = subscribeThrowing(trivium, after);
  const { shown } = follow(trivium, after);
  await expect.poll(streamsAsked).toBe(1);
  const sent = await emit(3);
  await expect.poll(() => shown).toEqual(sent);
  await expect.poll(() => uncaught).toEqual([failure, failure, failure]);
  expect(streamsAsked()).toBe(1);
});

test('where there is no class of websockets at all, it follows updates, too', async () => {
  const known = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket');
  Object.defineProperty(globalThis, 'WebSocket', { value: undefined, configurable: true, writable: true });
  onTestFinished(() => void (known && Object.defineProperty(globalThis, 'WebSocket', known)));
  const { shown } = follow(connect({ webSocketImpl: undefined }), await liveCursor());
  const sent = await emit(2);
  await expect.poll(() => shown).toEqual(sent);
});

/** A client without websockets, and how many streams it has open. */
function counted() {
  const count = { open: 0, most: 0 };
  const trivium = connect({
    fetch: (url: string, init: RequestInit) => {
      if (url.endsWith('/graphql/stream')) {
        count.most = Math.max(count.most, ++count.open);
        init.signal!.addEventListener('abort', () => count.open--);
      }
      return fetch(url, init);
    },
  });
  return { trivium, count };
}

test('many lists that were read at places apart have a few streams at once, and each hears every event once', async () => {
  const { trivium, count } = counted();
  const followed: string[][] = [];
  for (let list = 0; list < 12; list++) {
    followed.push(follow(trivium, await liveCursor()).shown);
    await proxied.testbed.sandbox.webhooks.emitPayment();
  }
  const sent = await emit(2);
  for (const shown of followed) await expect.poll(() => shown).toEqual(sent);
  expect(count.most).toBeGreaterThan(1);
  expect(count.most).toBeLessThan(6);
  await expect.poll(() => count.open).toBe(1);
});

test('equal subscriptions of one client come to be one stream, and each hears every event once', async () => {
  const { trivium, count } = counted();
  const first = follow(trivium, await liveCursor());
  const sent = await emit(1);
  await expect.poll(() => first.shown).toEqual(sent);
  const second = follow(trivium, await liveCursor());
  const third = follow(trivium, await liveCursor());
  const more = await emit(2);
  await expect.poll(() => [first.shown, second.shown, third.shown]).toEqual([[...sent, ...more], more, more]);
  await expect.poll(() => count.open).toBe(1);
});

test('a session that ends is told over a stream as over a websocket', async () => {
  const token = await proxied.testbed.signIn();
  const trivium = connect({ token });
  await trivium.refresh();
  const { shown, ended } = follow(trivium, await liveCursor());
  const sent = await emit(1);
  await expect.poll(() => shown).toEqual(sent);
  await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, token);
  await expect(ended).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(trivium.session).toMatchObject({ status: 'signed-out', ended: true });
});

test('a cursor of another log is CURSOR_EXPIRED', async () => {
  const another = await startTestbed({ settings });
  onTestFinished(() => another.stop());
  const token = await another.signIn();
  const { ended } = follow(connect({ url: another.url, token }), await liveCursor());
  await expect(ended).rejects.toMatchObject({ code: 'CURSOR_EXPIRED', status: 410 });
});

test('an `after` that is no string is refused by the gateway, and one that JSON cannot express fails at once', async () => {
  await expect(follow(connect(), 10 as never).ended).rejects.toMatchObject({ code: 'BAD_USER_INPUT' });
  await expect(follow(connect(), 10n as never).ended).rejects.toThrow('BigInt');
});
