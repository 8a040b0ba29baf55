import type { ServerResponse } from 'node:http';
import type { Clock } from './clock.js';
import type { Answer, ServiceName } from './http.js';

/** A way to misbehave. */
export type FaultAction =
  /** Never answers. */
  | { readonly kind: 'hang' }
  /** Drops the connection at once. */
  | { readonly kind: 'refuse' }
  /** Handles the request, then drops the connection in the middle of the response body. */
  | { readonly kind: 'cut'; readonly afterBytes?: number }
  /** Answers this instead of handling the request. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly contentType?: string;
    }
  /** Waits (on the sandbox's clock), then does `act`; without one, handles the request as usual. */
  | { readonly kind: 'delay'; readonly ms: number; readonly act?: FaultAction }
  /** Handles the request (it takes effect), and only then does `act`. */
  | { readonly kind: 'afterwards'; readonly act: FaultAction };

/** Which requests to misbehave on, how many times (by default without end), and how. */
export interface Fault {
  readonly service: ServiceName;
  readonly method?: string;
  /** Matched against the path below the service's prefix, including its query string. */
  readonly path?: RegExp;
  readonly times?: number;
  readonly act: FaultAction;
}

/** The faults in force. */
export interface Faults {
  /** Adds a fault, after those added before; returns a function that removes it. */
  add(fault: Fault): () => void;
  /** Removes every fault. */
  clear(): void;
}

/** The request that a fault is matched against. */
interface Asked {
  readonly service: ServiceName;
  readonly method: string;
  readonly path: string;
}

/** Faults, and for the listener `take`, which uses the first fault that matches, once. */
export function createFaults(): Faults & { take(asked: Asked): FaultAction | undefined } {
  const inForce = new Map<Fault, number>();

  function take(asked: Asked): FaultAction | undefined {
    for (const [fault, left] of inForce) {
      if (!matches(fault, asked)) continue;
      if (left > 1) inForce.set(fault, left - 1);
      else inForce.delete(fault);
      return fault.act;
    }
    return undefined;
  }

  function add(fault: Fault): () => void {
    const own = { ...fault };
    inForce.set(own, fault.times ?? Infinity);
    return () => void inForce.delete(own);
  }

  return { add, clear: () => inForce.clear(), take };
}

function matches(fault: Fault, asked: Asked): boolean {
  if (fault.service !== asked.service) return false;
  if (fault.method && fault.method !== asked.method) return false;
  return !fault.path || asked.path.search(fault.path) >= 0;
}

/** Misbehaves on one response; `handle` produces the regular answer. */
export async function applyFault(
  act: FaultAction,
  response: ServerResponse,
  clock: Clock,
  handle: () => Promise<Answer>,
): Promise<void> {
  switch (act.kind) {
    case 'hang':
      return;
    case 'refuse':
      response.destroy();
      return;
    case 'cut':
      cut(response, await handle(), act.afterBytes);
      return;
    case 'answer':
      response.setHeader('content-type', act.contentType ?? 'application/json'); // unless `headers` has another
      send(response, act);
      return;
    case 'delay':
      await clock.sleep(act.ms);
      if (act.act) await applyFault(act.act, response, clock, handle);
      else send(response, await handle());
      return;
    case 'afterwards': {
      const handled = await handle();
      await applyFault(act.act, response, clock, async () => handled);
    }
  }
}

/** Sends a complete answer. */
export function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, headers).end(body);
}

function cut(response: ServerResponse, { status, headers, body = '' }: Answer, afterBytes?: number): void {
  const whole = Buffer.from(body);
  const part = whole.subarray(0, afterBytes ?? whole.length / 2);
  response.writeHead(status, { ...headers, 'content-length': whole.length });
  response.flushHeaders();
  response.write(part, () => response.destroy());
}
