import type { Payload } from '../core/document.js';
import { TriviumError, type Answer, type FailureDetails } from '../core/error.js';
import type { Sink, Transport } from '../core/transport.js';

/** How soon the tab that runs the subscriptions must take one; else it is run here. */
const takenMs = 2_000;
/** How long a subscription that another tab runs may be silent: longer than what that tab itself bears. */
const silenceMs = 45_000;

/** What the leader says about the subscription `id` of the tab `tab`. */
type Report = { readonly tab: string; readonly id: number } & (
  | { readonly kind: 'taken' }
  | { readonly kind: 'complete' }
  | { readonly kind: 'next'; readonly answer: Answer }
  | { readonly kind: 'passed'; readonly cursor: string | undefined }
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly message: string;
      readonly details: FailureDetails;
    }
);

/** What tabs say to each other. */
type Message =
  | Report
  | { readonly kind: 'leader' }
  | { readonly kind: 'wake'; readonly tab: string }
  | { readonly kind: 'subscribe'; readonly tab: string; readonly id: number; readonly payload: Payload }
  | { readonly kind: 'leave'; readonly tab: string; readonly id: number };

/** A subscription that is run for this tab by another one, or in the end by itself. */
interface Handed {
  readonly sink: Sink;
  timer?: ReturnType<typeof setTimeout>;
}

/** Whether tabs of this page can learn which of them are gone. */
export function canShareTabs(): boolean {
  return typeof document !== 'undefined' && 'locks' in globalThis.navigator;
}

/**
 * Has one tab of a browser, the leader, run the subscriptions of all tabs that have the same `name`, by its `local`
 * transport: a browser opens only six connections to a server that speaks HTTP/1.1. Who leads is settled by a lock, which
 * passes on when that tab is gone; the others then subscribe again, from where they are. Throws where the browser does not
 * let tabs find each other.
 */
export class SharedTabs implements Transport {
  readonly #local: Transport;
  readonly #name: string;
  readonly #tab = crypto.randomUUID();
  readonly #channel: BroadcastChannel;
  readonly #stopped = new AbortController();
  readonly #handed = new Map<number, Handed>();
  /** What this tab runs for others, by tab and id. */
  readonly #served = new Map<string, Map<number, () => void>>();
  /** Resolves once others can tell that this tab is there. */
  readonly #isPresent: Promise<void>;
  #leads = false;
  #count = 0;

  constructor(local: Transport, name: string) {
    this.#local = local;
    this.#name = name;
    this.#channel = new BroadcastChannel(name);
    this.#channel.addEventListener('message', ({ data }) => this.#hear(data as Message));
    this.#isPresent = new Promise((present) => this.#hold(this.#lockOf(this.#tab), present));
    this.#hold(name, () => this.#lead());
  }

  readonly subscribe = (payload: Payload, sink: Sink): (() => void) => {
    if (this.#leads) return this.#local.subscribe(payload, sink);
    const id = ++this.#count;
    const handed: Handed = { sink };
    let leave = () => this.#letGo(id);
    handed.timer = setTimeout(() => {
      this.#letGo(id);
      leave = this.#local.subscribe(payload, sink);
    }, takenMs);
    this.#handed.set(id, handed);
    this.#handOver(id, payload).catch(() => {}); // what has no JSON fails where this tab subscribes itself
    return () => leave();
  };

  restart(): void {
    this.#local.restart();
    this.#failAll();
  }

  wake(): void {
    this.#local.wake();
    if (this.#handed.size === 0) return;
    for (const handed of this.#handed.values()) this.#await(handed, takenMs);
    this.#say({ kind: 'wake', tab: this.#tab });
  }

  stop(): void {
    for (const id of this.#handed.keys()) this.#letGo(id);
    this.#stopped.abort();
    this.#channel.close();
    this.#local.stop();
  }

  #lockOf(tab: string): string {
    return `${this.#name} ${tab}`;
  }

  /** Holds a lock from when it is free until this tab is gone, or stops. */
  #hold(lock: string, held: () => void): void {
    const { signal } = this.#stopped;
    const holding = navigator.locks.request(lock, { signal }, () => {
      held();
      return new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    });
    holding.catch(() => {});
  }

  #say(message: Message): void {
    this.#channel.postMessage(message);
  }

  #lead(): void {
    this.#leads = true;
    this.#say({ kind: 'leader' });
    this.#failAll();
  }

