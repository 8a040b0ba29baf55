import { STATUS_CODES, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { Pace } from '../../lib/async/pace.js';
import type { Holding, MemoryLedger } from '../../lib/memory/memory-ledger.js';
import { maxBodyBytes } from '../../lib/body-limit.js';
import { longReading } from '../operation/admission.js';
import { noStore, requestId } from './response-headers.js';

/** Paths below this one are the webhook receiver's. */
export const webhookPrefix = '/webhooks/';

/** A request has no more headers than this. */
const maxHeaders = 200;
/** How many headers of a request Node.js keeps, for `Server.maxHeadersCount`: enough to tell that there are too many. */
export const keptHeaders = maxHeaders + 1;
/** In characters: how long the media type of a body may be, and the list of those that are accepted. */
export const maxMediaType = 512;
export const maxAccepted = 1_024;
/** What a request that waits takes in the heap, and each of its headers besides. */
const requestBytes = 6_000;
const headerBytes = 120;

/**
 * Refuses a request with too many headers, and closes its connection: they take a hundred times as much memory as on the
 * wire. Also refuses one with a media type, or a list of those it accepts, so long that reading it would hold up others;
 * those of a delivery are never read.
 */
export function boundHeaders(refuse: Refuse, next: RequestListener): RequestListener {
  return (request, response) => {
    const { socket } = request;
    // Node.js goes on parsing what it has read of a connection that is cut off.
    if (socket.destroyed || socket.writableEnded) return;
    const fault = headerFault(request);
    if (!fault) return next(request, response);
    // One that is pipelined would be kept until its turn comes.
    if (!response.socket) return void socket.destroy();
    const answer = refuse(request, ...fault);
    respond(request, response, fault === tooManyHeaders ? endsConnection(answer) : answer);
  };
}

function headerFault(request: IncomingMessage): readonly [status: number, fault: string] | undefined {
  if (request.rawHeaders.length > 2 * maxHeaders) return tooManyHeaders;
  if (isDelivery(request)) return undefined;
  // Not before: `headers` is made when it is read.
  const { accept = '', 'content-type': type = '' } = request.headers;
  if (type.length > maxMediaType) return longMediaType;
  return accept.length > maxAccepted ? longAccept : undefined;
}

/** Whether the receiver answers the request. */
function isDelivery({ url }: IncomingMessage): boolean {
  return originForm(url!).startsWith(webhookPrefix);
}

/** Why a request is refused for its `Host`. */
export interface HostFault {
  readonly status: 400 | 421;
  readonly message: string;
}

const missing: HostFault = { status: 400, message: 'The header Host is missing.' };
const twice: HostFault = { status: 400, message: 'The header Host must be sent once.' };
const foreign: HostFault = {
  status: 421,
  message: 'This is not a name of this gateway (see ALLOWED_HOSTS).',
};
/** Probes ask by whatever name they know. */
const probes = /^\/(?:livez|readyz)(?:\?|$)/;

/**
 * A check of the `Host` of requests, so that no site can have its own name lead here and read with its pages what the
 * browser may (DNS rebinding). `names` count, without a port and in lower case, and so does any IP literal; all do where
 * it is undefined. Two `Host` headers are never taken: a proxy may have gone by the other. Nor is none in HTTP/1.1
 * (RFC 9112 §3.2): Node.js would refuse that by itself, and go on parsing the thousands that came with it.
 */
export function createHostCheck(
  names: readonly string[] | undefined,
): (request: IncomingMessage) => HostFault | undefined {
  const allowed = names && new Set(names);
  return ({ rawHeaders, headers, httpVersion, url = '' }) => {
    let hosts = 0;
    for (let at = 0; at < rawHeaders.length; at += 2)
      if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts += 1;
    if (hosts > 1) return twice;
    if (hosts === 0 && httpVersion === '1.1') return missing;
    if (!allowed || probes.test(url)) return undefined;
    const name = nameIn(headers.host ?? '');
    return allowed.has(name) || isIP(name) > 0 ? undefined : foreign;
  };
}

/** Has `next` handle the requests at which the check finds no fault; `refuse` gives the answer to the others. */
export function guardHost(
  check: ReturnType<typeof createHostCheck>,
  refuse: Refuse,
  next: RequestListener,
): RequestListener {
  return (request, response) => {
    const fault = check(request);
    if (fault) respond(request, response, refuse(request, fault.status, fault.message));
    else next(request, response);
  };
}

/** The name in a `Host`, without its port, an IPv6 address's brackets and the dot that may end a name. */
function nameIn(host: string): string {
  const [, bracketed, name = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? [];
  return (bracketed ?? name.replace(/\.$/, '')).toLowerCase();
}

/** How many requests of a connection may wait, and how many that have waited are begun in a turn, if they are short. */
export const maxPipelined = 64;
const begunPerTurn = 32;

/**
 * Has `next` handle the requests of a connection one after the other: a client that pipelines them gets no further
 * answer while it does not read the last one. Node.js gives a response the socket when its turn comes, which for short
 * answers is in the same turn of the event loop, and it reads the requests of all connections in one turn: thousands
 * would follow one another, and nobody else be served. So once a turn has been long, requests are begun in later ones,
 * those of each lane in turn; but for probes, and for deliveries that are the first of their connection, since they have
 * turns of their own. Those that wait are charged to the caller that `callerOf` gives.
 */
export function oneAtATime(
  ledger: MemoryLedger,
  callerOf: (request: IncomingMessage) => string,
  laneOf: (request: IncomingMessage) => string,
  next: RequestListener,
): RequestListener {
  const pace = new Pace(begunPerTurn);
  const waitingOf = new WeakMap<Socket, Set<Holding>>();
  /** What waits on a connection. Node.js tells no request of its end once the connection was taken for an upgrade. */
  function waitingOn(socket: Socket): Set<Holding> {
    const holdings = new Set<Holding>();
    waitingOf.set(socket, holdings);
    socket.once('close', () => holdings.forEach((holding) => holding.release()));
    return holdings;
  }
  return (request, response) => {
    const isNext = response.socket !== null;
    const mayBegin = pace.isFree || probes.test(request.url!) || isDelivery(request);
    if (isNext && mayBegin) return next(request, response);
    const { socket, rawHeaders } = request;
    const heap = requestBytes + (rawHeaders.length / 2) * headerBytes;
    // A body that came as a whole is not charged otherwise.
    const buffers = Math.min(announcedLength(request), longReading);
    // Where there is no room to wait it is begun at once: nothing is given up for it, nor it for anything.
    if (isNext && !ledger.hasRoom(callerOf(request), heap, buffers)) return next(request, response);
    const others = waitingOf.get(socket) ?? waitingOn(socket);
    if (others.size === maxPipelined) return socket.destroy();
    const giveUp = isNext ? undefined : () => void socket.destroy();
    const waiting = ledger.open(callerOf(request), 'arriving', giveUp);
    if (!waiting.resize(heap, buffers)) return socket.destroy();
    others.add(waiting);
    const begin = () => {
      others.delete(waiting);
      waiting.release();
      if (!socket.destroyed) next(request, response);
    };
    const beginInTurn = () => void pace.do(begin, laneOf(request));
    return isNext ? beginInTurn() : response.once('socket', beginInTurn);
  };
}

/** The target as path and query, even if it came in absolute form (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const path = target.replace(/^https?:\/\/[^/?]*/i, '');
  return path === '' || path.startsWith('?') ? `/${path}` : path;
}

