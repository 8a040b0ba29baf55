import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { CloseCode, MessageType, type WebSocket as ProtocolSocket } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { Session } from '../../../domains/sessions/session.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';
import { sendAnswer } from './backpressure.js';
import { Operations } from './operation-ids.js';
import { Heartbeat } from '../heartbeat.js';

const serviceRestart = 1012;
/** The close code for what cannot be done here now: clients reconnect by themselves. */
export const tryAgainLater = 1013;
/** Bytes that fit into a close frame beside the code (RFC 6455 §5.5). */
const maxReasonBytes = 123;
/** What a client may send before it is known who it is: a message is kept in memory until it is complete. */
const maxUnknownBytes = 64 * 1024;
const ignore = (): void => undefined;

/**
 * A websocket as graphql-ws sees it, and our own state of it. A class, since there are many: closures would take more
 * memory than all the rest.
 */
export class Connection implements ProtocolSocket {
  readonly socket: WebSocket;
  readonly heartbeat: Heartbeat;
  /** The headers of the upgrade request, until it is known who is calling. */
  headers: IncomingHttpHeaders | undefined;
  /** Set by `admit`. */
  session: Session | undefined = undefined;
  /** Stops watching the session. */
  unwatch: () => void = ignore;
  /** The operations under way, subscriptions among them; undefined if the client speaks another protocol. */
  operations: Operations | undefined = undefined;
  /** How many are accepted and not ended; `operations` also has those whose last message is still to be written. */
  running = 0;
  readonly #stream: IncomingMessage['socket'];
  /** Cuts off a client that sends much before it is known, until `admit`. */
  #limit: (() => void) | undefined;
  readonly #log: Telemetry['log'];

  constructor(socket: WebSocket, { socket: stream, headers }: IncomingMessage, { log }: Telemetry) {
    this.socket = socket;
    this.#stream = stream;
    this.heartbeat = new Heartbeat(socket, stream);
    this.headers = headers;
    this.#log = log;
    const most = stream.bytesRead + maxUnknownBytes;
    this.#limit = () => stream.bytesRead > most && socket.terminate();
    stream.on('data', this.#limit);
  }

  /** Must be called once it is known who is calling. */
  admit(session: Session): void {
    this.session = session;
    this.#stream.off('data', this.#limit!);
    this.#limit = undefined;
  }

  get protocol(): string {
    return this.socket.protocol;
  }

  /** Resolves once the text is written (so that a stream waits for a slow socket), or its client has gone. */
  send(text: string): Promise<void> {
    return sendAnswer(this.socket, this.#stream, text);
  }

  /** Truncates a reason too long for a close frame, as one with the client's own id may be. */
  close(code?: number, reason = ''): void {
    const fitting = Buffer.from(reason).subarray(0, maxReasonBytes);
    this.socket.close(code, new TextDecoder().decode(fitting, { stream: true }));
  }

  /** Closes the socket; clients reconnect by themselves. */
  restart(): void {
    this.close(serviceRestart, 'Service restart');
  }

  /** As `restart`, once nothing but subscriptions is under way. */
  async retire(): Promise<void> {
    await this.operations?.answered();
    this.restart();
  }

  onMessage(handle: (text: string) => Promise<void>): void {
    // `handle` takes a parsed message, too, though its type does not say so.
    const operations = new Operations((message) => handle(message as string), this);
    this.operations = operations;
    this.socket.on('message', (data: Buffer) => {
      // The client may go on sending after we began to close.
      if (this.socket.readyState === this.socket.OPEN) operations.take(data.toString());
    });
  }

  /** Answers with the payload of the ping, as graphql-ws would, unless it is nested too deep to be written. */
  onPing(payload: unknown): Promise<void> | void {
    try {
      return this.send(JSON.stringify({ type: MessageType.Pong, payload: payload ?? undefined }));
    } catch {
      this.reject('The payload of a ping is nested too deep');
    }
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
