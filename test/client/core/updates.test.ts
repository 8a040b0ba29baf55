import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Sink } from '../../../src/client/core/transport.js';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { Updates } from '../../../src/client/core/updates.js';
import { PaymentUpdatesDocument, ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';
import { startTestbed } from '../../support/testbed.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { subscribeThrowing } from '../uncaught.js';

/** One key for all gateways, so that one can take another's place. */
const settings = { SECRET_KEYS: randomBytes(32).toString('base64') };
const proxied = useProxiedGateway({ settings });
const { connect, emit, liveCursor } = proxied;

/** Follows the shipments; the service's ids of the events that were shown, and how it ended. */
function follow(trivium: Trivium, after?: string) {
  const shown: string[] = [];
  const updates = trivium.updates(ShipmentUpdatesDocument, after === undefined ? {} : { after });
  const ended = (async () => {
    for await (const { shipmentUpdates } of updates) shown.push(eventId(shipmentUpdates.event.id));
  })();
  ended.catch(() => {});
  return { shown, ended, updates };
}

/** The service's own id of an event, out of its global id. */
function eventId(id: string): string {
  const [, own] = JSON.parse(Buffer.from(id, 'base64url').toString()) as [string, string];
  return own;
}

const socketsOpened = () => proxied.proxy.said().toString('latin1').split('GET /graphql ').length - 1;

test('shows each event once and in order, however often the connection is cut', async () => {
  const trivium = connect();
  const { shown } = follow(trivium, await liveCursor());
  const sent = await emit(3);
  await expect.poll(() => shown).toEqual(sent);
  let cuts = 0;
  for (let round = 0; round < 6; round++) {
    // Cut while updates are in flight, and again while the proxy refuses connections for a while.
    const inFlight = emit(8);
    await pause(round * 3);
    cuts += proxied.proxy.cut();
    sent.push(...(await inFlight));
    const refused = proxied.proxy.refused();
    proxied.proxy.shut(true);
    cuts += proxied.proxy.cut();
    sent.push(...(await emit(4)));
    await expect.poll(() => proxied.proxy.refused()).toBeGreaterThan(refused);
    proxied.proxy.shut(false);
    sent.push(...(await emit(2)));
    await expect.poll(() => shown.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(sent.length);
  }
  expect(shown).toEqual(sent);
  expect(cuts).toBeGreaterThanOrEqual(6);
});

test('begins at the moment of the call without `after`, and loses nothing if the first connections fail', async () => {
  await emit(1);
  const trivium = connect();
  const first = follow(trivium);
  await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
  const before = await liveCursor();
  const sent = await emit(2);
  const refused = proxied.proxy.refused();
  proxied.proxy.shut(true);
  proxied.proxy.cut();
  const second = follow(connect(), before);
  sent.push(...(await emit(2)));
  await expect.poll(() => proxied.proxy.refused() - refused).toBeGreaterThanOrEqual(2);
  proxied.proxy.shut(false);
  await expect.poll(() => [first.shown, second.shown], { timeout: 20_000 }).toEqual([sent, sent]);
});

test('keeps the subscriptions of one client apart', async () => {
  const trivium = connect();
  const after = await liveCursor();
  const ships = follow(trivium, after);
  const pays = trivium.updates(PaymentUpdatesDocument, { after });
  const pay = async () => (await proxied.testbed.sandbox.webhooks.emitPayment()).eventId;
  const paid = await pay();
  const sent = await emit(2);
  expect(eventId((await pays.next()).value!.paymentUpdates.event.id)).toBe(paid);
  await expect.poll(() => ships.shown).toEqual(sent);
  proxied.proxy.cut();
  const next = pays.next();
  sent.push(...(await emit(1)));
  await expect.poll(() => ships.shown).toEqual(sent);
  const later = await pay();
  expect(eventId((await next).value!.paymentUpdates.event.id)).toBe(later);
  await pays.return?.();
});

test('leaves events that are not taken yet on the server, and loses none', async () => {
  const trivium = connect();
  const updates = trivium.updates(ShipmentUpdatesDocument, { after: await liveCursor() });
  const sent = await emit(30);
  const taken: string[] = [];
  for (const id of sent) {
    const { value } = await updates.next();
    taken.push(eventId(value!.shipmentUpdates.event.id));
    expect(taken.at(-1)).toBe(id);
  }
  const pending = updates.next();
  await updates.return?.();
  expect(await pending).toEqual({ done: true, value: undefined });
});

test('what cannot be resumed fails once a thousand updates wait, which are handed out first', async () => {
  let sink!: Sink;
  const left = vi.fn<() => void>();
  const updates = new Updates<{ a: number }>('subscription { a }', {}, (taken) => {
    sink = taken;
    return left;
  });
  for (let a = 1; a <= 1_000; a += 1) sink.next({ data: { a } });
  expect(left).toHaveBeenCalledOnce();
  for (let a = 1; a <= 1_000; a += 1) expect(await updates.next()).toEqual({ done: false, value: { a } });
  await expect(updates.next()).rejects.toMatchObject({ code: 'TOO_SLOW' });
});

test('a signal ends the loop, also one that was aborted before; so does `dispose`', async () => {
  const trivium = connect();
  const after = await liveCursor();
  const controller = new AbortController();
  const begin = (signal?: AbortSignal) =>
    trivium.updates(ShipmentUpdatesDocument, { after }, signal && { signal }).next();
  const end = { done: true, value: undefined };
  expect(await begin(AbortSignal.abort())).toEqual(end);
  const [aborted, disposed] = [begin(controller.signal), begin()];
  controller.abort();
  expect(await aborted).toEqual(end);
  trivium.dispose();
  expect(await disposed).toEqual(end);
  expect(await begin()).toEqual(end);
});

test('throws CURSOR_EXPIRED when it reconnects to another log', async () => {
  const trivium = connect();
  const { shown, ended } = follow(trivium, await liveCursor());
  const sent = await emit(2);
  await expect.poll(() => shown).toEqual(sent);
  const another = await startTestbed({ settings });
  onTestFinished(() => another.stop());
  const token = await another.signIn();
  const after = await liveCursor();
  const expired = follow(connect({ url: another.url, token }), after);
  await expect(expired.ended).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' });
  const failure = new Promise((error, next) =>
    connect({ url: another.url, token }).subscribe(
      ShipmentUpdatesDocument,
      { after },
      { next, error, complete: () => {} },
    ),
  );
  expect(await failure).toMatchObject({ code: 'CURSOR_EXPIRED' });
  proxied.proxy.redirectTo(another.url);
  proxied.proxy.cut();
  // There this session does not exist, which counts first.
  await expect(ended).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(trivium.session).toMatchObject({ status: 'signed-out', ended: true });
});

test('refuses what the schema does not have, without disturbing others on the connection', async () => {
  const trivium = connect();
  const bystander = follow(trivium, await liveCursor());
  const failures: unknown[] = [];
  trivium.subscribe(
    'subscription { nothing }',
    {},
    { next: () => {}, error: (failure) => failures.push(failure), complete() {} },
  );
  trivium.subscribe(
    'subscription {',
    { x: 'y'.repeat(2_000_000) },
    { next: () => {}, error: (failure) => failures.push(failure), complete() {} },
  );
  await expect.poll(() => failures.length).toBe(2);
  const sent = await emit(1);
  await expect.poll(() => bystander.shown).toEqual(sent);
});

test('what a callback throws is an uncaught error, and disturbs nobody else on the connection', async () => {
  const trivium = connect();
  const after = await liveCursor();
  const { failure, uncaught } = subscribeThrowing(trivium, after);
  const bystander = follow(trivium, after);
  await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
  const sent = await emit(2);
  await expect.poll(() => bystander.shown).toEqual(sent);
  await expect.poll(() => uncaught).toEqual([failure, failure]);
  expect(socketsOpened()).toBe(1);
  const another = follow(trivium, after);
  trivium.dispose();
  await Promise.all([bystander.ended, another.ended]);
  await expect.poll(() => uncaught).toHaveLength(3);
});

test('survives 200 mounts and unmounts a second on one connection', async () => {
  const trivium = connect();
  const steady = follow(trivium, await liveCursor());
  const sent = await emit(1);
  await expect.poll(() => steady.shown).toEqual(sent);
  for (let round = 0; round < 200; round++) {
    const passing = trivium.updates(ShipmentUpdatesDocument, {});
    void passing.next();
    if (round % 20 === 0) await pause(5);
    await passing.return?.();
  }
  sent.push(...(await emit(3)));
  await expect.poll(() => steady.shown).toEqual(sent);
  expect(socketsOpened()).toBe(1);
});
