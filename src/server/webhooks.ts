import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createPace } from '../events/pace.js';
import type { Receiver } from '../events/receiver.js';
import { answer, deliveries } from './door.js';

const mostATurn = 8;

/**
 * Gives the receiver every request below `/webhooks/`, by whatever method, as it came: any type will do, the signature
 * is over the raw bytes, and none of what the other routes have is wanted here. All else goes to `next`. What comes at
 * once is begun a few in a turn, so that a burst of deliveries holds up nobody else.
 */
export function serveWebhooks(receiver: Receiver, next: RequestListener): RequestListener {
  const pace = createPace(mostATurn);
  const take = takeBy(receiver);
  return (request, response) => {
    if (request.url!.startsWith(deliveries)) pace(() => void take(request, response));
    else next(request, response);
  };
}

/** Answers as the receiver says. */
function takeBy(receiver: Receiver) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, , family = '', id = '', ...more] = request.url!.split('?', 1)[0]!.split('/');
    const said = await receiver.receive({
      family,
      endpointId: more.length === 0 ? decode(id) : '',
      method: request.method ?? '',
      rawHeaders: request.rawHeaders,
      body: request,
    });
    answer(request, response, said);
  };
}

/** A segment of a path; empty, as no id is, where it cannot be decoded. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
