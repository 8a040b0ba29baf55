import http from 'node:http';
import { inspect } from 'node:util';
import type { Clock } from './clock.js';
import { type createFaults, applyFault, send } from './faults.js';
import { answer, HttpError, json, readBody, type Route, type ServiceName } from './http.js';
import type { Guard } from './control-access.js';
import { appendBounded } from './bounded-history.js';

/** A request that was received, without its credentials. */
export interface Call {
  readonly service: ServiceName;
  readonly method: string;
  /** Below the service's prefix, with its query string. */
  readonly path: string;
  /** Milliseconds since 1970, on the sandbox's clock. */
  readonly at: number;
}

/** Routes below a prefix; those without a service are neither recorded nor subject to faults. */
export interface Mount {
  readonly prefix: string;
  readonly service?: ServiceName;
  /** Who may use the routes; everybody if absent. */
  readonly guard?: Guard;
  readonly routes: readonly Route[];
}

/** A server that records calls, applies faults to them, and otherwise answers by its routes. */
export function createListener(
  mounts: readonly Mount[],
  clock: Clock,
  faults: ReturnType<typeof createFaults>,
  calls: Call[],
): http.Server {
  return http.createServer((request, response) => {
    receive(request, response).catch((error: unknown) => {
      if (error instanceof HttpError) return send(response, error.answer);
      // Otherwise the caller has gone.
      if (!response.destroyed) process.stderr.write(`The sandbox failed: ${inspect(error)}\n`);
      if (response.headersSent) response.destroy();
      else send(response, json(500, { error: { code: 'broken', message: 'The sandbox failed.' } }));
    });
  });

  async function receive(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const target = request.url ?? '/';
    const mount = mounts.find(({ prefix }) => target.startsWith(`${prefix}/`));
    const path = target.slice(mount?.prefix.length ?? 0);
    const act = mount?.service && record(mount.service, request.method ?? 'GET', path);
    const { refusal, headers = {} } = mount?.guard?.(request) ?? {};
    response.setHeaders(new Map(Object.entries(headers)));
    if (refusal) return send(response, refusal);
    const body = await readBody(request);
    const handle = () => answer(mount?.routes ?? [], request, new URL(path, 'http://sandbox'), body);
    if (act) await applyFault(act, response, clock, handle);
    else send(response, await handle());
  }

  function record(service: ServiceName, method: string, path: string) {
    const call = { service, method, path, at: clock.now() };
    appendBounded(calls, call);
    return faults.take(call);
  }
}
