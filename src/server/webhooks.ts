import type { RequestListener } from 'node:http';
import type { Receiver } from '../events/receiver.js';
import { answer } from './door.js';

const mostATurn = 8;

/**
 * Gives the receiver every request below `/webhooks/`, by whatever method, as it came: any type will do, the signature
 * is over the raw bytes, and none of what the other routes have is wanted here. All else goes to `next`. What comes at
 * once is begun a few in a turn, so that a burst of deliveries holds up nobody else.
 */
export function serveWebhooks(receiver: Receiver, next: RequestListener): RequestListener {
  const pace = createPace();
  const take = takeBy(receiver);
  return (request, response) => {
    if (request.url!.startsWith('/webhooks/')) pace(() => void take(request, response));
    else next(request, response);
  };
}

/** Answers as the receiver says. */
function takeBy(receiver: Receiver) {
  return async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
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

/** Begins what it is given in the order of asking, a few in each turn of the event loop. */
function createPace(): (work: () => void) => void {
  const waiting: (() => void)[] = [];
  const run = () => {
    for (const work of waiting.splice(0, mostATurn)) work();
    if (waiting.length > 0) setImmediate(run);
  };
  return (work) => {
    if (waiting.push(work) === 1) setImmediate(run);
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
