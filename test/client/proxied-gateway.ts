import WebSocket from 'ws';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createTrivium, type Trivium, type TriviumOptions } from '../../src/client/core/trivium.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { openProxy, type Proxy } from './proxy.js';

/** What tests of clients need: a gateway, a proxy in front of it that can be cut, and clients that are disposed of. */
export interface ProxiedGateway {
  readonly testbed: Testbed;
  /** A new one for each test. */
  readonly proxy: Proxy;
  /** The session token with which clients are made from now on. */
  token: string;
  /** A client that calls through the proxy, and is disposed of after the test. */
  connect(more?: Partial<TriviumOptions>): Trivium;
  liveCursor(): Promise<string>;
  /** Emits this many shipment events, one after the other, and returns their ids. */
  emit(count: number, shipmentId?: string): Promise<string[]>;
}

/** Sets all of that up for the tests of a file. */
export function useProxiedGateway(start: Parameters<typeof startTestbed>[0] = {}): ProxiedGateway {
  const clients: Trivium[] = [];
  let testbed: Testbed;
  let proxy: Proxy;
  let token: string;
  let emitted = 0;

  beforeAll(async () => {
    testbed = await startTestbed(start);
    token = await testbed.signIn();
  });

  beforeEach(async () => {
    proxy = await openProxy(testbed.url);
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) client.dispose();
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
    connect(more) {
      const client = createTrivium({ url: proxy.url, token, webSocketImpl: WebSocket, ...more });
      clients.push(client);
      return client;
    },
    liveCursor: async () => (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor,
    async emit(count, shipmentId = 'shp_client') {
      const ids: string[] = [];
      for (let index = 0; index < count; index++) {
        const id = `evt_client_${emitted++}`;
        ids.push(id);
        await testbed.sandbox.webhooks.emitShipment({ id, shipment: { id: shipmentId } });
      }
      return ids;
    },
  };
}
