import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { CloseCode, type WebSocket as ProtocolSocket } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { Session } from '../sessions/sessions.js';
import type { Telemetry } from '../telemetry.js';
import { answer } from './backlog.js';
import { Operations } from './ids.js';
import { Heartbeat } from './heartbeat.js';

const serviceRestart = 1012;
/** What is asked for cannot be done here now: clients connect again by themselves. */
export const tryAgainLater = 1013;
/** Bytes (RFC 6455, 5.5). */
const longestReason = 123;
const ignore = (): void => undefined;

/**
 * A websocket as graphql-ws sees it, and what is kept of it. A class, as there are many: functions of their own would
 * weigh more than the rest.
 */
export class Connection implements ProtocolSocket {
  /** graphql-ws keeps it as a record of ours. */
  [other: PropertyKey]: unknown;
  readonly socket: WebSocket;
  readonly heartbeat: Heartbeat;
  /** Of the upgrade, until it is known who is calling. */
  headers: IncomingHttpHeaders | undefined;
  session: Session | undefined = undefined;
  /** Ends the watch over the session. */
  unwatch: () => void = ignore;
  /** Those under way, subscriptions that stand among them; none where the protocol is another. */
  operations: Operations | undefined = undefined;
  /** How many they are. */
  running = 0;
  readonly #stream: IncomingMessage['socket'];
  readonly #log: Telemetry['log'];

  constructor(socket: WebSocket, { socket: stream, headers }: IncomingMessage, { log }: Telemetry) {
    this.socket = socket;
    this.#stream = stream;
    this.heartbeat = new Heartbeat(socket, stream);
    this.headers = headers;
    this.#log = log;
  }

  get protocol(): string {
    return this.socket.protocol;
  }

  /** Resolves once the text is on its way (so that a stream waits for a slow socket) or its client has gone. */
  send(text: string): Promise<void> {
    return answer(this.socket, this.#stream, text);
  }

  /** A reason too long for a close frame, as one with the client's own id may be, is cut. */
  close(code?: number, reason = ''): void {
    const fitting = Buffer.from(reason).subarray(0, longestReason);
    this.socket.close(code, new TextDecoder().decode(fitting, { stream: true }));
  }

  /** Clients connect again by themselves. */
  restart(): void {
    this.close(serviceRestart, 'Service restart');
  }

  /** As `restart`, once all is answered but subscriptions. */
  async retire(): Promise<void> {
    await this.operations?.answered();
    this.restart();
  }

  onMessage(handle: (text: string) => Promise<void>): void {
    // It takes messages that are parsed, too, though its type does not say so.
    const operations = new Operations((message) => handle(message as string), this);
    this.operations = operations;
    this.socket.on('message', (data: Buffer) => {
      // The client may go on sending after we began to close.
      if (this.socket.readyState === this.socket.OPEN) operations.take(data.toString());
    });
  }

  refuse(): void {
    this.close(CloseCode.SubscriberAlreadyExists, 'Subscriber already exists');
  }

  reject(reason: string): void {
    this.close(CloseCode.BadRequest, reason);
  }

  fail(err: unknown): void {
    this.#log.error({ err }, 'a websocket message could not be handled');
    this.close(CloseCode.InternalServerError, 'Internal server error');
  }
}
