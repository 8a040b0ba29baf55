import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type Client, type ClientOptions } from 'graphql-ws';
import WebSocket from 'ws';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { startHouse, type House } from '../support/house.js';
import { openProxy, type Proxy } from './proxy.js';

/** What tests of clients need: a gateway, a way to it that can be cut, and clients that are disposed of. */
export interface Proxied {
  readonly house: House;
  /** Before each test another. */
  readonly proxy: Proxy;
  /** The token of a session, with which clients connect from now on. */
  token: string;
  /** For a client that takes this way. */
  options(more?: Partial<ClientOptions>): ClientOptions;
  /** A client that is disposed of after the test. */
  connect(by: ClientOptions): Client;
  liveCursor(): Promise<string>;
}

/** Starts all that for the tests of a file. */
export function useProxied(start: Parameters<typeof startHouse>[0] = {}): Proxied {
  const clients: Client[] = [];
  let house: House;
  let proxy: Proxy;
  let token: string;

  beforeAll(async () => {
    house = await startHouse(start);
    token = await house.signIn();
  });

  beforeEach(async () => {
    proxy = await openProxy(house.url);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.dispose();
    await proxy.stop();
  });

  afterAll(() => house.stop());

  return {
    get house() {
      return house;
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
    liveCursor: async () => (await house.ask('{ liveCursor }', {}, token)).data.liveCursor,
  };
}
