import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Pace } from '../../lib/async/pace.js';
import { endpointCaller } from '../../lib/memory/memory-ledger.js';
import type { Receiver } from '../../events/webhooks/receiver.js';
import type { ClientConnections } from './client-connections.js';
import { respond, webhookPrefix } from './request-guards.js';

const maxPerTurn = 8;

/**
 * Gives the receiver every request below `/webhooks/`, by whatever method, as it came: any content type will do, the
 * signature covers the raw bytes, and the hooks of other routes are not wanted. All else goes to `next`. Requests that
 * come together are begun a few in each turn of the event loop, so that a burst of deliveries holds up nobody else.
 */
export function serveWebhooks(
  receiver: Receiver,
  connections: Pick<ClientConnections, 'protect'>,
  next: RequestListener,
): RequestListener {
  const pace = new Pace(maxPerTurn);

  async function take(request: IncomingMessage, response: ServerResponse, began: number): Promise<void> {
    // A slash at the end changes nothing.
    const path = request.url!.split('?', 1)[0]!.replace(/\/$/, '');
    const [, , family = '', id = '', ...more] = path.split('/');
    const answered = await receiver.receive({
      family,
      endpointId: more.length === 0 ? decode(id) : '',
      method: request.method!,
      rawHeaders: request.rawHeaders,
      body: request,
      began,
    });
    if (answered.status === 200) connections.protect(request.socket, endpointCaller(family, id));
    respond(request, response, answered);
  }

  return (request, response) => {
    if (!request.url!.startsWith(webhookPrefix)) return next(request, response);
    const began = performance.now();
    void pace.do(() => take(request, response, began));
  };
}

/** A segment of a path, decoded; empty, as no id is, where it cannot be. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
