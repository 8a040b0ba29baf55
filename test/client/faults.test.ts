import { setTimeout as pause } from 'node:timers/promises';
import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import type { Client, ClientOptions } from 'graphql-ws';
import { describe, expect, test } from 'vitest';
import { resuming } from '../../src/client/resume.js';
import { useProxiedGateway } from './proxied-gateway.js';

const proxied = useProxiedGateway();
const { liveCursor, options } = proxied;

const viewer = '{ viewer { email } }';
const demo = { viewer: { email: 'demo@example.com' } };
const updates = `subscription ($after: String) {
  shipmentUpdates(after: $after) { cursor event { eventId } }
}`;
/** A client that tries more often than this would try for ever. */
const maxTries = 20;

/** A resuming client, and how often it began to connect. */
function connect(more: Partial<ClientOptions> = {}) {
  const counted = { connections: 0 };
  const on = { ...more.on, connecting: () => void counted.connections++ };
  return { client: proxied.connect(resuming(options({ ...more, on }))), counted };
}

async function first(client: Client, variables: Record<string, unknown> = {}, query = viewer) {
  return (await client.iterate({ query, variables }).next()).value?.data;
}

/** Follows the updates; returns the ids of the events received so far, and how the subscription ends. */
function follow(client: Client, after: string) {
  const shown: string[] = [];
  const ended = new Promise((resolve) => {
    client.subscribe<{ shipmentUpdates: { event: { eventId: string } } }>(
      { query: updates, variables: { after } },
      {
        next: ({ data }) => shown.push(data!.shipmentUpdates.event.eventId),
        error: resolve,
        complete: () => resolve('complete'),
      },
    );
  });
  return { shown, ended };
}

async function emit(id: string): Promise<void> {
  await proxied.testbed.sandbox.webhooks.emitShipment({ id, shipment: { id: 'shp_faults' } });
}

const circular: Record<string, unknown> = {};
circular['itself'] = circular;

describe.for<[string, Partial<ClientOptions>]>([
  ['by default', {}],
  ['with a shouldRetry that is always true', { shouldRetry: () => true }],
])('%s, an operation that cannot be sent', ([, more]) => {
  test.for<[string, unknown, RegExp]>([
    ['a BigInt', 10n, /BigInt/],
    ['a cycle', circular, /circular/],
    ['a toJSON that throws', { toJSON: () => expect.unreachable('no JSON') }, /no JSON/],
  ])('fails at once: %s', async ([, x, words]) => {
    const { client, counted } = connect(more);
    const bystander = follow(client, await liveCursor());
    let tries = 0;
    const variables = {
      get x() {
        tries += 1;
        return tries > maxTries ? 'tried for ever' : x;
      },
    };
    await expect(first(client, variables)).rejects.toThrow(words);
    expect(tries).toBe(1);
    await emit(`evt_${String(words)}_${Object.keys(more).length}`);
    await expect.poll(() => bystander.shown).toHaveLength(1);
    expect(counted.connections).toBe(1);
  });
});

test('sends a variable whose name is empty', async () => {
  const { client } = connect();
  for (const value of [null, 1, { type: 'complete' }])
    expect(await first(client, { '': value })).toEqual(demo);
});

test('an error thrown by connectionParams ends the operations that wait for the connection', async () => {
  const { client, counted } = connect({ connectionParams: () => expect.unreachable('no token') });
  await expect(first(client)).rejects.toThrow('no token');
  expect(counted.connections).toBe(1);
});

test('an error thrown by connectionParams is retried, with the pauses of retryWait, if shouldRetry allows it', async () => {
  const paused: number[] = [];
  const { client } = connect({
    connectionParams() {
      if (paused.length < 2) throw new Error('no token');
      return { authorization: `Bearer ${proxied.token}` };
    },
    shouldRetry: (cause) => cause instanceof Error && cause.message === 'no token',
    retryWait(retries) {
      paused.push(retries);
      return pause(50);
    },
  });
  expect(await first(client)).toEqual(demo);
  expect(paused).toEqual([0, 1]);
});

test('an error thrown by jsonMessageReviver ends the operations in progress', async () => {
  const { client, counted } = connect({
    jsonMessageReviver(key, value: unknown) {
      if (key === 'viewer') throw new Error('not read');
      return value;
    },
  });
  await expect(first(client)).rejects.toThrow('not read');
  expect(counted.connections).toBe(1);
});

test("asks the application's own shouldRetry about connection failures", async () => {
  const { client, counted } = connect({ shouldRetry: () => false });
  proxied.proxy.shut(true);
  const message = expect.stringMatching(/socket hang up|ECONNRESET/);
  await expect(first(client)).rejects.toMatchObject({ type: 'error', message });
  expect(counted.connections).toBe(1);
});

test('reconnects after client.terminate', async () => {
  const { client, counted } = connect();
  const { shown } = follow(client, await liveCursor());
  await emit('evt_before');
  await expect.poll(() => shown).toEqual(['evt_before']);
  client.terminate();
  await emit('evt_after');
  await expect.poll(() => shown).toEqual(['evt_before', 'evt_after']);
  expect(counted.connections).toBe(2);
});

test('refuses an operation that is too large, without ending others', async () => {
  const { client, counted } = connect();
  const { shown } = follow(client, await liveCursor());
  await emit('evt_small');
  await expect.poll(() => shown).toEqual(['evt_small']);
  // Each character has three bytes.
  await expect(first(client, { x: '€'.repeat(350_000) })).rejects.toThrow('over HTTP');
  expect(await first(client, { x: 'x'.repeat(1_045_000) })).toEqual(demo);
  await emit('evt_smaller');
  await expect.poll(() => shown).toEqual(['evt_small', 'evt_smaller']);
  expect(counted.connections).toBe(1);
});

test('reports an operation that is too large to Apollo Client', async () => {
  const link = new GraphQLWsLink(connect().client);
  const apollo = new ApolloClient({ link, cache: new InMemoryCache() });
  const variables = { x: 'x'.repeat(1_100_000) };
  const { error } = await apollo.query({ query: gql(viewer), variables, errorPolicy: 'all' });
  expect(error?.message).toContain('over HTTP');
});

test('does not reconnect after 1009, as the same message would be too large again', async () => {
  const grows = { x: '' };
  const { client, counted } = connect({ on: { opened: () => void (grows.x = 'x'.repeat(1_200_000)) } });
  await expect(first(client, grows)).rejects.toMatchObject({ code: 1009 });
  expect(counted.connections).toBe(1);
  expect(await first(client)).toEqual(demo);
});
