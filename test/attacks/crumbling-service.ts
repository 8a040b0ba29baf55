/** The process of a service that passes another one's answers on in chunks of one byte: is told its address, prints its own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const [base = ''] = process.argv.slice(2);
const target = new URL(base);

const server = createServer((request, response) => {
  void (async () => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const headers = Object.entries(request.headers)
      .filter(([name]) => !['host', 'connection', 'content-length', 'transfer-encoding'].includes(name))
      .map(([name, value]) => [name, String(value)] as [string, string]);
    const method = request.method ?? 'GET';
    const answer = await fetch(new URL(request.url ?? '/', target.origin), {
      method,
      headers,
      ...(parts.length > 0 && { body: Buffer.concat(parts) }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    const kept = ['content-type', 'ratelimit', 'retry-after', 'x-ratelimit-remaining'];
    response.writeHead(
      answer.status,
      Object.fromEntries([...answer.headers].filter(([name]) => kept.includes(name))),
    );
    // Each write is a chunk of its own; corked, they go out together.
    for (let at = 0; at < body.length; at += 8_192) {
      response.cork();
      for (const byte of body.subarray(at, at + 8_192)) response.write(Buffer.of(byte));
      response.uncork();
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  })().catch(() => response.destroy());
});

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}${target.pathname}\n`);
});
