import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { createClient as createUrql, subscriptionExchange, type ExecutionResult } from '@urql/core';
import { MessageType, type ClientOptions, type SubscribeMessage } from 'graphql-ws';
import type WebSocket from 'ws';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { resuming } from '../../src/client/resume.js';
import { codesOf, startTestbed } from '../support/testbed.js';
import { useProxiedGateway } from './proxied-gateway.js';

/** One key for all gateways, so that one can take another's place. */
const settings = { SECRET_KEYS: randomBytes(32).toString('base64') };
const proxied = useProxiedGateway({ settings });
const { connect, liveCursor, options } = proxied;

const query = `subscription ($after: String) {
  shipmentUpdates(after: $after) { cursor event { eventId } }
}`;

interface Updates {
  readonly shipmentUpdates: { readonly cursor: string; readonly event: { readonly eventId: string } };
}

/** Follows the updates after a cursor; reports each event's id and each failure; returns a function that stops. */
type Follow = (after: string, show: (eventId: string) => void, fail: (error: unknown) => void) => () => void;

const clients: Record<string, Follow> = {
  'graphql-ws, subscribe': (after, show, fail) =>
    connect(resuming(options())).subscribe<Updates>(
      { query, variables: { after } },
      {
        next: ({ data, errors }) => (data ? show(data.shipmentUpdates.event.eventId) : fail(errors)),
        error: fail,
        complete() {},
      },
    ),

  'graphql-ws, iterate': (after, show, fail) => {
    const updates = connect(resuming(options())).iterate<Updates>({ query, variables: { after } });
    const read = async () => {
      for await (const { data, errors } of updates)
        if (data) show(data.shipmentUpdates.event.eventId);
        else fail(errors);
    };
    read().catch(fail);
    return () => void updates.return?.();
  },

  'Apollo Client': (after, show, fail) => {
    const client = new ApolloClient({
      link: new GraphQLWsLink(connect(resuming(options()))),
      cache: new InMemoryCache(),
    });
    const subscription = client.subscribe<Updates>({ query: gql(query), variables: { after } }).subscribe({
      next: ({ data, error }) => (data ? show(data.shipmentUpdates.event.eventId) : fail(error)),
      error: fail,
    });
    return () => subscription.unsubscribe();
  },

  urql: (after, show, fail) => {
    const socket = connect(resuming(options()));
    const client = createUrql({
      url: `${proxied.proxy.url}/graphql`,
      exchanges: [
        subscriptionExchange({
          forwardSubscription: (request) => ({
            subscribe: ({ next, error, complete }) => ({
              unsubscribe: socket.subscribe(
                { ...request, query: request.query ?? '' },
                { next: (result) => next(result as ExecutionResult), error, complete },
              ),
            }),
          }),
        }),
      ],
    });
    const { unsubscribe } = client.subscription<Updates>(query, { after }).subscribe(({ data, error }) =>
      // With an error, urql still has the data of the message before.
      error || !data ? fail(error) : show(data.shipmentUpdates.event.eventId),
    );
    return unsubscribe;
  },
};

let emitted = 0;

/** Emits this many events, one after the other, and returns their ids. */
async function emit(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index++) {
    const id = `evt_resume_${emitted++}`;
    ids.push(id);
    await proxied.testbed.sandbox.webhooks.emitShipment({ id, shipment: { id: 'shp_resume' } });
  }
  return ids;
}

