import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Caller } from '../../graphql/caller.js';
import { networkOf } from '../../domains/sessions/network.js';
import { noteArrival } from '../../lib/async/pace.js';
import { networkCaller, type Holding, type MemoryLedger } from '../../lib/memory/memory-ledger.js';
import { createWarnings, type Warn } from '../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { ReadingTurns, type Brought } from './reading-turns.js';

/** Whom an operation is charged to: its user, if known, whose connection is protected from then on; else its network. */
export type ChargedTo = (request: IncomingMessage, caller: Caller | null | undefined) => string;

/** What a connection takes in the heap, its parser and the answer in its buffer included. */
const connectionBytes = 16 * 1024;
/** Descriptors kept for the database, the services and files: so many, or half of all. */
const keptDescriptors = 512;
/** In bytes: so little of a websocket has no other wait. It may be a pong, or the message of one of many that come back. */
const shortFrames = 1024;
/** How often connections are looked through for those that bring bytes of no request. */
const sweepMs = 100;
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
  readonly network: string;
  readonly holding: Holding;
  /** Whose it was last, if it is known: that is not read behind others of its network. */
  known: string | undefined;
}

/**
 * The connections of clients, which hold memory in the ledger: there are fewer than the system gives descriptors, and
 * those of known callers stay. When there are as many as may be, one that is not known is closed for each new one: the
 * earliest of the network that has most.
 */
export class ClientConnections {
  /** Must be told of each request and each block of a body, and when a connection is no longer one of HTTP. */
  readonly reading = new ReadingTurns((socket, brought) => this.#laneOf(socket, brought));
  /** The same for websockets: there may be thousands, which need not wait when much comes by HTTP. */
  readonly readingFrames = new ReadingTurns((socket, brought) => this.#laneOf(socket, brought), shortFrames);
  readonly #ledger: MemoryLedger;
  readonly #warn: Warn;
  readonly #most: number;
  readonly #clients = new WeakMap<Socket, Client>();
  /** Connections that are not known, the earliest first, by their network. */
  readonly #unknown = new Map<string, Set<Socket>>();
  /** One listener for all connections, not a closure for each of many websockets. */
  readonly #onClose: (this: Socket) => void;
  /** So that many that end together do so in turns. */
  readonly #onEnd: (this: Socket) => void;
  #open = 0;
  /** While there are connections. */
  #sweeping: NodeJS.Timeout | undefined;

  constructor(
    ledger: MemoryLedger,
    telemetry: Telemetry,
    most = descriptorLimit() - Math.min(keptDescriptors, descriptorLimit() / 2),
  ) {
    this.#ledger = ledger;
    this.#warn = createWarnings(telemetry, { quietMs: 10_000 });
    this.#most = most;
    const forget = (socket: Socket) => this.#forget(socket);
    this.#onClose = function onClose() {
      forget(this);
    };
    const { reading, readingFrames } = this;
    this.#onEnd = function onEnd() {
      reading.note(this);
      readingFrames.note(this);
    };
  }

  /** Must be called with every connection. */
  readonly onConnection = (socket: Socket): void => {
    const network = networkCaller(networkOf(socket.remoteAddress ?? ''));
    const holding = this.#ledger.open(network, 'arriving', () => void socket.destroy());
    this.#clients.set(socket, { network, holding, known: undefined });
    this.#unknown.set(network, (this.#unknown.get(network) ?? new Set()).add(socket));
    this.#open += 1;
    this.#sweeping ??= setInterval(() => this.reading.cutSilent(), sweepMs).unref();
    socket.on('end', this.#onEnd).on('close', this.#onClose);
    if (!holding.resize(connectionBytes)) socket.destroy();
    else if (this.#open > this.#most) this.#closeOne();
    noteArrival();
    // Only then: the HTTP server has it resume in the next tick.
    process.nextTick(() => this.reading.begin(socket));
  };

  /** Must be called when a connection has carried something of a signed-in user, or a verified delivery. Returns whose. */
  protect(socket: Socket, caller: string): string {
    const client = this.#clients.get(socket);
    if (!client) return caller;
    if (client.known === undefined) {
      client.holding.protect();
      this.#makeKnown(socket, client);
    }
    client.known = caller;
    return caller;
  }

  /** Those that are known do not wait behind others of their network, nor those that bring little behind much. */
  #laneOf(socket: Socket, brought: Brought): string {
    const { known, network } = this.#clients.get(socket)!;
    return known ?? `${brought} of ${network}`;
  }

  #forget(socket: Socket): void {
    const client = this.#clients.get(socket)!;
    this.#open -= 1;
    if (this.#open === 0) {
      clearInterval(this.#sweeping);
      this.#sweeping = undefined;
    }
    this.reading.forget(socket);
    this.readingFrames.forget(socket);
    client.holding.release();
    this.#makeKnown(socket, client);
  }

  #makeKnown(socket: Socket, { network }: Client): void {
    const sockets = this.#unknown.get(network);
    sockets?.delete(socket);
    if (sockets?.size === 0) this.#unknown.delete(network);
  }

  #closeOne(): void {
    let largest = new Set<Socket>();
    for (const sockets of this.#unknown.values()) if (sockets.size > largest.size) largest = sockets;
    const about = { connections: this.#open, limit: this.#most, unknownFromThere: largest.size };
    this.#warn(
      'connections are closed, since there may be no more: see the limit of open files',
      () => about,
    );
    const [earliest] = largest;
    earliest?.destroy();
  }
}
