import { Expendable } from './expendable.js';
import { processLimits, type Limits } from './process-limits.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { createWarnings } from '../telemetry/rate-limited-log.js';

/**
 * What memory is held for: connections, and bytes that `arriving` requests have sent, what was `parsed` of them,
 * operations that are `inProgress`, what they have `read`, answers that are `leaving`, until their client has taken them,
 * and what is kept for whoever is `subscribed`.
 */
export type Kind = (typeof kinds)[number];
export const kinds = ['arriving', 'parsed', 'inProgress', 'read', 'leaving', 'subscribed'] as const;

/** The part of an account that one caller may have. */
const share = 1 / 2;
/** The part that is kept for callers who hold next to nothing. */
const reserve = 1 / 8;
/** What next to nothing is, as a part. */
const little = 1 / 128;
/** What anybody's share may be exceeded by, as a part, for charges that are small, in bytes: what others send may be such. */
const slack = 1 / 8;
const small = 16 * 1024;
/** The part that each endpoint of verified deliveries may have besides, and that all of them may. */
const deliveryShare = 1 / 8;
const deliveries = 1 / 4;
/** Callers of these prefixes are endpoints, or networks. */
const endpointPrefix = 'endpoint ';
const networkPrefix = 'network ';

/** The caller that a user is. */
export const userCaller = (userId: string): string => `user ${userId}`;
/** The caller that a network is, as long as it is not known who calls. */
export const networkCaller = (network: string): string => `${networkPrefix}${network}`;
/** Whether a caller is a network. */
export const isNetwork = (caller: string): boolean => caller.startsWith(networkPrefix);
/** The caller that an endpoint is once a delivery to it is verified. */
export const endpointCaller = (family: string, id: string): string => `${endpointPrefix}${family} ${id}`;

/** Everything that one caller holds. */
class Caller {
  readonly id: string;
  readonly isEndpoint: boolean;
  heap = 0;
  buffers = 0;
  holdings = 0;
  /** Undefined if there were none yet, since callers come and go. */
  expendable: Expendable<Holding> | undefined;

  constructor(id: string) {
    this.id = id;
    this.isEndpoint = id.startsWith(endpointPrefix);
  }
}

/**
 * One ledger of memory for the whole process. Limits on a single request or connection do not bound what they all take
 * together, so each holds what it has here, in the name of whoever calls. A caller has a share, and some is reserved
 * for those who hold next to nothing. When there is no room, whoever holds most gives up what has waited longest for
 * its client: a body that does not arrive, an answer that is not read. If there is nothing of that kind, or whoever asks
 * holds more, the new work is refused. What has begun is never taken away, and verified deliveries have memory of their
 * own.
 */
export class MemoryLedger {
  readonly #limits: Limits;
  readonly #callers = new Map<string, Caller>();
  readonly #held: Readonly<Record<Kind, { value: number }>>;
  readonly #refused: Readonly<Record<Kind, { value: number }>>;
  readonly #warn: ReturnType<typeof createWarnings>;
  #waiting: (() => void)[] = [];
  /** Of all callers but endpoints, and of these. */
  #heap = 0;
  #buffers = 0;
  #deliveries = 0;

  constructor(telemetry: Telemetry, limits = processLimits()) {
    const { memoryHeld, memoryRefused } = telemetry.metrics;
    const of = (family: typeof memoryHeld) =>
      Object.fromEntries(kinds.map((kind) => [kind, family.of(kind)])) as Record<Kind, { value: number }>;
    this.#limits = limits;
    this.#held = of(memoryHeld);
    this.#refused = of(memoryRefused);
    this.#warn = createWarnings(telemetry);
  }

  /** Charges so many bytes of heap to a caller; returns what releases them, or undefined if there is no room. */
  charge(caller: string, kind: Kind, bytes: number): (() => void) | undefined {
    const holding = this.open(caller, kind);
    return holding.resize(bytes) ? () => holding.release() : undefined;
  }

  /** A holding of nothing yet, for what grows. One with `giveUp` can be taken back, which is called for then. */
  open(caller: string, kind: Kind, giveUp?: () => void): Holding {
    return new Holding(this, this.callerOf(caller), kind, giveUp);
  }

  /** Whether a caller could be charged so many more bytes now, without giving up anything. */
  hasRoom(caller: string, heap: number, buffers = 0): boolean {
    return this.#fits(this.callerOf(caller), heap, buffers);
  }

