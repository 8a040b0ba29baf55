import type { Server, ServerResponse } from 'node:http';
import { Server as Listener, type Socket } from 'node:net';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';

/** What a shutdown does besides waiting for the responses under way. */
export interface ShutdownSteps {
  /** Called when it begins to wait for them: ends the upgraded connections, within the same time. */
  readonly retire: () => Promise<void>;
  /** Called a second before the rest is cut off: makes what is in progress end, if only with an error. */
  readonly hurry: () => void;
  /** Called with how many responses did not finish in time, if any. */
  readonly onCutOff: (responses: number) => void;
}

/** How long an idle connection stays open, for a request that may be on its way. */
const graceMs = 500;
/** Of all that it does; `maxStopMs` of the gateway is longer. */
const timeoutMs = 7_000;
/** What is hurried has the rest of the time for its answer. */
const hurryMs = 6_000;
/** Bounds the accepting: a steady stream of connections must not put off the shutdown. */
const maxAcceptMs = 2_000;
/** A turn of the event loop that takes longer did something, meanwhile a connection may have come. */
const emptyTurnMs = 0.1;
const sweepMs = 1_000;

/**
 * The graceful end of an HTTP server: no client that has connected is turned away. It must be told of every connection
 * and every response.
 */
export class GracefulShutdown {
  /**
   * The latest response of each connection, which is the last to finish on it, until it has. Finished ones are swept
   * from time to time: a listener or a weak reference for each would be slower.
   */
  readonly #latest = new Map<Socket, ServerResponse>();
  readonly #sweep = setInterval(() => this.#forgetFinished(), sweepMs).unref();
  #begun = false;
  /** One listener for all connections, not a closure for each of many websockets. */
  readonly #forgetClosed: (this: Socket) => void;
  /** Whether a connection was accepted in this turn of the event loop. */
  #hasAccepted = false;

  constructor() {
    const latest = this.#latest;
    this.#forgetClosed = function () {
      latest.delete(this);
    };
  }

  /** The `connection` listener of the server: must be called with every connection. */
  readonly onConnection = (socket: Socket): void => {
    this.#hasAccepted = true;
    socket.on('close', this.#forgetClosed);
  };

  /** Whether it has begun. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Has the shutdown wait for this response; `onConnection` was called with its connection before. */
  track(response: ServerResponse): void {
    const { socket } = response.req;
    const before = this.#latest.get(socket);
    this.#latest.set(socket, response);
    if (!this.#begun) return;
    // Pipelined behind one whose headers are not made yet: only the last response closes the connection.
    if (before?.headersSent === false) before.removeHeader('connection');
    endConnection(response);
  }

  /**
   * Accepts the connections that are pending, stops listening, answers requests that still arrive on open connections,
   * and closes these; responses that do not finish within some seconds are hurried, then cut off.
   */
  async run(server: Server, { retire, hurry, onCutOff }: ShutdownSteps): Promise<void> {
    const late = sleep(timeoutMs, true, { ref: false });
    const hurrying = setTimeout(hurry, hurryMs).unref();
    await this.#acceptPending();
    this.#begun = true;
    clearInterval(this.#sweep);
    const closed = new Promise((resolve) => server.once('close', resolve));
    // If `localhost` has two addresses, this makes Fastify close its second server.
    server.unref();
    // Not `server.close`: that closes idle connections at once, though a request may be on its way on one.
    Listener.prototype.close.call(server);
    this.#unanswered().forEach(endConnection);
    await Promise.race([closed, sleep(graceMs)]);
    await turn(); // reads requests that have arrived by now, whose connections are not idle then
    server.closeIdleConnections();
    // Responses are looked for only now: a connection that was idle before may have one.
    const retired = retire();
    for (let open = this.#unanswered(); open.length > 0; open = this.#unanswered())
      if ((await Promise.race([Promise.all(open.map(ended)), late])) === true) break;
    await Promise.race([retired, late]);
    clearTimeout(hurrying);
    const { length } = this.#unanswered();
    if (length > 0) onCutOff(length);
    server.closeAllConnections();
  }

  #forgetFinished(): void {
    for (const [socket, { writableFinished }] of this.#latest)
      if (writableFinished) this.#latest.delete(socket);
  }

  #unanswered(): readonly ServerResponse[] {
    this.#forgetFinished();
    return [...this.#latest.values()];
  }

  /**
   * Connections that wait to be accepted (one a turn) would be reset when the server stops listening: it stops right
   * after turns that had nothing to do. The first turn may have polled before they came, so there is always a second.
   */
  async #acceptPending(): Promise<void> {
    let before = performance.now();
    const until = before + maxAcceptMs;
    let emptyTurns = 0;
    for (let turns = 0; turns < 2 || (emptyTurns < 2 && before < until); turns += 1) {
      this.#hasAccepted = false;
      await turn();
      const now = performance.now();
      emptyTurns = this.#hasAccepted || now - before > emptyTurnMs ? 0 : emptyTurns + 1;
      before = now;
    }
  }
}

/** Closes the connection after this response, and tells the client so. */
function endConnection(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

/** Resolves when the response was sent, or its client has gone. */
function ended(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    response.req.socket.once('close', resolve);
  });
}
