import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { LogEntry } from '../log/log.js';
import type { LogPosition } from '../log/log-position.js';
import type { Relay } from './relay.js';
import type { RelayedStretch } from './stretch.js';

/** The relay whose entries are put in order after `position`, and who is told when some have come, or are lacking. */
export interface RelayedEntriesOptions {
  readonly relay: Pick<Relay, 'listen'>;
  readonly telemetry: Telemetry;
  /** How far the log has been read. */
  position(): LogPosition;
  /** Called when `take` may give more. */
  onArrival(): void;
  /** Called when the database has to be read instead. */
  onLack(): void;
}

/** An entry that has come but is not taken yet. */
interface Held {
  readonly entry: LogEntry;
  /** The witness of the entry before it. */
  readonly before: string;
  /** When it came, by `performance.now()`. */
  readonly at: number;
}

/** How long an entry that was signalled may take to come before the database is read. */
const patienceMs = 300;
/** What is held at most, in characters of events. */
const maxWeight = 16_000_000;

/**
 * The entries that the relay brings, for one who follows the log. An entry counts only if it follows the one before it,
 * witness for witness, and the database itself has signalled where they end: so neither a forged entry nor one of
 * another future, after a restore, is ever taken. While the relay is not in step, signals are answered by reading.
 */
export class RelayedEntries {
  readonly #options: RelayedEntriesOptions;
  readonly #unlisten: () => void;
  #held: Held[] = [];
  /** The positions that were signalled and not reached yet. */
  #signalled: { readonly position: LogPosition; readonly at: number }[] = [];
  #isInStep = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RelayedEntriesOptions) {
    this.#options = options;
    this.#unlisten = options.relay.listen((stretch) => this.#hear(stretch));
  }

  /** Whether the relay has brought, or named, the entry that was read last. */
  get isInStep(): boolean {
    return this.#isInStep;
  }

  /** Whether to wait for what was signalled; if it does not come in time, `onLack` is called. */
  expect(position: LogPosition): boolean {
    if (!this.#isInStep) return false;
    this.#signalled.push({ position, at: performance.now() });
    this.#watch();
    return true;
  }

  /** The entries after the position that was reached, as far as the database has signalled them. */
  take(): readonly LogEntry[] {
    const position = this.#options.position();
    this.#passTo(position);
    const [next] = this.#held;
    const isNext = next?.entry.seq === position.seq + 1;
    if (isNext && next.before !== position.witness) this.#refuseHeld();
    const count = isNext ? this.#countVouched() : 0;
    const taken = this.#held.splice(0, count).map(({ entry }) => entry);
    if (taken.length > 0) {
      this.#isInStep = true;
      this.#passTo(taken.at(-1)!);
    }
    this.#watch();
    return taken;
  }

  stop(): void {
    this.#unlisten();
    clearTimeout(this.#timer);
  }

  #hear(stretch: RelayedStretch | undefined): void {
    if (!stretch) return this.#isInStep ? this.#lack() : undefined;
    const { end, entries } = stretch;
    const position = this.#options.position();
    if (end.seq === position.seq && end.witness === position.witness) {
      this.#isInStep = true;
    } else if (entries.length === 0) {
      this.#options.onLack();
    } else if (end.seq > position.seq) {
      this.#hold(stretch);
      this.#options.onArrival();
    }
  }

  /** Keeps what follows that which is held, or else instead of it. */
  #hold({ after, entries }: RelayedStretch): void {
    const last = this.#held.at(-1)?.entry;
    if (last?.seq !== after.seq || last.witness !== after.witness) this.#held = [];
    const at = performance.now();
    entries.forEach((entry, index) =>
      this.#held.push({ entry, before: (entries[index - 1] ?? after).witness, at }),
    );
    const weight = this.#held.reduce((sum, { entry }) => sum + entry.weight, 0);
    if (weight > maxWeight) this.#held = [];
    this.#passTo(this.#options.position());
    this.#watch();
  }

  /** Drops what is known by now. */
  #passTo(position: LogPosition): void {
    this.#signalled = this.#signalled.filter(({ position: { seq } }) => seq > position.seq);
    const known = this.#held.findLast(({ entry }) => entry.seq <= position.seq)?.entry;
    if (known?.seq === position.seq && known.witness === position.witness) this.#isInStep = true;
    this.#held = this.#held.filter(({ entry }) => entry.seq > position.seq);
  }

  /** How many of those held come before, or at, a position that was signalled; none if one is of another future. */
  #countVouched(): number {
    const witnesses = new Map(this.#signalled.map(({ position }) => [position.seq, position.witness]));
    let count = 0;
    for (const [index, { entry }] of this.#held.entries()) {
      const witness = witnesses.get(entry.seq);
      if (witness === undefined) continue;
      if (witness !== entry.witness) {
        this.#refuseHeld();
        return 0;
      }
      count = index + 1;
    }
    return count;
  }

  /** What follows another entry than ours is of a database that was replaced by a backup. */
  #refuseHeld(): void {
    this.#held = [];
    this.#options.telemetry.metrics.relayRefused.of('forked').value += 1;
  }

  /** Sets the timer by the oldest of what is signalled or held. */
  #watch(): void {
    clearTimeout(this.#timer);
    const since = Math.min(this.#signalled[0]?.at ?? Infinity, this.#held[0]?.at ?? Infinity);
    if (since === Infinity) return;
    const left = since + patienceMs - performance.now();
    this.#timer = setTimeout(() => this.#lack(), Math.max(left, 0)).unref();
  }

  #lack(): void {
    clearTimeout(this.#timer);
    this.#isInStep = false;
    this.#held = [];
    this.#signalled = [];
    this.#options.onLack();
  }
}
