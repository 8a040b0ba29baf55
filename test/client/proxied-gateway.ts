import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type Client, type ClientOptions } from 'graphql-ws';
import WebSocket from 'ws';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { openProxy, type Proxy } from './proxy.js';

/** What tests of clients need: a gateway, a proxy in front of it that can be cut, and clients that are disposed of. */
export interface ProxiedGateway {
  readonly testbed: Testbed;
  /** A new one for each test. */
  readonly proxy: Proxy;
  /** The session token with which clients connect from now on. */
  token: string;
  /** Options for a client that connects through the proxy. */
  options(more?: Partial<ClientOptions>): ClientOptions;
  /** A client that is disposed of after the test. */
  connect(by: ClientOptions): Client;
  liveCursor(): Promise<string>;
}

/** Sets all of that up for the tests of a file. */
export function useProxiedGateway(start: Parameters<typeof startTestbed>[0] = {}): ProxiedGateway {
  const clients: Client[] = [];
  let testbed: Testbed;
  let proxy: Proxy;
  let token: string;

  beforeAll(async () => {
    testbed = await startTestbed(start);
    token = await testbed.signIn();
  });

  beforeEach(async () => {
    proxy = await openProxy(testbed.url);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.dispose();
    await proxy.stop();
  });

  afterAll(() => testbed.stop());

  return {
    get testbed() {
      return testbed;
    },
    get proxy() {
      return proxy;
    },
    get token() {
      return token;
    },
    set token(given) {
      token = given;
    },
    options: (more) => ({
      url: `${proxy.url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: () => ({ authorization: `Bearer ${token}` }),
      retryWait: () => pause(20),
      ...more,
    }),
    connect(by) {
      const client = createClient(by);
      clients.push(client);
      return client;
    },
    liveCursor: async () => (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor,
  };
}
