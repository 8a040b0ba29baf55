import { pingEveryMs } from '../../src/client/core/liveness.js';
import { createSocket } from '../../src/client/core/socket.js';
import { interleave } from './interleave.js';
import { bearer, signIn } from './operations.js';
import { startPostgres } from './postgres.js';
import { append, liveCursor } from './scale.js';
import { say } from './say.js';
import { createSender } from './sender.js';
import { SimulatedTime } from './simulated-time.js';
import { openSubscribers } from './subscribers.js';
import { withEnvironment } from './environment.js';
import { ours, type Row, type SuiteOptions } from './table.js';

/** The names of the measurements. */
export const herdNames = ['takes', 'simulation'] as const;

/** How many events each has missed when it comes back. */
const missed = 10;
/** How long it takes until a lost region's address leads to those that are left. */
const switchMs = 5_000;
/** How far a simulated clock moves at once. */
const stepMs = 5;
/** A replica on a machine that does much else, and how many clients come to it: more than it takes in time. */
const overload = { takes: 110, count: 5_000 };
/** How many seconds of work a load balancer lets wait at a replica, if it refuses more than that. */
const mostWaiting = 5;
/** Who is not back by then is counted as lost. */
const patienceMs = 300_000;

/**
 * What becomes of a replica to which the subscribers of a lost region come. How many it takes a second is measured; with
 * that, clients of the package's own code are simulated, since what they do goes by timers.
 */
export async function runHerd({ short, only }: SuiteOptions): Promise<readonly Row[]> {
  const measured = await measureTakes(1_000, short ? 2 : 5);
  const rows: Row[] = [{ suite: 'herd', name: 'takes', who: ours, ratio: 1, perSecond: measured }];
  if (only === 'takes') return rows;
  const takes = Math.round(measured);
  say(`herd: a replica takes ${takes} a second`);
  const add = async (name: string, count: number, left: Left) => {
    say(`herd: ${name} …`);
    rows.push({ suite: 'herd', name, who: ours, ratio: 1, ...(await simulate(count, left)) });
  };
  for (const count of short ? [500, 2_000] : [1_000, 5_000, 10_000])
    for (const kind of ['cut', 'silent'] as const) await add(`${kind} ${count}`, count, { kind, takes });
  const overloaded = { kind: 'cut', takes: overload.takes } as const;
  await add('overloaded', overload.count, overloaded);
  await add('overloaded, some refused', overload.count, { ...overloaded, mostWaiting });
  return rows;
}

/** How many subscribers that resume a replica on Postgres takes in a second of one core, up to their last missed event. */
async function measureTakes(count: number, rounds: number): Promise<number> {
  const postgres = await startPostgres();
  try {
    return await withEnvironment(async ({ startGateway }) => {
      const database = (await postgres?.createDatabase()) ?? 'herd.db';
      const server = await startGateway({ database });
      const { url } = server;
      const after = await liveCursor(url);
      await append(url, createSender(), 2 * missed); // of these, so many concern shipments
      const session = bearer(await signIn(url));
      const init = () => session;
      const run = async () => {
        const { cpuMs } = await server.read();
        const query = `subscription ($after: String!) {
          shipmentUpdates(after: $after) { cursor event { eventId type stage occurredAt shipmentId carrier } } }`;
        const subscribe = () => ({ query, variables: { after } });
        const subscribers = await openSubscribers({
          url,
          count,
          transport: 'websocket',
          init,
          subscribe,
          hear: () => undefined,
        });
        while (subscribers.total() < count * missed) await new Promise(setImmediate);
        const taken = (await server.read()).cpuMs - cpuMs;
        subscribers.stop();
        return (count / taken) * 1_000;
      };
      say(`herd: ${count} resume …`);
      const [outcome] = await interleave([{ who: ours, run, score: (rate) => rate }], rounds);
      return outcome!.score;
    });
  } finally {
    await postgres?.stop();
  }
}

/** A region that is lost tells its clients so, or falls silent. */
type Kind = 'cut' | 'silent';

/** How a region is lost, and what is left. */
interface Left {
  readonly kind: Kind;
  /** How many clients the replica takes in a second. */
  readonly takes: number;
  /** How many seconds of that may wait; more are refused at once. If omitted, there is no limit. */
  readonly mostWaiting?: number;
}

/** Runs so many clients of the package under a simulated clock, until all are back. */
async function simulate(count: number, left: Left) {
  const time = new SimulatedTime(stepMs);
  time.begin();
  try {
    const world = new World(left, time);
    const clients: { stop(): void }[] = [];
    const atOnce = Math.ceil((count * stepMs) / pingEveryMs); // so that they do not all ping at the same time
    const hasMore = () => {
      for (let room = atOnce; room > 0 && clients.length < count; room -= 1) clients.push(begin(world));
      return world.now < 3 * pingEveryMs;
    };
    await world.runWhile(hasMore);
    world.lose();
    await world.runWhile(() => world.back.length < count && world.now < patienceMs);
    const figures = world.figures(count);
    clients.forEach(({ stop }) => stop());
    return figures;
  } finally {
    time.end();
  }
}

