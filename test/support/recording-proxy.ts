import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A service behind a proxy that records the headers of each request. */
export async function startRecordingProxy(target: string) {
  const seen: { readonly path: string; readonly headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      seen.push({ path: request.url!, headers: request.headers });
      const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
      const body = await buffer(request);
      const answer = await fetch(`${target}${request.url}`, {
        method: request.method!,
        headers: headers as Record<string, string>,
        ...(body.length > 0 && { body }),
      });
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(Buffer.from(await answer.arrayBuffer()));
    })();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
