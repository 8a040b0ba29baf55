import { probe } from '../../client/core/live.js';
import type { ConnectionMonitor } from './connection.js';

/** A connection that can be watched, and cut as a network would cut it. */
export interface Wire {
  /** The class of its sockets. */
  readonly Socket: typeof WebSocket;
  /** Fetches, and watches the streams that stand in for sockets where a proxy lets none through. */
  readonly fetch: typeof fetch;
  /** Closes what is open, and whatever is opened until `mend`. */
  cut(): void;
  mend(): void;
}

/** Tells `monitor` what becomes of each socket and stream. */
export function createWire(monitor: ConnectionMonitor): Wire {
  const links = new Links(monitor);
  return {
    Socket: watchedSocket(links),
    fetch(...request) {
      if (isStream(request[0])) return fetchStream(links, request);
      // Else the client would take it that only websockets are not let through, and go on without them for good.
      if (links.isCut && isProbe(request[1])) return Promise.reject(new TypeError('The connection is cut.'));
      return fetch(...request);
    },
    cut: () => links.cut(),
    mend: () => links.mend(),
  };
}

/** What ends a socket or a stream; its identity stands for it. */
type End = () => void;

/** The sockets and streams that there are. */
class Links {
  readonly #open = new Set<End>();
  readonly #accepted = new Set<End>();
  readonly #monitor: ConnectionMonitor;
  isCut = false;

  constructor(monitor: ConnectionMonitor) {
    this.#monitor = monitor;
  }

  opening(end: End): void {
    this.#open.add(end);
    this.#monitor.connecting();
    if (this.isCut) end();
  }

  accepted(end: End): void {
    if (!this.#open.has(end)) return;
    this.#accepted.add(end);
    if (this.#accepted.size === 1) this.#monitor.connected();
  }

  closed(end: End): void {
    this.#accepted.delete(end);
    if (this.#open.delete(end) && this.#accepted.size === 0) this.#monitor.closed();
  }

  cut(): void {
    this.isCut = true;
    this.#monitor.cut();
    for (const end of this.#open) end();
  }

  mend(): void {
    this.isCut = false;
    this.#monitor.mended();
  }
}

function watchedSocket(links: Links): typeof WebSocket {
  return class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      const end = (): void => this.close();
      this.addEventListener('message', ({ data }) => {
        if (typeof data === 'string' && data.includes('"connection_ack"')) links.accepted(end);
      });
      this.addEventListener('close', () => links.closed(end));
      links.opening(end);
    }
  };
}

/** Whether the client asks only if the gateway answers at all, where no websocket opens. */
function isProbe(init: RequestInit | undefined): boolean {
  return typeof init?.body === 'string' && init.body.includes(probe);
}

function isStream(address: RequestInfo | URL): boolean {
  const url = address instanceof Request ? address.url : address.toString();
  return url.endsWith('/graphql/stream');
}

async function fetchStream(links: Links, [address, init]: Parameters<typeof fetch>): Promise<Response> {
  const cutting = new AbortController();
  const end = (): void => cutting.abort();
  const signal = AbortSignal.any([cutting.signal, ...(init?.signal ? [init.signal] : [])]);
  signal.addEventListener('abort', () => links.closed(end));
  links.opening(end);
  const response = await fetch(address, { ...init, signal }).catch((cause: unknown) => {
    links.closed(end);
    throw cause;
  });
  const { body, headers } = response;
  if (!body || !headers.get('content-type')?.startsWith('text/event-stream')) {
    links.closed(end);
    return response;
  }
  links.accepted(end);
  return new Response(watched(body, () => links.closed(end)), response);
}

/** The same bytes; tells when there are no more, for whatever reason. */
function watched(body: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        ended();
        return controller.close();
      } catch (cause) {
        ended();
        throw cause;
      }
    },
    cancel(reason) {
      ended();
      return reader.cancel(reason);
    },
  });
}
