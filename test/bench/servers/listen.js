import { createServer } from 'node:http';

/** As long as the gateway's: a server that is busy for longer would close connections on which a request waits. */
const keepAliveTimeout = 72_000;

/**
 * Answers every request with what `answer(request, body)` returns, and prints the server's address. With `stream`, the
 * answer is left to that function.
 */
export function listen(answer) {
  const server = createServer({ keepAliveTimeout }, (request, response) => {
    const chunks = [];
    const reply = ({ status = 200, body, stream }) => {
      if (stream) {
        stream(response);
        return;
      }
      response.writeHead(status, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    };
    const fail = (error) => reply({ status: 500, body: String(error) });
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      answer(request, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)).then(reply, fail);
    });
  });
  server.listen(0, '127.0.0.1', () => announce(server));
  return server;
}

/** Prints where a server listens. */
export function announce(server) {
  process.stdout.write(`listening on http://127.0.0.1:${server.address().port}\n`);
}
