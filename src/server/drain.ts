import type { Server, ServerResponse } from 'node:http';
import { Server as Listener, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

/** The end of an HTTP server that turns nobody away. */
export interface Drain {
  /** Whether it has begun. */
  readonly begun: boolean;
  /** Hears of every connection that is let in, as `connection` of its server. */
  readonly meet: (socket: Socket) => void;
  /** Waits for this answer too; its connection has been met. */
  follow(response: ServerResponse): void;
  /**
   * Lets in those who have connected, then listens no more, answers what still comes on open connections, and ends
   * them; what is not answered within some seconds is cut off. Upgraded connections are left to `retire`, for which it
   * waits as long.
   */
  run(server: Server, retire?: () => Promise<void>): Promise<void>;
}

/** How long a connection without a request stays, for one that is on its way. */
const graceMs = 500;
const patienceMs = 6_500;
/** A steady stream of connections must not keep it from beginning. */
const longestLettingInMs = 500;
const lettingGoMs = 1_000;

/**
 * A drain; it must hear of every connection, and of every answer that is begun. `cutOff` hears how many were not given
 * in time.
 */
export function createDrain(cutOff: (answers: number) => void = () => undefined): Drain {
  /**
   * The latest response of each connection, the last to finish on it, kept until it has. Finished ones are swept now
   * and then: to follow each, or to hold each by a weak reference, would take longer.
   */
  const latest = new Map<Socket, ServerResponse>();
  const lettingGo = setInterval(letGoOfGiven, lettingGoMs).unref();
  let begun = false;
  /** Turns since somebody was let in. */
  let quiet = 0;

  function letGoOfGiven(): void {
    for (const [socket, { writableFinished }] of latest) if (writableFinished) latest.delete(socket);
  }

  /** One for all connections: otherwise each of many websockets would have its own. */
  function letGoOfClosed(this: Socket): void {
    latest.delete(this);
  }

  function unanswered(): readonly ServerResponse[] {
    letGoOfGiven();
    return [...latest.values()];
  }

  /**
   * Connections that wait to be accepted (one a turn) would be reset once nobody listens. The first turn may have
   * polled before they came, so the second decides.
   */
  async function letIn(): Promise<void> {
    const until = performance.now() + longestLettingInMs;
    for (quiet = 0; quiet < 2 && performance.now() < until; quiet += 1) await turn();
  }

  return {
    meet(socket) {
      quiet = 0;
      socket.on('close', letGoOfClosed);
    },
    get begun() {
      return begun;
    },
    follow(response) {
      latest.set(response.req.socket, response);
      if (begun) endConnection(response);
    },
    async run(server, retire) {
      await letIn();
      begun = true;
      clearInterval(lettingGo);
      const closed = new Promise((resolve) => server.once('close', resolve));
      // If `localhost` has two addresses, this is how Fastify's second server hears that it must end.
      server.unref();
      // Not its own `close`: that ends idle connections at once, and on one there may be a request on its way.
      Listener.prototype.close.call(server);
      unanswered().forEach(endConnection);
      await Promise.race([closed, sleep(graceMs)]);
      await turn(); // in which what has come by now is read: its connection is not idle
      server.closeIdleConnections();
      // Looked for only now: what was quiet during the grace may be so no longer.
      const late = sleep(patienceMs, true, { ref: false });
      const retired = retire?.();
      for (let open = unanswered(); open.length > 0; open = unanswered())
        if ((await Promise.race([Promise.all(open.map(ended)), late])) === true) break;
      await Promise.race([retired, late]);
      const { length } = unanswered();
      if (length > 0) cutOff(length);
      server.closeAllConnections();
    },
  };
}

/** Has the connection end with this answer, and tells the client so. */
function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

/** Resolves when it was sent, or its client has gone. */
function ended(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    response.req.socket.once('close', resolve);
  });
}
