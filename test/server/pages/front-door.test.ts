import { Agent, get } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { refusesConnections } from '../../drain/refuses-connections.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';

let testbed: Testbed;

beforeAll(async () => {
  testbed = await startTestbed();
});
afterAll(() => testbed.stop());

test.each([undefined, '*/*', 'application/json'])(
  'a client that accepts %s gets addresses',
  async (accept) => {
    const response = await fetch(testbed.url, { headers: accept === undefined ? {} : { accept } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    const addresses = (await response.json()) as Record<string, string>;
    expect(addresses).toMatchObject({
      graphql: `${testbed.url}/graphql`,
      websocket: `${testbed.url.replace('http', 'ws')}/graphql`,
      schema: `${testbed.url}/schema.graphql`,
      docs: `${testbed.url}/docs`,
    });
    expect((await fetch(addresses['schema']!)).status).toBe(200);
    expect((await fetch(testbed.url, { method: 'POST' })).status).toBe(405);
  },
);

test('a public address is the one that is named', async () => {
  const behindProxy = await startTestbed({ settings: { PUBLIC_URL: 'https://gateway.example' } });
  const addresses = await (await fetch(behindProxy.url)).json();
  await behindProxy.stop();
  expect(addresses).toMatchObject({
    graphql: 'https://gateway.example/graphql',
    websocket: 'wss://gateway.example/graphql',
  });
});

test('a request on a connection that is still open gets addresses while the gateway stops', async () => {
  const stopping = await startTestbed();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = () =>
    new Promise<unknown>((resolve) => void get(stopping.url, { agent }, (answer) => resolve(json(answer))));
  const before = await ask();
  const stopped = stopping.stop();
  await refusesConnections(stopping.url);
  expect(await ask()).toEqual(before);
  await stopped;
});

test('a browser gets the console', async () => {
  const response = await fetch(testbed.url, { headers: { accept: 'text/html,*/*;q=0.8' } });
  expect(response.headers.get('content-type')).toMatch(/^text\/html/);
  expect(response.headers.get('content-security-policy')).toContain("script-src 'self'");
});

test('/graphql/ leads to /graphql, with method, query and body', async () => {
  const moved = await fetch(`${testbed.url}/graphql/?query=%7B__typename%7D`, { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([308, '/graphql?query=%7B__typename%7D']);
  const answered = await fetch(`${testbed.url}/graphql/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{ __typename }"}',
  });
  expect(await answered.json()).toEqual({ data: { __typename: 'Query' } });
});

test('/favicon.ico is an icon', async () => {
  const response = await fetch(`${testbed.url}/favicon.ico`);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/x-icon']);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(bytes.readUInt16LE(2)).toBe(1); // an icon, by the format
  expect(bytes.readUInt16LE(4)).toBe(3); // in so many sizes
});
