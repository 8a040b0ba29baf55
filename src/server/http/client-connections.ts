import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { networkOf } from '../../domains/sessions/network.js';
import { noteArrival } from '../../lib/async/pace.js';
import { networkCaller, type Holding, type MemoryLedger } from '../../lib/memory-ledger.js';
import { createWarnings } from '../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { ReadingTurns } from './reading-turns.js';

/** The connections of clients: there are fewer than the system gives descriptors, and those of known callers stay. */
export interface ClientConnections {
  /** Must be called with every connection. */
  readonly onConnection: (socket: Socket) => void;
  /** Must be told of each request and each block of a body, and when a connection is no longer one of HTTP. */
  readonly reading: ReadingTurns;
  /** Must be called when a connection has carried something of a signed-in user, or a verified delivery. */
  protect(socket: Socket): void;
}

/** What a connection takes in the heap, its parser and the answer in its buffer included. */
const connectionBytes = 16 * 1024;
/** Descriptors kept for the database, the services and files: so many, or half of all. */
const keptDescriptors = 512;
/** Where the system does not tell. */
const defaultDescriptors = 1_024;

/** How many descriptors this process may have. */
function descriptorLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Infinity : Number(soft);
  } catch {
    return defaultDescriptors;
  }
}

/** A connection: what it holds, in whose name. */
interface Client {
  readonly caller: string;
  readonly holding: Holding;
  isProtected: boolean;
}

/** Those that are known do not wait behind strangers of their network. */
const laneOf = ({ caller, isProtected }: Client) => (isProtected ? `known at ${caller}` : caller);

/**
 * Connections that hold memory in the ledger. When there are as many as may be, one that is not known is closed for
 * each new one: the earliest of the network that has most.
 */
export function createClientConnections(
  ledger: MemoryLedger,
  telemetry: Telemetry,
  most = descriptorLimit() - Math.min(keptDescriptors, descriptorLimit() / 2),
): ClientConnections {
  const warn = createWarnings(telemetry, { quietMs: 10_000 });
  const clients = new WeakMap<Socket, Client>();
  /** Connections that are not known, the earliest first, by their network. */
  const unknown = new Map<string, Set<Socket>>();
  const reading = new ReadingTurns((socket) => laneOf(clients.get(socket)!));
  let open = 0;

  function closeOne(): void {
    let largest = new Set<Socket>();
    for (const sockets of unknown.values()) if (sockets.size > largest.size) largest = sockets;
    const about = { connections: open, limit: most, unknownFromThere: largest.size };
    warn('connections are closed, since there may be no more: see the limit of open files', () => about);
    const [earliest] = largest;
    earliest?.destroy();
  }

  function makeKnown(socket: Socket, caller: string): void {
    const sockets = unknown.get(caller);
    sockets?.delete(socket);
    if (sockets?.size === 0) unknown.delete(caller);
  }

  /** One listener for all connections, not a closure for each of many websockets. */
  function forget(this: Socket): void {
    const { caller, holding } = clients.get(this)!;
    open -= 1;
    reading.forget(this);
    holding.release();
    makeKnown(this, caller);
  }

  return {
    onConnection(socket) {
      const caller = networkCaller(networkOf(socket.remoteAddress ?? ''));
      const holding = ledger.open(caller, 'arriving', () => void socket.destroy());
      clients.set(socket, { caller, holding, isProtected: false });
      unknown.set(caller, (unknown.get(caller) ?? new Set()).add(socket));
      open += 1;
      socket.on('close', forget);
      if (!holding.resize(connectionBytes)) socket.destroy();
      else if (open > most) closeOne();
      noteArrival();
      // Only then: the HTTP server has it resume in the next tick.
      process.nextTick(() => void reading.read(socket));
    },
    reading,
    protect(socket) {
      const client = clients.get(socket);
      if (!client || client.isProtected) return; // asked for each request
      client.isProtected = true;
      client.holding.protect();
      makeKnown(socket, client.caller);
    },
  };
}