  /** Resolves with a charge as soon as there is room, or undefined if there is none within `patienceMs`. */
  async awaitRoom(
    caller: string,
    kind: Kind,
    bytes: number,
    patienceMs: number,
  ): Promise<(() => void) | undefined> {
    const until = performance.now() + patienceMs;
    // More than a share would never fit: it has to be alone then.
    const least = Math.min(bytes, this.#limits.heap * deliveryShare);
    for (;;) {
      const left = until - performance.now();
      const asking = this.callerOf(caller);
      if (this.#fits(asking, least, 0)) return this.charge(caller, kind, least);
      if (left <= 0) {
        this.#refuse(asking, kind);
        return undefined;
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** @internal For holdings alone. */
  callerOf(id: string): Caller {
    return this.#callers.get(id) ?? new Caller(id);
  }

  /** @internal Changes what a holding has; false, and nothing is changed, if there is no room for more. */
  change(holding: Holding, heap: number, buffers: number): boolean {
    const { caller, kind } = holding;
    const moreHeap = heap - holding.heap;
    const moreBuffers = buffers - holding.buffers;
    if ((moreHeap > 0 || moreBuffers > 0) && !this.#makeRoom(holding, moreHeap, moreBuffers)) {
      this.#refuse(caller, kind);
      return false;
    }
    this.#add(holding, moreHeap, moreBuffers);
    return true;
  }

  #add(holding: Holding, heap: number, buffers: number): void {
    const { caller, kind } = holding;
    const was = holding.heap + holding.buffers;
    holding.heap += heap;
    holding.buffers += buffers;
    const is = holding.heap + holding.buffers;
    caller.heap += heap;
    caller.buffers += buffers;
    if (caller.isEndpoint) this.#deliveries += heap;
    else {
      this.#heap += heap;
      this.#buffers += buffers;
    }
    this.#held[kind].value += heap + buffers;
    if (was === 0 && is > 0) this.#begin(holding);
    if (holding.giveUp) (caller.expendable ??= new Expendable()).change(holding, was, is);
    if (was > 0 && is === 0) this.#end(holding);
    if (heap < 0 && this.#waiting.length > 0) for (const wake of this.#waiting.splice(0)) wake();
  }

  #begin({ caller }: Holding): void {
    if (caller.holdings === 0) this.#callers.set(caller.id, caller);
    caller.holdings += 1;
  }

  #end({ caller }: Holding): void {
    caller.holdings -= 1;
    if (caller.holdings === 0) this.#callers.delete(caller.id);
  }

  #fits(caller: Caller, heap: number, buffers: number): boolean {
    const { heap: most, buffers: mostBuffers } = this.#limits;
    if (caller.isEndpoint)
      return caller.heap + heap <= most * deliveryShare && this.#deliveries + heap <= most * deliveries;
    return (
      (heap <= 0 || fitsAccount(heap, caller.heap, this.#heap, most)) &&
      (buffers <= 0 || fitsAccount(buffers, caller.buffers, this.#buffers, mostBuffers))
    );
  }

  #makeRoom(holding: Holding, heap: number, buffers: number): boolean {
    const { caller } = holding;
    while (!this.#fits(caller, heap, buffers)) {
      const victim = this.#victim(caller, heap, buffers);
      const given = victim?.expendable?.earliest(holding);
      if (!given) return false;
      this.#refuse(given.caller, given.kind);
      given.release();
      given.giveUp!();
    }
    return true;
  }

  /** Whoever holds most, and no less than the caller, who would take from many in vain; the caller itself at its share. */
  #victim(caller: Caller, heap: number, buffers: number): Caller | undefined {
    if (caller.isEndpoint) return undefined;
    const { heap: most, buffers: mostBuffers } = this.#limits;
    const isOver = caller.heap + heap > most * share || caller.buffers + buffers > mostBuffers * share;
    if (isOver) return caller;
    const part = (each: Caller) => Math.max(each.heap / most, each.buffers / mostBuffers);
    let victim: Caller | undefined;
    for (const each of this.#callers.values())
      if (each.expendable?.count && part(each) >= part(caller) && part(each) > (victim ? part(victim) : 0))
        victim = each;
    return victim;
  }

  #refuse({ id, heap, buffers }: Caller, kind: Kind): void {
    this.#refused[kind].value += 1;
    const inMebibytes = (bytes: number) => Math.round(bytes / 2 ** 20);
    this.#warn(
      'a caller holds too much memory: what it asks for is refused, or what waits for it is given up',
      () => ({ caller: id, kind, heapMiB: inMebibytes(heap), buffersMiB: inMebibytes(buffers) }),
    );
  }
}

function fitsAccount(more: number, theirs: number, held: number, most: number): boolean {
  if (theirs + more <= most * little) return held + more <= most;
  const theirMost = more <= small ? share + slack : share;
  return theirs + more <= most * theirMost && held + more <= most * (1 - reserve);
}

/** What one request, connection or operation holds. A class of plain numbers, since there are many. */
export class Holding {
  heap = 0;
  buffers = 0;
  /** @internal */
  caller: Caller;
  /** @internal Undefined if it is not given up. */
  giveUp: (() => void) | undefined;
  /** @internal See `Expendable`. */
  since = 0;
  readonly kind: Kind;
  readonly #ledger: MemoryLedger;

  /** @internal Made by a ledger. */
  constructor(ledger: MemoryLedger, caller: Caller, kind: Kind, giveUp: (() => void) | undefined) {
    this.#ledger = ledger;
    this.caller = caller;
    this.kind = kind;
    this.giveUp = giveUp;
  }

  /** Holds so much from now on; false if there is no room, and it holds what it did before. */
  resize(heap: number, buffers = 0): boolean {
    // What ended meanwhile is gone from the ledger, and so may its caller be.
    if (this.caller.holdings === 0) this.caller = this.#ledger.callerOf(this.caller.id);
    return this.#ledger.change(this, heap, buffers);
  }

  /** Holds so much more. */
  add(heap: number, buffers = 0): boolean {
    return this.resize(this.heap + heap, this.buffers + buffers);
  }

  /** Holds as much in the name of another caller; false if there is no room, and it holds nothing. */
  become(caller: string): boolean {
    if (caller === this.caller.id) return true;
    const { heap, buffers } = this;
    this.release();
    this.caller = this.#ledger.callerOf(caller);
    return this.resize(heap, buffers);
  }

  /** From now on it is not given up. */
  protect(): void {
    if (this.giveUp) this.caller.expendable?.change(this, this.heap + this.buffers, 0);
    this.giveUp = undefined;
  }

  release(): void {
    if (this.heap > 0 || this.buffers > 0) this.#ledger.change(this, 0, 0);
  }
}