/** The target's path alone. */
export function pathOf(target: string): string {
  return originForm(target).split('?', 1)[0]!;
}

/** A complete answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Gives the answer to a request that is refused before it reaches a route. */
type Refuse = (request: IncomingMessage, status: number, fault: string) => Answer;

/**
 * Answers, even if the body is not read. The connection is kept if the body is not too long; else it is closed once the body
 * has ended, or `maxDiscardedBytes` of it have arrived: a sender that is cut off while it writes may never see the answer.
 */
export function respond(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
) {
  const length = { 'content-length': Buffer.byteLength(body) };
  const allHeaders = { ...headers, ...length, 'x-content-type-options': 'nosniff' };
  if (request.complete || request.destroyed || announcedLength(request) <= maxBodyBytes) {
    response.writeHead(status, allHeaders).end(body);
    return;
  }
  discard(request);
  request.once('close', () => response.end());
  response.writeHead(status, { ...allHeaders, connection: 'close' }).write(body);
}

/** The announced length of the body; Infinity if it is chunked, since nobody knows then. */
function announcedLength({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Infinity;
  return Number(headers['content-length'] ?? 0);
}

/** How much of an unwanted body is read and discarded: what is allowed, plus 16 MiB that may be in transit. */
const maxDiscardedBytes = 17 * maxBodyBytes;

/** Reads on without keeping anything, and cuts off a sender that does not stop. */
function discard(request: IncomingMessage): void {
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxDiscardedBytes) request.destroy();
  });
}