/** Has a client of the package subscribe, and note when it gets something after the region was lost. */
function begin(world: World): { stop(): void } {
  const socket = createSocket({
    url: 'http://gateway',
    webSocketImpl: world.socketClass(),
    token: () => 'token',
  });
  let isBack = false;
  const next = () => {
    if (world.isLost && !isBack) world.back.push(world.now);
    isBack ||= world.isLost;
  };
  const sink = { next, error: () => undefined, complete: () => undefined };
  const leave = socket.subscribe({ query: '', variables: {} }, sink);
  return { stop: () => (leave(), socket.stop()) };
}

/** A region that will be lost, one that is left, and the clock. */
class World {
  /** Since the region was lost; before that, since the beginning. */
  now = 0;
  isLost = false;
  /** When each client was back. */
  readonly back: number[] = [];
  readonly #time: SimulatedTime;
  readonly #left: Left;
  readonly #sockets = new Set<FakeSocket>();
  /** Those that wait for the replica, which takes one after the other. */
  #waiting: FakeSocket[] = [];
  #credit = 0;
  readonly #attempts = new Map<number, number>();
  #inVain = 0;

  constructor(left: Left, time: SimulatedTime) {
    this.#time = time;
    this.#left = left;
  }

  socketClass(): unknown {
    const arrive = (socket: FakeSocket) => this.#arrive(socket);
    return class extends FakeSocket {
      constructor() {
        super();
        arrive(this);
      }
    };
  }

  lose(): void {
    this.isLost = true;
    this.now = 0;
    for (const socket of this.#sockets)
      if (this.#left.kind === 'cut') socket.fail();
      else socket.isMute = true;
    this.#sockets.clear();
  }

  async runWhile(hasMore: () => boolean): Promise<void> {
    for (; hasMore(); this.now += stepMs) {
      await this.#time.move();
      if (this.isLost && this.now >= switchMs) this.#serve();
    }
  }

  figures(count: number) {
    const at = (share: number) => (this.back[Math.ceil(count * share) - 1] ?? Infinity) / 1_000;
    return {
      halfBack: at(0.5),
      mostBack: at(0.99),
      allBack: at(1),
      attemptsInASecond: Math.max(0, ...this.#attempts.values()),
      inVain: this.#inVain,
    };
  }

  #arrive(socket: FakeSocket): void {
    if (!this.isLost) {
      this.#sockets.add(socket);
      return queueMicrotask(() => socket.accept());
    }
    const second = Math.floor(this.now / 1_000);
    this.#attempts.set(second, (this.#attempts.get(second) ?? 0) + 1);
    const { kind, takes, mostWaiting: most = Infinity } = this.#left;
    const isUp = this.now >= switchMs;
    if (isUp && this.#waiting.length < takes * most) this.#waiting.push(socket);
    else if (isUp || kind === 'cut') queueMicrotask(() => socket.fail());
  }

  /** A client that has gone away while it waited costs as much as another: its request was sent. */
  #serve(): void {
    const { takes } = this.#left;
    this.#credit = Math.min(this.#credit + (takes * stepMs) / 1_000, takes);
    const served = this.#waiting.slice(0, Math.floor(this.#credit));
    this.#waiting = this.#waiting.slice(served.length);
    this.#credit = this.#waiting.length === 0 ? 0 : this.#credit - served.length;
    for (const socket of served)
      if (socket.readyState === FakeSocket.CONNECTING) socket.accept();
      else this.#inVain += 1;
  }
}

/** As much of a `WebSocket` as graphql-ws uses, with a server that has one update for each subscription. */
class FakeSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readyState = FakeSocket.CONNECTING;
  isMute = false;
  onopen: (() => unknown) | null = null;
  onmessage: ((event: { data: string }) => unknown) | null = null;
  onclose: ((event: object) => unknown) | null = null;
  onerror: ((event: object) => unknown) | null = null;
  readonly protocol = 'graphql-transport-ws';

  addEventListener(): void {}

  accept(): void {
    this.readyState = FakeSocket.OPEN;
    void this.onopen?.();
  }

  fail(): void {
    if (this.readyState === FakeSocket.CLOSED) return;
    this.readyState = FakeSocket.CLOSED;
    this.onclose?.({ code: 1006, reason: '', wasClean: false });
  }

  send(text: string): void {
    if (this.isMute) return;
    const { type, id } = JSON.parse(text) as { type: string; id?: string };
    if (type === 'connection_init') this.#tell({ type: 'connection_ack' });
    if (type === 'ping') this.#tell({ type: 'pong' });
    if (type === 'subscribe') this.#tell({ id, type: 'next', payload: { data: {} } });
  }

  close(code = 1005, reason = ''): void {
    if (this.readyState === FakeSocket.CLOSED) return;
    this.readyState = FakeSocket.CLOSED;
    queueMicrotask(() => this.onclose?.({ code, reason, wasClean: true }));
  }

  #tell(message: object): void {
    queueMicrotask(() => void this.onmessage?.({ data: JSON.stringify(message) }));
  }
}
