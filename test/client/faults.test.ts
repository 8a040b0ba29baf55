import { setTimeout as pause } from 'node:timers/promises';
import { ApolloClient, gql, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import type { Client, ClientOptions } from 'graphql-ws';
import { describe, expect, test } from 'vitest';
import { resuming } from '../../src/client/resume.js';
import { useProxied } from './proxied.js';

const proxied = useProxied();
const { liveCursor, options } = proxied;

const viewer = '{ viewer { email } }';
const demo = { viewer: { email: 'demo@example.com' } };
const updates = `subscription ($after: String) {
  shipmentUpdates(after: $after) { cursor event { eventId } }
}`;
/** A client that tries more often than this tries for ever. */
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

/** Follows the updates; hands over how that ends, and the ids of the events up to then. */
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
  ['by itself', {}],
  ['where the application retries whatever happened', { shouldRetry: () => true }],
])('%s, what cannot be sent', ([, more]) => {
  test.for<[string, unknown, RegExp]>([
    ['a BigInt', 10n, /BigInt/],
    ['a cycle', circular, /circular/],
    ['what throws', { toJSON: () => expect.unreachable('no JSON') }, /no JSON/],
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

test('a variable may have no name', async () => {
  const { client } = connect();
  for (const value of [null, 1, { type: 'complete' }])
    expect(await first(client, { '': value })).toEqual(demo);
});

test('what the application throws while it connects ends what waits for the connection', async () => {
  const { client, counted } = connect({ connectionParams: () => expect.unreachable('no token') });
  await expect(first(client)).rejects.toThrow('no token');
  expect(counted.connections).toBe(1);
});

test('… unless its own shouldRetry has it tried again, after its pauses', async () => {
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

test('what the application throws over a message ends what is under way', async () => {
  const { client, counted } = connect({
    jsonMessageReviver(key, value: unknown) {
      if (key === 'viewer') throw new Error('not read');
      return value;
    },
  });
  await expect(first(client)).rejects.toThrow('not read');
  expect(counted.connections).toBe(1);
});

test("the application's own shouldRetry is asked of faults of the connection", async () => {
  const { client, counted } = connect({ shouldRetry: () => false });
  proxied.proxy.shut(true);
  const message = expect.stringMatching(/socket hang up|ECONNRESET/);
  await expect(first(client)).rejects.toMatchObject({ type: 'error', message });
  expect(counted.connections).toBe(1);
});

test('connects again after client.terminate', async () => {
  const { client, counted } = connect();
  const { shown } = follow(client, await liveCursor());
  await emit('evt_before');
  await expect.poll(() => shown).toEqual(['evt_before']);
  client.terminate();
  await emit('evt_after');
  await expect.poll(() => shown).toEqual(['evt_before', 'evt_after']);
  expect(counted.connections).toBe(2);
});

test('an operation that is too large is refused, and ends no other', async () => {
  const { client, counted } = connect();
  const { shown } = follow(client, await liveCursor());
  await emit('evt_small');
  await expect.poll(() => shown).toEqual(['evt_small']);
  // Of three bytes each.
  await expect(first(client, { x: '€'.repeat(350_000) })).rejects.toThrow('over HTTP');
  expect(await first(client, { x: 'x'.repeat(1_045_000) })).toEqual(demo);
  await emit('evt_smaller');
  await expect.poll(() => shown).toEqual(['evt_small', 'evt_smaller']);
  expect(counted.connections).toBe(1);
});

test('Apollo Client is told of an operation that is too large', async () => {
  const link = new GraphQLWsLink(connect().client);
  const apollo = new ApolloClient({ link, cache: new InMemoryCache() });
  const variables = { x: 'x'.repeat(1_100_000) };
  const { error } = await apollo.query({ query: gql(viewer), variables, errorPolicy: 'all' });
  expect(error?.message).toContain('over HTTP');
});

test('1009 is final: a greater message, sent again, would be closed again', async () => {
  const grows = { x: '' };
  const { client, counted } = connect({ on: { opened: () => void (grows.x = 'x'.repeat(1_200_000)) } });
  await expect(first(client, grows)).rejects.toMatchObject({ code: 1009 });
  expect(counted.connections).toBe(1);
  expect(await first(client)).toEqual(demo);
});
