import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { ClientConnections } from './http/client-connections.js';
import { createRequestClass } from './http/incoming-request.js';
import {
  boundHeaders,
  keptHeaders,
  oneAtATime,
  originForm,
  refuseExpectation,
} from './http/request-guards.js';
import { refuseEarly } from './http/routes.js';
import type { Admission } from './operation/admission.js';

/** How long a client may take to send a request. */
export const requestTimeoutMs = 60_000;
/**
 * How long nothing of an answer may go out: Linux takes more of it once the client has read a third of 4 MiB, so this
 * means some 6 KB a second.
 */
export const stalledMs = 240_000;
/** Longer than proxies keep an idle connection, so that they are the first to close it. */
const keepAliveMs = 72_000;

/** What bounds the requests of a server. */
export interface Bounds {
  readonly admission: Admission;
  readonly connections: ClientConnections;
  /** The caller, as long as no user is known. */
  readonly callerOfRequest: (request: IncomingMessage) => string;
  /** In whose turn a request is begun. */
  readonly laneOf: (request: IncomingMessage) => string;
}

/**
 * A server for anybody: its connections are counted and read in turns, its requests bounded, charged and begun in turns.
 * `onRequest` is told of each at once, `next` handles it when it is its turn.
 */
export function createBoundedServer(
  { admission, connections, callerOfRequest, laneOf }: Bounds,
  next: RequestListener,
  onRequest: RequestListener = () => undefined,
): Server {
  const inTurn = (handle: RequestListener) => oneAtATime(admission.ledger, callerOfRequest, laneOf, handle);
  const begin = inTurn(next);
  const bounded = boundHeaders(refuseEarly, (request, response) => {
    onRequest(request, response);
    request.url = originForm(request.url!);
    begin(request, response);
  });
  const take: RequestListener = (request, response) => {
    connections.reading.note(request.socket, Number(request.headers['content-length'] ?? 0));
    bounded(request, response);
  };
  const settings = {
    requestTimeout: requestTimeoutMs,
    requireHostHeader: false, // `guardHost` does, in `next`
    IncomingMessage: createRequestClass(admission, callerOfRequest, laneOf, connections.reading),
  };
  const server = createServer(settings, take);
  server.on('checkExpectation', inTurn(refuseExpectation(refuseEarly)));
  server.on('connection', connections.onConnection);
  server.maxHeadersCount = keptHeaders;
  server.timeout = stalledMs;
  server.keepAliveTimeout = keepAliveMs;
  return server;
}
