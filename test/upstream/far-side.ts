import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Upstream, UpstreamAnswer, UpstreamRequest } from '../../src/upstream/http.js';

/** A request as the far side got it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly port: number | undefined;
}

/** A service whose every answer a test writes. */
export interface FarSide {
  readonly url: string;
  readonly received: Received[];
  /** The caller's ports of the connections that are open. */
  readonly open: ReadonlySet<number | undefined>;
  /** What to do with the next requests. */
  answer: (response: http.ServerResponse, request: Received) => void;
  stop(): Promise<void>;
}

/** Starts a far side that answers `{}` until it is told otherwise. */
export async function startFarSide(): Promise<FarSide> {
  const server = http.createServer((message, response) => {
    let body = '';
    message.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    message.on('end', () => {
      const { method = '', url = '', headers, socket } = message;
      const request = { method, url, headers, body, port: socket.remotePort };
      farSide.received.push(request);
      farSide.answer(response, request);
    });
  });
  const open = new Set<number | undefined>();
  server.on('connection', (socket) => {
    const { remotePort } = socket;
    open.add(remotePort);
    socket.on('close', () => open.delete(remotePort));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const farSide: FarSide = {
    url: `http://127.0.0.1:${port}/base/v1`,
    received: [],
    open,
    answer: (response) => void response.end('{}'),
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return farSide;
}

/** Answers with this status, body and headers. */
export function answering(
  status: number,
  body = '',
  headers: http.OutgoingHttpHeaders = {},
): FarSide['answer'] {
  return (response) => void response.writeHead(status, headers).end(body);
}

/** Begins an answer of this status, and ends the connection in the middle of its body. */
export function cutting(status: number): FarSide['answer'] {
  return (response) => {
    response.writeHead(status, { 'content-length': 100 });
    response.write('{"a":', () => response.destroy());
  };
}

/** The answer to a request, as it is. */
export function answerOf(upstream: Upstream, request: UpstreamRequest): Promise<UpstreamAnswer> {
  return upstream.ask(request, (answer) => answer);
}