  /** Has all that others ran for this tab subscribed again. */
  #failAll(): void {
    for (const [id, { sink }] of this.#handed) {
      this.#letGo(id);
      sink.error(new TriviumError('UNREACHABLE', 'The live connection has ended.'));
    }
  }

  async #handOver(id: number, payload: Payload): Promise<void> {
    // A proxy, such as those of Vue, cannot be posted, but a copy can.
    const copy = JSON.parse(JSON.stringify(payload)) as Payload;
    await this.#isPresent;
    if (this.#handed.has(id)) this.#say({ kind: 'subscribe', tab: this.#tab, id, payload: copy });
  }

  #letGo(id: number): void {
    clearTimeout(this.#handed.get(id)?.timer);
    if (this.#handed.delete(id)) this.#say({ kind: 'leave', tab: this.#tab, id });
  }

  #hear(message: Message): void {
    if (message.kind === 'leader') this.#failAll();
    else if (message.kind === 'wake') {
      if (this.#leads) this.#show(message.tab);
    } else if (message.kind === 'subscribe') {
      if (this.#leads) this.#serve(message.tab, message.id, message.payload);
    } else if (message.kind === 'leave') {
      this.#served.get(message.tab)?.get(message.id)?.();
      this.#served.get(message.tab)?.delete(message.id);
    } else if (message.tab === this.#tab) this.#pass(message);
  }

  /** Passes on what the leader has for this tab. */
  #pass(report: Report): void {
    const handed = this.#handed.get(report.id);
    if (!handed) return;
    this.#await(handed, silenceMs);
    if (report.kind === 'next') handed.sink.next(report.answer);
    else if (report.kind === 'passed') handed.sink.passed?.(report.cursor);
    else if (report.kind !== 'taken') {
      this.#letGo(report.id);
      if (report.kind === 'complete') handed.sink.complete();
      else handed.sink.error(new TriviumError(report.code, report.message, report.details));
    }
  }

  /** Has everything be subscribed again, unless something comes in time. */
  #await(handed: Handed, ms: number): void {
    clearTimeout(handed.timer);
    handed.timer = setTimeout(() => this.#failAll(), ms);
  }

  /** Shows a tab that what it has handed over is run, and by a connection that is alive. */
  #show(tab: string): void {
    this.#local.wake();
    for (const id of this.#served.get(tab)?.keys() ?? []) this.#say({ kind: 'taken', tab, id });
  }

  /** Runs a subscription for another tab, until that leaves it or is gone. */
  #serve(tab: string, id: number, payload: Payload): void {
    const theirs = this.#served.get(tab) ?? this.#meet(tab);
    const about = { tab, id };
    this.#say({ kind: 'taken', ...about });
    const leave = this.#local.subscribe(payload, {
      next: (answer) => this.#say({ kind: 'next', ...about, answer }),
      passed: (cursor) => this.#say({ kind: 'passed', ...about, cursor }),
      complete: () => this.#say({ kind: 'complete', ...about }),
      error: ({ code, message, errors, data, status }) =>
        this.#say({
          kind: 'error',
          ...about,
          code,
          message,
          details: { errors, data, status },
        }),
    });
    theirs.set(id, leave);
  }

  /** Begins to run subscriptions for a tab: when it is gone, its lock is free, and they end. */
  #meet(tab: string): Map<number, () => void> {
    const theirs = new Map<number, () => void>();
    this.#served.set(tab, theirs);
    const gone = navigator.locks.request(this.#lockOf(tab), { signal: this.#stopped.signal }, () => {
      for (const leave of theirs.values()) leave();
      this.#served.delete(tab);
    });
    gone.catch(() => {});
    return theirs;
  }
}
