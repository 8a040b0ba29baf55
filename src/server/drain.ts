import type { Server, ServerResponse } from 'node:http';
import { Server as Listener } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** The end of an HTTP server that turns nobody away. */
export interface Drain {
  /** Whether it has begun. */
  readonly begun: boolean;
  /** Waits for this answer too. */
  follow(response: ServerResponse): void;
  /**
   * Listens no more, answers what still comes on open connections, and ends them; what is not answered within some
   * seconds is cut off. Upgraded connections are left alone.
   */
  run(server: Server): Promise<void>;
}

/** How long a connection without a request stays, for one that is on its way. */
const graceMs = 500;
const patienceMs = 5_000;

/**
 * An answer that is not yet given. It is let go of by itself: what a `Set` was before it grew lingers until a full
 * garbage collection, and with it would all that ever was in it.
 */
interface Held {
  response: ServerResponse | undefined;
}

/** A drain, which is to be told of every answer that is begun. */
export function createDrain(): Drain {
  const open = new Set<Held>();
  let begun = false;
  let hearQuiet = () => {};

  return {
    get begun() {
      return begun;
    },
    follow(response) {
      const held: Held = { response };
      open.add(held);
      if (begun) endConnection(held);
      response.once('close', () => {
        held.response = undefined;
        open.delete(held);
        if (open.size === 0) hearQuiet();
      });
    },
    async run(server) {
      begun = true;
      const closed = new Promise((resolve) => server.once('close', resolve));
      // Where `localhost` has two addresses, this is how Fastify's second server hears that it must end.
      server.unref();
      // Not its own `close`: that ends idle connections at once, and on one there may be a request on its way.
      Listener.prototype.close.call(server);
      open.forEach(endConnection);
      await Promise.race([closed, sleep(graceMs)]);
      server.closeIdleConnections();
      // Heard only from here on: what was quiet during the grace may be so no longer.
      const quiet = new Promise<void>((resolve) => (hearQuiet = resolve));
      if (open.size > 0) await Promise.race([quiet, sleep(patienceMs, undefined, { ref: false })]);
      server.closeAllConnections();
    },
  };
}

/** Has the connection end with this answer, and the client told so. */
function endConnection({ response }: Held): void {
  if (response?.headersSent === false) response.setHeader('connection', 'close');
}
