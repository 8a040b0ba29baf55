import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import { signShipment } from '../../../src/sandbox/signing.js';
import { seriesIn } from '../../support/metrics.js';
import { demo, type Testbed } from '../../support/testbed.js';

/** How a client leaves. */
export type Ending = 'reset' | 'half-close' | 'close';
export const endings: readonly Ending[] = ['reset', 'half-close', 'close'];

/** A request, to be sent as it is. */
export interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | string;
  readonly isChunked?: boolean;
}

/** More characters than are read, parsed or sent at once. */
export const long = 'x'.repeat(200_000);
export const sse = { accept: 'text/event-stream' };
export const multipart = { accept: 'multipart/mixed;subscriptionSpec=1.0' };

/** The bytes of a request. */
export function bytesOf(asked: Asked): Buffer {
  const { path = '/graphql', method = 'POST', isChunked = false } = asked;
  const body = Buffer.from(asked.body ?? '');
  const sent = isChunked ? chunked(body) : body;
  const length = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': body.length };
  const headers = { host: 'localhost', 'content-type': 'application/json', ...length, ...asked.headers };
  const lines = Object.entries(headers).map((header) => `${header.join(': ')}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), sent]);
}

function chunked(body: Buffer): Buffer {
  const half = body.length >> 1;
  const parts = [body.subarray(0, half), body.subarray(half), Buffer.alloc(0)];
  return Buffer.concat(
    parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
  );
}

/** A signed delivery to the subscription of the sandbox. */
export function deliveryOf({ sandbox }: Testbed, event: object, headers = {}): Asked {
  const body = JSON.stringify(event);
  const [, id = '', secret = ''] = /^([^=]*)=([^,]*)/.exec(sandbox.settings['SHIPMENT_WEBHOOKS']!)!;
  const signature = signShipment(secret, Math.floor(sandbox.clock.now() / 1_000), body);
  return {
    path: `/webhooks/shipments/${id}`,
    body,
    headers: { 'shipping-signature': signature, ...headers },
  };
}

/** A connection without any client library. */
export class Wire {
  readonly socket;
  received = '';
  #waiting: (() => void)[] = [];

  constructor(url: string, reads = true) {
    this.socket = connect({ port: Number(new URL(url).port), allowHalfOpen: true });
    this.socket.on('error', () => undefined).on('end', () => this.socket.end());
    this.socket.on('close', () => this.#look());
    if (!reads) return;
    this.socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1');
      this.#look();
    });
  }

  send(bytes: Buffer | string): this {
    this.socket.write(bytes);
    return this;
  }

  /** Resolves once so much has come, or the connection is closed. */
  async until(hasCome: (received: string) => boolean): Promise<void> {
    while (!hasCome(this.received) && !this.socket.closed)
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  end(how: Ending): void {
    if (how === 'reset') this.socket.resetAndDestroy();
    else if (how === 'half-close') this.socket.end();
    else this.socket.destroy();
  }

  #look(): void {
    for (const look of this.#waiting.splice(0)) look();
  }
}

/** What a request gets, head and body. */
export async function ask(url: string, asked: Asked): Promise<string> {
  const bytes = bytesOf({ ...asked, headers: { ...asked.headers, connection: 'close' } });
  const wire = new Wire(url).send(bytes);
  await wire.until(() => false);
  return wire.received;
}

/** The token of a new session of the demo user, whose connection does not stay. */
export async function signIn(url: string): Promise<string> {
  const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken } }';
  const answer = await ask(url, { body: JSON.stringify({ query, variables: { input: demo } }) });
  return /"sessionToken":"([^"]*)"/.exec(answer)![1]!;
}

/** A client by which tests see what a gateway does, and what it holds for others. */
export class Probe {
  readonly #testbed: Testbed;
  readonly #wire: Wire;
  #asked = 0;

  constructor(testbed: Testbed) {
    this.#testbed = testbed;
    this.#wire = new Wire(testbed.url);
  }

  /** Resolves once the gateway has read what was sent before, so many times. */
  async turns(count = 2): Promise<void> {
    for (let nth = 0; nth < count; nth += 1) {
      const asked = (this.#asked += 1);
      this.#wire.send(bytesOf({ path: '/livez', method: 'GET' }));
      await this.#wire.until((received) => received.split('{"status"').length > asked);
    }
  }

  /** All that is held, but for the memory of the probe's own connection. */
  async held(): Promise<Record<string, number>> {
    const series = seriesIn(await this.#testbed.telemetry.metrics.text());
    const gauges = /^trivium_(?:memory_held_bytes|streams|websockets|subscriptions|subscription_groups)\b/;
    const held = [...series].filter(([name]) => gauges.test(name));
    const others = held.map(
      ([name, value]) => [name, name.includes('arriving') ? value - 16_384 : value] as const,
    );
    return Object.fromEntries(others.filter(([, value]) => value !== 0));
  }
}

/** A websocket client that can send what it likes. */
export class Client {
  readonly socket: WebSocket;
  stream: Socket | undefined;
  readonly opened: Promise<void>;
  readonly closed: Promise<void>;
  readonly messages: string[] = [];

  constructor(url: string, headers: Record<string, string> = {}) {
    const createConnection = () => (this.stream = connect(Number(new URL(url).port)));
    const address = `ws://localhost:${new URL(url).port}/graphql`;
    this.socket = new WebSocket(address, 'graphql-transport-ws', { headers, createConnection });
    this.closed = new Promise((resolve) =>
      this.socket.on('error', () => undefined).once('close', () => resolve()),
    );
    this.opened = new Promise((resolve) => this.socket.once('open', resolve));
    this.socket.on('message', (data: Buffer) => this.messages.push(data.toString()));
  }

  send(message: object | string, isLast = true): this {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message), { fin: isLast });
    return this;
  }
}
