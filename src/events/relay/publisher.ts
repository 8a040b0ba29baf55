import { setTimeout as pause } from 'node:timers/promises';
import { OutageLog } from '../../lib/telemetry/outage-log.js';
import type { Sealer } from '../../lib/sealer.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Database } from '../../store/database.js';
import { tryLease } from '../../store/leases.js';
import type { Log } from '../log/log.js';
import { positionOf } from '../log/log-position.js';
import { findEnd } from '../log/log-end.js';
import type { NatsStream } from './nats-stream.js';
import { sealReference, sealRows } from './stretch.js';

/** The log whose entries one replica publishes, and the sealer that keeps them unreadable on the way. */
export interface PublisherOptions {
  readonly log: Log;
  readonly database: Database;
  readonly sealer: Sealer;
  readonly telemetry: Telemetry;
}

/** How long nothing is relayed, at most, after the one who did so has died, but for `bidMs`. */
const leaseMs = 4_000;
/** How often each of the others bids for the lease, on average. */
const bidMs = 3_000;
const pollMs = 1_000;
const pageSize = 128;
const taken = 'the lease to relay events is taken: this replica waits for it';

/**
 * Publishes what is committed to the log from now on, one process at a time, by a lease. Each message says which one it
 * expects to be the last before it: one that stood still, and lost its lease without knowing, fails by that.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #outage: OutageLog;

  constructor(options: PublisherOptions) {
    this.#options = options;
    this.#outage = new OutageLog(options.telemetry, {
      up: 'this replica relays events to the others',
      down: 'this replica cannot relay events; all read them from the database until one can',
    });
  }

  /** Does so over this stream until `signal` is aborted. Never rejects: it tries again. */
  async run(stream: NatsStream, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // It fails only with the database, which is not the relay's to tell.
      const hasTried = await this.#bid(stream, signal).catch(() => false);
      // Also after the log was replaced, or the lease was lost: whatever it finds, it does not spin.
      const ms = hasTried ? pollMs : bidMs * (0.5 + Math.random());
      await pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  /** Publishes, unless another replica has the lease. Resolves with whether it has tried, whatever came of that. */
  async #bid(stream: NatsStream, signal: AbortSignal): Promise<boolean> {
    const lost = new AbortController();
    const ended = AbortSignal.any([signal, lost.signal]);
    const lease = { ttlMs: leaseMs, maxWorkMs: Infinity, onLost: () => lost.abort() };
    const done = await tryLease(this.#options.database, 'relay', lease, () =>
      this.#publishUntil(ended, stream).catch(() => undefined),
    );
    if (!done) this.#outage.leave(taken);
    return done !== undefined;
  }

  /** Begins at the end of the log: what came before is in the database. Resolves when the log was replaced, too. */
  async #publishUntil(ended: AbortSignal, stream: NatsStream): Promise<void> {
    const { log, sealer, telemetry } = this.#options;
    const published = telemetry.metrics.relayPublished.of();
    const bell = this.#listen(ended);
    try {
      let { position } = await findEnd(log);
      let last = await this.#tell(stream.begin(), ended);
      // So that replicas know that entries come from here on; one at another position looks what has happened.
      last = await this.#tell(stream.publish(sealReference(sealer, position, position), last), ended);
      this.#outage.up();
      while (!ended.aborted) {
        const rung = bell.next();
        const read = await log.rowsAfter(position, pageSize);
        if (!read) return;
        const { rows, more } = read;
        for (const message of sealRows(sealer, position, rows, stream.maxBytes))
          last = await this.#tell(stream.publish(message, last), ended);
        published.value += rows.length;
        if (rows.length > 0) position = positionOf(rows.at(-1)!);
        if (!more) await rung;
      }
    } finally {
      bell.stop();
    }
  }

  /** What the stream does; if it fails, the log says so. */
  async #tell(doing: Promise<number>, ended: AbortSignal): Promise<number> {
    try {
      return await doing;
    } catch (error) {
      if (!ended.aborted) this.#outage.down(error);
      throw error;
    }
  }

  /** `next` resolves at the next signal of the log, and at the latest after `pollMs`. */
  #listen(ended: AbortSignal) {
    let ring = () => {};
    const unlisten = this.#options.database.listen('log', () => ring());
    const poll = setInterval(() => ring(), pollMs).unref();
    const onEnd = () => ring();
    ended.addEventListener('abort', onEnd);
    return {
      next: () => new Promise<void>((resolve) => (ring = resolve)),
      stop() {
        unlisten();
        clearInterval(poll);
        ended.removeEventListener('abort', onEnd);
      },
    };
  }
}
