import { existsSync, readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { namesPage } from '../operation/content-negotiation.js';
import type { PageSettings, Pages } from './pages.js';
import { serveReading } from '../http/routes.js';

/** What the front door leads to. */
export interface FrontDoor {
  readonly built: Pages;
  /** The folder of the built pages. */
  readonly pages: URL;
  readonly pageSettings: PageSettings;
  /** The port of `/metrics`, if it has one of its own. */
  readonly metricsPort: number | undefined;
  /** The gateway's own address, as clients reach it. */
  address(): string;
}

const iconCache = 'public, max-age=86400';

/**
 * `/`: the console for a client that accepts a page, the addresses of everything for all others. `/graphql/` leads to
 * `/graphql`, with the same method and body. `/favicon.ico`: the icon of the pages.
 */
export function serveFrontDoor(routes: FastifyInstance, door: FrontDoor): void {
  serveReading(routes, '/', (request, reply) => {
    void reply.header('vary', 'accept');
    return namesPage(request.headers.accept) ? door.built.console(reply) : reply.send(addressesOf(door));
  });
  routes.all('/graphql/', {
    onRequest: async (request, reply) => reply.redirect(`/graphql${queryOf(request.url)}`, 308),
    handler: async () => undefined,
  });
  const file = new URL('favicon.ico', door.pages);
  const icon = existsSync(file) ? readFileSync(file) : undefined;
  serveReading(routes, '/favicon.ico', (_, reply) =>
    icon === undefined
      ? reply.callNotFound()
      : reply.header('cache-control', iconCache).type('image/x-icon').send(icon),
  );
}

function queryOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at);
}

function addressesOf({ pageSettings, metricsPort, address }: FrontDoor) {
  const base = address();
  const at = (path: string) => `${base}${path}`;
  return {
    name: 'Trivium',
    version: pageSettings.version,
    console: at('/'),
    graphql: at('/graphql'),
    websocket: at('/graphql').replace(/^http/, 'ws'),
    stream: at('/graphql/stream'),
    schema: at('/schema.graphql'),
    client: at('/client.tgz'),
    docs: at('/docs'),
    webhooks: Object.keys(pageSettings.signatureTimes).map((family) => at(`/webhooks/${family}/:id`)),
    health: [at('/livez'), at('/readyz')],
    ...(metricsPort === undefined && { metrics: at('/metrics') }),
    ...(pageSettings.sandbox && { sandbox: pageSettings.sandbox.url }),
  };
}