describe.for(Object.entries(clients))('%s', ([, follow]) => {
  test('shows each event once and in order, however often the connection is cut', async () => {
    const shown: string[] = [];
    const failures: unknown[] = [];
    const stop = follow(
      await liveCursor(),
      (id) => shown.push(id),
      (error) => failures.push(error),
    );
    const sent = await emit(3);
    await expect.poll(() => shown).toEqual(sent);
    let cuts = 0;
    for (let round = 0; round < 6; round++) {
      // Cut while updates are in flight, and again while the proxy refuses connections for a while.
      const inFlight = emit(8);
      await pause(round * 3);
      cuts += proxied.proxy.cut();
      sent.push(...(await inFlight));
      proxied.proxy.shut(true);
      cuts += proxied.proxy.cut();
      sent.push(...(await emit(4)));
      await pause(50);
      proxied.proxy.shut(false);
      sent.push(...(await emit(2)));
      await expect.poll(() => shown.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(sent.length);
    }
    await pause(100);
    expect(shown).toEqual(sent);
    expect(failures).toEqual([]);
    expect(cuts).toBeGreaterThanOrEqual(6);
    stop();
  });

  test('starts from its initial cursor if the first connections fail', async () => {
    const shown: string[] = [];
    const before = await liveCursor();
    const missed = await emit(3);
    proxied.proxy.shut(true);
    const failures: unknown[] = [];
    const stop = follow(
      before,
      (id) => shown.push(id),
      (error) => failures.push(error),
    );
    await pause(60);
    missed.push(...(await emit(2)));
    proxied.proxy.shut(false);
    await expect.poll(() => shown).toEqual(missed);
    expect(failures).toEqual([]);
    stop();
  });

  test('reports CURSOR_EXPIRED when it reconnects to another log', async () => {
    const shown: string[] = [];
    const failures: unknown[] = [];
    const stop = follow(
      await liveCursor(),
      (id) => shown.push(id),
      (error) => failures.push(error),
    );
    const sent = await emit(2);
    await expect.poll(() => shown).toEqual(sent);

    const another = await startTestbed({ settings });
    const ownToken = proxied.token;
    onTestFinished(async () => {
      proxied.token = ownToken;
      await another.stop();
    });
    proxied.token = await another.signIn();
    proxied.proxy.redirectTo(another.url);
    proxied.proxy.cut();
    await expect.poll(() => failures.length, { timeout: 5_000 }).toBeGreaterThan(0);
    expect(JSON.stringify(failures)).toContain('"CURSOR_EXPIRED"');
    expect(shown).toEqual(sent);
    stop();
  });
});

describe('resuming', () => {
  test('prevents repetitions: without it, events since the original cursor arrive again', async () => {
    const shown: string[] = [];
    connect(options({ shouldRetry: () => true })).subscribe<Updates>(
      { query, variables: { after: await liveCursor() } },
      { next: ({ data }) => shown.push(data!.shipmentUpdates.event.eventId), error() {}, complete() {} },
    );
    const sent = await emit(2);
    await expect.poll(() => shown).toEqual(sent);
    proxied.proxy.cut();
    sent.push(...(await emit(1)));
    await expect.poll(() => shown).toEqual([...sent.slice(0, 2), ...sent]);
  });

  test('keeps the subscriptions of one client apart, under any alias', async () => {
    const after = await liveCursor();
    const client = connect(resuming(options()));
    const shown: Record<string, string[]> = { ships: [], pays: [] };
    for (const [alias, field] of [
      ['ships', 'shipmentUpdates'],
      ['pays', 'paymentUpdates'],
    ] as const)
      client.subscribe<Record<string, { event: { eventId: string } }>>(
        {
          query: `subscription ($after: String) { ${alias}: ${field}(after: $after) { event { eventId } cursor } }`,
          variables: { after },
        },
        { next: ({ data }) => shown[alias]!.push(data![alias]!.event.eventId), error() {}, complete() {} },
      );
    const expected: typeof shown = { ships: [], pays: [] };
    for (let round = 0; round < 4; round++) {
      expected['ships']!.push(...(await emit(1)));
      const id = `evt_payment_${round}`;
      if (round % 2 === 0) expected['pays']!.push(id);
      if (round % 2 === 0) await proxied.testbed.sandbox.webhooks.emitPayment({ id });
      proxied.proxy.cut();
    }
    await expect.poll(() => shown).toEqual(expected);
    await pause(100);
    expect(shown).toEqual(expected);
  });

  test("still calls the application's own listener and replacer", async () => {
    const seen: string[] = [];
    const replaced: string[] = [];
    const own = options({
      on: { message: ({ type }) => void seen.push(type) },
      jsonMessageReplacer: (key, value: unknown) => {
        if (key === 'type') replaced.push(value as string);
        return value;
      },
    });
    const updates = connect(resuming(own)).iterate<Updates>({
      query,
      variables: { after: await liveCursor() },
    });
    const [first] = await emit(1);
    expect((await updates.next()).value?.data?.shipmentUpdates.event.eventId).toBe(first);
    expect(seen).toEqual(expect.arrayContaining(['connection_ack', 'next']));
    expect(replaced).toEqual(expect.arrayContaining(['connection_init', 'subscribe']));
    await updates.return?.();
  });

  describe('forgets a cursor', () => {
    const socket = {} as WebSocket;
    /** Drives the options without a socket: passes messages in, and shows the `after` of messages that are sent. */
    function drive(more: Partial<ClientOptions> = {}) {
      const { on, jsonMessageReplacer, generateID } = resuming(options(more));
      return {
        receive: (id: string, cursor: string) =>
          on!.message!({ id, type: MessageType.Next, payload: { data: { update: { cursor } } } }),
        connect: () => on!.connected!(socket, undefined, true),
        begin: () => generateID!({ query }),
        complete: (id: string) => void jsonMessageReplacer!.call({}, '', { id, type: MessageType.Complete }),
        afterOf(id: string): unknown {
          const message = { id, type: MessageType.Subscribe, payload: { query } };
          return (jsonMessageReplacer!.call({}, '', message) as SubscribeMessage).payload.variables?.[
            'after'
          ];
        },
      };
    }

    test('when its subscription ended while there was no connection', () => {
      const client = drive();
      client.connect();
      for (const id of ['stays', 'ends']) client.receive(id, `cursor of ${id}`);
      client.connect();
      expect(client.afterOf('stays')).toBe('cursor of stays');
      client.connect();
      expect(['stays', 'ends'].map(client.afterOf)).toEqual(['cursor of stays', undefined]);
    });

    test('but not if connections are cut before anything is sent on them', () => {
      const client = drive();
      client.connect();
      client.receive('stays', 'cursor');
      for (let cut = 0; cut < 5; cut += 1) client.connect();
      expect(client.afterOf('stays')).toBe('cursor');
    });

    test('when the client completes its subscription', () => {
      const client = drive();
      client.connect();
      for (const id of ['stays', 'ends']) client.receive(id, `cursor of ${id}`);
      client.complete('ends');
      expect(['stays', 'ends'].map(client.afterOf)).toEqual(['cursor of stays', undefined]);
    });

    test('when the application gives its id to another subscription', () => {
      const client = drive({ generateID: () => 'one' });
      client.connect();
      client.receive('one', 'cursor');
      expect(client.afterOf(client.begin())).toBeUndefined();
    });
  });

  test('leaves a query over the socket as it is', async () => {
    const client = connect(resuming(options()));
    const read = async () => (await client.iterate({ query: '{ viewer { email } }' }).next()).value;
    expect((await read())?.data).toEqual({ viewer: { email: 'demo@example.com' } });
    proxied.proxy.cut();
    expect((await read())?.data).toEqual({ viewer: { email: 'demo@example.com' } });
  });

  test('does not reconnect after 4401, when the session has ended', async () => {
    const leaver = await proxied.testbed.signIn();
    const client = connect(resuming(options({ connectionParams: { authorization: `Bearer ${leaver}` } })));
    const ended = new Promise((resolve) => {
      client.subscribe(
        { query, variables: { after: null } },
        { next() {}, error: resolve, complete: () => resolve('complete') },
      );
    });
    await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
    expect(codesOf(await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, leaver))).toEqual([]);
    expect(await ended).toMatchObject({ code: 4401 });
  });

  test('reports 4401, and works again after another sign-in', async () => {
    let session = await proxied.testbed.signIn();
    const closed = vi.fn<(event: unknown) => void>();
    const connectionParams = () => ({ authorization: `Bearer ${session}` });
    const client = connect(resuming(options({ connectionParams, on: { closed } })));
    const ended = client.iterate({ query }).next();
    ended.catch(() => {});
    await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
    await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, session);
    await expect(ended).rejects.toMatchObject({ code: 4401 });
    expect(closed.mock.calls).toEqual([[expect.objectContaining({ code: 4401 })]]);
    session = await proxied.testbed.signIn();
    const after = await liveCursor();
    const next = client.iterate<Updates>({ query, variables: { after } }).next();
    const [sent] = await emit(1);
    expect((await next).value?.data?.shipmentUpdates.event.eventId).toBe(sent);
  });

  test('pauses longer with each failed attempt, up to half a minute', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { retryWait } = resuming({ url: proxied.proxy.url });
    for (const [retries, least, most] of [
      [0, 250, 500],
      [3, 2_000, 4_000],
      [100, 15_000, 30_000],
      [5_000, 15_000, 30_000],
    ] as const) {
      const waited = vi.fn<() => void>();
      void retryWait!(retries).then(waited);
      await vi.advanceTimersByTimeAsync(least - 1);
      expect([retries, waited.mock.calls.length]).toEqual([retries, 0]);
      await vi.advanceTimersByTimeAsync(most - least + 1);
      expect([retries, waited.mock.calls.length]).toEqual([retries, 1]);
    }
  });
});
