import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { textFormat } from '../../lib/telemetry/metrics.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { serveReading } from './routes.js';

/** Serves `/metrics` beside the other routes. */
export function serveMetrics(routes: FastifyInstance, { metrics }: Pick<Telemetry, 'metrics'>): void {
  serveReading(routes, '/metrics', async (_, reply) =>
    reply.type(textFormat).send(await metrics.recentText()),
  );
}

/**
 * Serves `/metrics`, and nothing else, at a port of its own, until the process has stopped: also while it drains.
 * Undefined without such a port; rejects if it cannot listen there.
 */
export async function startMetricsServer(options: {
  readonly host: string;
  readonly metricsPort: number | undefined;
  readonly telemetry: Telemetry;
  /** Makes a server whose requests are bounded as those of the main port. */
  readonly createServer: (handle: RequestListener) => Server;
}): Promise<Server | undefined> {
  const { host, metricsPort, telemetry, createServer } = options;
  if (metricsPort === undefined) return undefined;
  const server = createServer((request, response) => {
    const [path] = request.url!.split('?');
    if (path !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    telemetry.metrics.recentText().then(
      (text) =>
        response.writeHead(200, { 'content-type': textFormat, 'cache-control': 'no-store' }).end(text),
      (err: unknown) => {
        telemetry.log.error({ err }, 'the metrics could not be read');
        response.writeHead(500).end();
      },
    );
  });
  server.listen({ host, port: metricsPort });
  await once(server, 'listening');
  return server.unref();
}