/** Has `next` answer; if that leaves a body unread, bounds how much more of it is received, as `respond` does. */
export function boundUnreadBody(next: RequestListener): RequestListener {
  return (request, response) => {
    // Before Node.js discards it, which would take no turns.
    if (announcedLength(request) > maxBodyBytes)
      response.prependOnceListener('finish', () => readRest(request));
    next(request, response);
  };
}

function readRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed || request.readableFlowing) return;
  discard(request);
  request.read();
}

/** Refuses an unknown `Expect` header. */
export function refuseExpectation(refuse: Refuse): RequestListener {
  const fault = 'The only expectation that can be met here is 100-continue.';
  return (request, response) => respond(request, response, refuse(request, 417, fault));
}

/** Gives the refusal of a delivery as the webhook receiver does; `refuse` gives that of any other request. */
export function inFormOfReceiver(refuse: Refuse): Refuse {
  return (request, status, fault) =>
    isDelivery(request) ? refusal(status, fault) : refuse(request, status, fault);
}

/** Answers what is not an HTTP request, and closes the connection. */
export function refuseMalformed({ code }: Error & { readonly code?: string }, socket: Socket): void {
  if (code === 'ECONNRESET' || socket.destroyed) return;
  const answer = malformed[code ?? ''] ?? notHttp;
  const headers = { ...answer.headers, ...noStore, 'x-request-id': requestId(undefined) };
  if (socket.writable) socket.write(rawResponse({ ...answer, headers }));
  socket.destroySoon();
}

/** The last answer on a connection, as it is sent where Node.js has no response for it. */
export function rawResponse({ status, headers, body }: Answer): string {
  const all = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' };
  const lines = Object.entries(all).map((header) => `\r\n${header.join(': ')}`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}${lines.join('')}\r\n\r\n${body}`;
}

/** A refusal as the webhook receiver gives it; also used where the path of the request cannot be known. */
function refusal(status: number, message: string): Answer {
  const code = STATUS_CODES[status]!.toUpperCase().replaceAll(' ', '_');
  const body = JSON.stringify({ error: { code, message } });
  return { status, headers: { 'content-type': 'application/json' }, body };
}

/** What comes behind such a request is not read. */
function endsConnection(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, connection: 'close' } };
}

const tooManyHeaders = [431, `There are more than ${maxHeaders} headers.`] as const;
const longMediaType = [415, 'The media type of the body is too long.'] as const;
const longAccept = [406, 'The list of media types in `Accept` is too long.'] as const;
const notHttp = refusal(400, 'This is not a valid HTTP/1.1 request.');
const malformed: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: refusal(431, 'The headers are too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: refusal(408, 'The request took too long to arrive.'),
};
