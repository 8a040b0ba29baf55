import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws';
import { WebSocketServer } from 'ws';
import { Connection, maxFragments } from './socket/connection.js';
import { hold } from './socket/backpressure.js';
import type { Drain } from '../http/graceful-shutdown.js';
import type { HostFault } from '../http/host-check.js';
import { dataHeaders, noStore } from '../http/response-headers.js';
import { retryAfterSeconds } from '../operation/admission.js';
import { foreignOrigin } from '../operation/authenticate.js';
import { createProtocol, type ProtocolOptions } from './graphql-transport-ws.js';

/** GraphQL over `graphql-transport-ws`: subscriptions and queries. */
export interface GraphqlSockets {
  /** How many are open. */
  readonly size: number;
  /**
   * Closes each socket as `restart` does, as soon as nothing but subscriptions is under way on it: in batches, 5,000 in
   * four seconds.
   */
  retire(): Promise<void>;
  /** Closes all sockets with `1012` (service restart): clients reconnect by themselves, and ask again. */
  restart(): void;
  /** Takes no new sockets, and closes all as `restart` does. */
  stop(): Promise<void>;
}

export const beatMs = 15_000;
const closeMs = 1_000;
/** How sockets end in the ordinary course: normally, by leaving, without a code, by a restart of ours. */
const usualCodes: ReadonlySet<number> = new Set([1000, 1001, 1005, 1012]);
/** Clients that are asked to move come back at once: not all in one second. */
const retiredAtOnce = 125;
const retireEveryMs = 100;
export const maxMessageBytes = 1024 * 1024;

/** Handles the websocket upgrades of `server`, which are all at `/graphql` (`door.ts`). */
export function createGraphqlSockets(
  options: ProtocolOptions & {
    readonly server: Server;
    /** Why an upgrade is refused for its `Host`. */
    readonly hostFault: (request: IncomingMessage) => HostFault | undefined;
    /** Once it has begun, upgrades are refused. */
    readonly drain: Drain;
    /** The caller, as long as no user is known. */
    readonly networkCaller: (request: IncomingMessage) => string;
  },
): GraphqlSockets {
  const { server, drain, callers, hostFault, telemetry, admission, networkCaller } = options;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    maxFragments,
    perMessageDeflate: false,
    handleProtocols: (offered) => offered.has(GRAPHQL_TRANSPORT_WS_PROTOCOL) && GRAPHQL_TRANSPORT_WS_PROTOCOL,
  });

  const protocol = createProtocol(options);
  const connections = new Set<Connection>();
  const beat = () =>
    connections.forEach(({ socket, heartbeat }) => {
      hold(socket); // what was taken meanwhile
      heartbeat.beat();
    });
  // After a stall, pongs may wait unread: the poll phase reads them before `setImmediate` runs the beat.
  const beats = setInterval(() => setImmediate(beat), beatMs).unref();
  const restart = () => connections.forEach((connection) => connection.restart());
  const noteFailure = (err: Error) => telemetry.log.debug({ err }, 'a websocket failed');

  sockets.on('connection', (socket, request) => {
    const caller = networkCaller(request);
    const connection = new Connection(socket, request, { telemetry, admission, caller });
    const closed = protocol.opened(connection, connection);
    connections.add(connection);
    socket.on('error', noteFailure);
    socket.on('close', (code, reason) => {
      connections.delete(connection);
      connection.release();
      if (!usualCodes.has(code)) {
        const userId = connection.session?.caller.userId;
        telemetry.log.info({ code, userId }, 'a websocket closed abnormally');
      }
      closed(code, String(reason)).catch(noteFailure);
    });
  });

  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', destroy);
    if (drain.begun) return refuse(socket, 503, stopping, 'RATE_LIMITED');
    const fault = hostFault(request);
    if (fault) return refuse(socket, fault.status, fault.message, 'BAD_REQUEST');
    if (!callers.admits(request.headers.origin)) return refuse(socket, 403, foreignOrigin, 'FORBIDDEN');
    sockets.handleUpgrade(request, socket, head, (opened) => {
      socket.off('error', destroy); // ws has its own listener from here on
      sockets.emit('connection', opened, request);
    });
  };
  server.on('upgrade', upgrade);

  return {
    get size() {
      return connections.size;
    },
    async retire() {
      const retiring: Promise<void>[] = [];
      for (const connection of connections) {
        if (retiring.length > 0 && retiring.length % retiredAtOnce === 0) await sleep(retireEveryMs);
        retiring.push(connection.retire());
      }
      await Promise.all(retiring);
    },
    restart,
    async stop() {
      server.off('upgrade', upgrade);
      clearInterval(beats);
      restart();
      const closing = new Promise((resolve) => sockets.close(resolve));
      const deadline = setTimeout(() => sockets.clients.forEach((socket) => socket.terminate()), closeMs);
      await closing;
      clearTimeout(deadline);
    },
  };
}

/** Not a closure: it would keep the request for as long as the socket is open. */
function destroy(this: Duplex): void {
  this.destroy();
}

const stopping = 'This replica is stopping: connect again.';

/** Refuses an upgrade, with the reason in the form that GraphQL clients can read. */
function refuse(socket: Duplex, status: number, message: string, code: string): void {
  const retryAfter = status === 503 ? { retryAfter: retryAfterSeconds } : undefined;
  const body = JSON.stringify({ errors: [{ message, extensions: { code, ...retryAfter } }] });
  const headers = {
    ...noStore,
    ...dataHeaders,
    ...(retryAfter && { 'retry-after': retryAfterSeconds }),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  const head = Object.entries(headers).map((header) => `\r\n${header.join(': ')}`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}${head.join('')}\r\n\r\n${body}`);
}
