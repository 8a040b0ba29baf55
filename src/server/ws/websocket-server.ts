import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws';
import { WebSocketServer } from 'ws';
import { maxFragments } from './socket/arriving.js';
import { Connection } from './socket/connection.js';
import { hold } from './socket/backpressure.js';
import { Pace } from '../../lib/async/pace.js';
import type { GracefulShutdown } from '../http/graceful-shutdown.js';
import { rawResponse, type HostFault } from '../http/request-guards.js';
import { dataHeaders, noStore, requestId } from '../http/response-headers.js';
import { retryAfterSeconds } from '../operation/admission.js';
import { foreignOrigin, type AllowedOrigins } from '../operation/allowed-origins.js';
import { createProtocol, type ProtocolOptions } from './graphql-transport-ws.js';

/** How often, in milliseconds, each websocket is pinged and ended if nothing came since the last ping. */
export const beatMs = 15_000;
const closeMs = 1_000;
/** How sockets end in the ordinary course: normally, by leaving, without a code, by a restart of ours. */
const usualCodes: ReadonlySet<number> = new Set([1000, 1001, 1005, 1012]);
/** Clients that are asked to move come back at once: not all in one second. */
const retiredAtOnce = 125;
const retireEveryMs = 100;
/** How many sockets are opened in a turn of the event loop: there may be hundreds of requests for one in it. */
const openedPerTurn = 32;
/** The maximum size of a message from a client, in bytes; a longer one closes its websocket with `1009`. */
export const maxMessageBytes = 1024 * 1024;

interface GraphqlSocketsOptions extends ProtocolOptions {
  readonly server: Server;
  /** The pages that may open a websocket. */
  readonly origins: Pick<AllowedOrigins, 'admits'>;
  /** Why an upgrade is refused for its `Host`. */
  readonly hostFault: (request: IncomingMessage) => HostFault | undefined;
  /** Once it has begun, upgrades are refused. */
  readonly shutdown: GracefulShutdown;
  /** The caller, as long as no user is known. */
  readonly callerOfRequest: (request: IncomingMessage) => string;
  /** Whose turn an upgrade waits for. */
  readonly laneOf: (request: IncomingMessage) => string;
}

/**
 * GraphQL over `graphql-transport-ws`: subscriptions and queries. Handles the websocket upgrades of `server`, which are all
 * at `/graphql`.
 */
export class GraphqlSockets {
  readonly #options: GraphqlSocketsOptions;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    maxFragments,
    perMessageDeflate: false,
    autoPong: false, // there may be ten thousand pings in a chunk
    handleProtocols: (offered) => offered.has(GRAPHQL_TRANSPORT_WS_PROTOCOL) && GRAPHQL_TRANSPORT_WS_PROTOCOL,
  });
  readonly #opening = new Pace(openedPerTurn);
  readonly #connections = new Set<Connection>();
  // After a stall, pongs may wait unread: the poll phase reads them before `setImmediate` runs the beat.
  readonly #beats = setInterval(() => setImmediate(this.#beat), beatMs).unref();

  constructor(options: GraphqlSocketsOptions) {
    this.#options = options;
    const { server, telemetry, admission, callerOfRequest, connections } = options;
    const protocol = createProtocol(options);
    this.#sockets.on('connection', (socket, request) => {
      const caller = callerOfRequest(request);
      const connection = new Connection(socket, request, {
        telemetry,
        admission,
        caller,
        reading: connections.readingFrames,
      });
      const closed = protocol.opened(connection, connection);
      this.#connections.add(connection);
      socket.on('error', this.#noteFailure);
      socket.on('close', (code, reason) => {
        this.#connections.delete(connection);
        connection.release();
        if (!usualCodes.has(code)) {
          const userId = connection.session?.caller.userId;
          telemetry.log.info({ code, userId }, 'a websocket closed abnormally');
        }
        closed(code, String(reason)).catch(this.#noteFailure);
      });
    });
    server.on('upgrade', this.#upgrade);
  }

  /** Closes all sockets with `1012` (service restart): clients reconnect by themselves, and ask again. */
  restart(): void {
    return this.#connections.forEach((connection) => connection.restart());
  }

  /** How many are open. */
  get size(): number {
    return this.#connections.size;
  }

  /**
   * Closes each socket as `restart` does, as soon as nothing but subscriptions is under way on it: in batches, 5,000 in
   * four seconds.
   */
  async retire(): Promise<void> {
    const retiring: Promise<void>[] = [];
    for (const connection of this.#connections) {
      if (retiring.length > 0 && retiring.length % retiredAtOnce === 0) await sleep(retireEveryMs);
      retiring.push(connection.retire());
    }
    await Promise.all(retiring);
  }

  /** Takes no new sockets, and closes all as `restart` does. */
  async stop(): Promise<void> {
    this.#options.server.off('upgrade', this.#upgrade);
    clearInterval(this.#beats);
    this.restart();
    const closing = new Promise((resolve) => this.#sockets.close(resolve));
    const deadline = setTimeout(() => this.#sockets.clients.forEach((socket) => socket.terminate()), closeMs);
    await closing;
    clearTimeout(deadline);
  }

  readonly #beat = () =>
    this.#connections.forEach(({ socket, heartbeat }) => {
      hold(socket); // what was taken meanwhile
      heartbeat.beat();
    });

  readonly #noteFailure = (err: Error) => this.#options.telemetry.log.debug({ err }, 'a websocket failed');

  readonly #upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (socket.destroyed) return;
    this.#options.connections.reading.forget(request.socket);
    socket.on('error', destroy);
    void this.#opening.do(() => this.#open(request, socket, head), this.#options.laneOf(request));
  };

  #open(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#options.shutdown.begun) return refuse(request, 503, stopping, 'RATE_LIMITED');
    const fault = this.#options.hostFault(request);
    if (fault) return refuse(request, fault.status, fault.message, 'BAD_REQUEST');
    if (!this.#options.origins.admits(request.headers.origin))
      return refuse(request, 403, foreignOrigin, 'FORBIDDEN');
    this.#sockets.handleUpgrade(request, socket, head, (opened) => {
      socket.off('error', destroy); // ws has its own listener from here on
      this.#sockets.emit('connection', opened, request);
    });
  }
}

/** Not a closure: it would keep the request for as long as the socket is open. */
function destroy(this: Duplex): void {
  this.destroy();
}

const stopping = 'This replica is stopping: connect again.';

/** Refuses an upgrade, with the reason in the form that GraphQL clients can read. */
function refuse(
  { socket, headers: asked }: IncomingMessage,
  status: number,
  message: string,
  code: string,
): void {
  const retryAfter = status === 503 ? { retryAfter: retryAfterSeconds } : undefined;
  const body = JSON.stringify({ errors: [{ message, extensions: { code, ...retryAfter } }] });
  const headers = {
    ...noStore,
    ...dataHeaders,
    'x-request-id': requestId(asked['x-request-id']),
    ...(retryAfter && { 'retry-after': String(retryAfterSeconds) }),
    'content-type': 'application/json; charset=utf-8',
  };
  socket.once('finish', () => socket.destroy());
  socket.end(rawResponse({ status, headers, body }));
}
