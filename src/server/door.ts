import { IncomingMessage, STATUS_CODES, type RequestListener, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { mostDiscarded } from '../events/request.js';

/** Where websockets are. */
const websocketPath = '/graphql';
/** What is below this is for the receiver. */
export const deliveries = '/webhooks/';

/**
 * A request that counts as an upgrade only if it asks for a websocket at its place, by GET (RFC 6455 §4.1): any other
 * protocol that it offers is ignored (RFC 9110 §7.8), and the request answered like any other. Node.js reads `upgrade`
 * once the headers are there.
 */
export class IncomingRequest extends IncomingMessage {
  private offered: boolean | null | undefined;

  get upgrade(): boolean {
    if (!this.offered) return false;
    if (this.method === 'CONNECT') return true;
    if (this.method !== 'GET' || pathOf(this.url!) !== websocketPath) return false;
    return this.headers.upgrade?.toLowerCase() === 'websocket';
  }

  set upgrade(offered: boolean | null) {
    this.offered = offered;
  }
}

/** The target as path and query, even if it came with the host before it (RFC 9112 §3.2.2). */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const path = target.replace(/^https?:\/\/[^/?]*/i, '');
  return path === '' || path.startsWith('?') ? `/${path}` : path;
}

function pathOf(target: string): string {
  return originForm(target).split('?', 1)[0]!;
}

/** An answer whose body is at hand. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** So much of an unwanted body is waited for before a connection is kept. */
const smallBody = 1024 * 1024;
const watchMs = 50;

/**
 * Answers, even if the body is not read. The connection stays if little of the body is left; else it ends, after as
 * much as a sender may have under way: one that is cut off while it writes may never see the answer.
 */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
) {
  const length = { 'content-length': Buffer.byteLength(body) };
  const more = { ...headers, ...length, 'x-content-type-options': 'nosniff' };
  if (request.complete || request.destroyed || restOf(request) <= smallBody) {
    response.writeHead(status, more).end(body);
    return;
  }
  discard(request);
  request.once('close', () => response.end());
  response.writeHead(status, { ...more, connection: 'close' }).write(body);
}

/** How much is announced; without a length, the end may be far away. */
function restOf({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Infinity;
  return Number(headers['content-length'] ?? 0);
}

/** Reads on without keeping anything, and cuts off a sender that does not end. */
function discard(request: IncomingMessage): void {
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > mostDiscarded) request.destroy();
  });
}

/** Has `next` answer; if that leaves a body unread, bounds what still comes of it, as `answer` does. */
export function boundRest(next: RequestListener): RequestListener {
  return (request, response) => {
    if (restOf(request) > smallBody) response.once('finish', () => watchRest(request));
    next(request, response);
  };
}

/** Node.js discards what was left unread, and shows it to nobody: only the socket tells how much it is. */
function watchRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  const most = socket.bytesRead + mostDiscarded;
  const watch = setInterval(() => socket.bytesRead > most && request.destroy(), watchMs).unref();
  request.once('close', () => clearInterval(watch));
}

/** Refuses an expectation that nobody here knows; `refuse` gives the answer where it is none of the receiver's. */
export function refuseExpectation(
  refuse: (request: IncomingMessage, status: number, fault: string) => Answer,
): RequestListener {
  const fault = 'Nothing is expected here but 100-continue.';
  const ofReceiver = refusal(417, 'EXPECTATION_FAILED', fault);
  return (request, response) => {
    const isDelivery = originForm(request.url!).startsWith(deliveries);
    answer(request, response, isDelivery ? ofReceiver : refuse(request, 417, fault));
  };
}

/** Answers what is no request, and ends the connection. */
export function refuseMalformed({ code }: Error & { readonly code?: string }, socket: Socket): void {
  if (code === 'ECONNRESET' || socket.destroyed) return;
  const { status, headers, body } = malformed[code ?? ''] ?? notHttp;
  const lines = Object.entries({
    ...headers,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines.map((line) => line.join(': '))];
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  socket.destroySoon();
}

/** As the receiver of webhooks refuses: whose path this is cannot be known. */
function refusal(status: number, code: string, message: string): Answer {
  const body = JSON.stringify({ error: { code, message } });
  return { status, headers: { 'content-type': 'application/json' }, body };
}

const notHttp = refusal(400, 'BAD_REQUEST', 'This is not a request of HTTP/1.1.');
const malformed: Readonly<Record<string, Answer>> = {
  HPE_HEADER_OVERFLOW: refusal(431, 'HEADERS_TOO_LARGE', 'The headers are too large.'),
  ERR_HTTP_REQUEST_TIMEOUT: refusal(408, 'REQUEST_TIMEOUT', 'The request took too long to come.'),
};
