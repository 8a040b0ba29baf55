import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Upstream, UpstreamAnswer, UpstreamRequest } from '../../src/upstream/client.js';

/** A request as the service received it. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly port: number | undefined;
}

/** A fake service whose answers a test decides. */
export interface FakeService {
  readonly url: string;
  readonly received: Received[];
  /** The client's ports of the open connections. */
  readonly open: ReadonlySet<number | undefined>;
  /** Answers every request from now on. */
  answer: (response: http.ServerResponse, request: Received) => void;
  stop(): Promise<void>;
}

/** Starts a fake service that answers `{}` until `answer` is replaced. */
export async function startFakeService(): Promise<FakeService> {
  const server = http.createServer((message, response) => {
    let body = '';
    message.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    message.on('end', () => {
      const { method = '', url = '', headers, socket } = message;
      const request = { method, url, headers, body, port: socket.remotePort };
      service.received.push(request);
      service.answer(response, request);
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
  const service: FakeService = {
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
  return service;
}

/** Answers with this status, body and headers. */
export function answering(
  status: number,
  body = '',
  headers: http.OutgoingHttpHeaders = {},
): FakeService['answer'] {
  return (response) => void response.writeHead(status, headers).end(body);
}

/** Begins an answer with this status, and closes the connection in the middle of its body. */
export function cutting(status: number): FakeService['answer'] {
  return (response) => {
    response.writeHead(status, { 'content-length': 100 });
    response.write('{"a":', () => response.destroy());
  };
}

/** Makes a call, and returns the answer unread. */
export function answerOf(upstream: Upstream, request: UpstreamRequest): Promise<UpstreamAnswer> {
  return upstream.ask(request, (answer) => answer);
}
