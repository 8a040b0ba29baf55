import type { NatsServers } from '../../config/nats-servers.js';
import { growingPauses, retry, Waker } from '../../lib/async/retry.js';
import { digest } from '../../lib/sealer.js';
import { OutageLog } from '../../lib/telemetry/outage-log.js';
import { createWarnings, type Warn } from '../../lib/telemetry/rate-limited-log.js';
import { openNatsStream, type NatsStream } from './nats-stream.js';
import { Publisher, type PublisherOptions } from './publisher.js';
import { openStretch, type RelayedStretch } from './stretch.js';

type Hear = (stretch: RelayedStretch | undefined) => void;

/** `PublisherOptions`, and the NATS servers that carry the entries. */
export interface RelayOptions extends PublisherOptions {
  readonly servers: NatsServers;
}

const firstPauseMs = 200;
const maxPauseMs = 5_000;

/**
 * Carries committed entries to all replicas by NATS JetStream, as fast as it can and no more than that: the log is in the
 * database. It connects in the background, again and again: that it is away is no failure.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #publisher: Publisher;
  readonly #outage: OutageLog;
  readonly #warn: Warn;
  readonly #hearers = new Set<Hear>();
  readonly #stopping = new AbortController();
  readonly #waker = new Waker();
  #serving: Promise<void> | undefined;
  #logId: string | undefined;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#publisher = new Publisher(options);
    this.#outage = new OutageLog(options.telemetry, {
      up: 'connected to NATS',
      down: 'NATS is away; events are read from the database until it is back',
    });
    this.#warn = createWarnings(options.telemetry);
    const { relayConnected, relayRefused } = options.telemetry.metrics;
    relayConnected.of().value = 0;
    // At zero, so that Prometheus sees the first one as an increase.
    for (const reason of ['unreadable', 'forked']) relayRefused.of(reason);
    void this.#run();
  }

  /**
   * Calls `hear` with each stretch of entries that comes, in order but perhaps not all, and with undefined when the relay
   * is away. Returns a function that stops it.
   */
  listen(hear: Hear): () => void {
    this.#hearers.add(hear);
    return () => void this.#hearers.delete(hear);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#waker.wake();
    await this.#serving?.catch(() => undefined);
  }

  async #run(): Promise<void> {
    const pauses = growingPauses({ firstMs: firstPauseMs, maxMs: maxPauseMs, spread: true });
    const connectAndServe = async (restart: () => void) => {
      const stream = await openNatsStream(this.#options.servers, await this.#streamId());
      restart();
      await (this.#serving = this.#serve(stream));
    };
    const connected = retry(connectAndServe, {
      pauseMs: (failures, error) => {
        this.#outage.down(error);
        return pauses(failures);
      },
      isWanted: () => !this.#stopping.signal.aborted,
      waker: this.#waker,
    });
    await connected.catch(() => undefined); // stopped
  }

  /**
   * A stream for each log, so that several gateways can share a cluster. Read once: later, the database may be away, too,
   * and whoever puts another log in its place stops all replicas before.
   */
  async #streamId(): Promise<string> {
    this.#logId ??= (await this.#options.log.bounds()).id;
    return digest(this.#logId).slice(0, 16);
  }

  /** Rejects once the connection is lost; resolves only at the stop. */
  async #serve(stream: NatsStream): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, over.signal]);
    const publishing = this.#publisher.run(stream, signal);
    this.#note(true);
    try {
      await Promise.race([stream.closed, stream.hear((message) => this.#receive(message)), publishing]);
      if (!signal.aborted) throw new Error('The connection was lost.');
    } finally {
      this.#note(false);
      over.abort();
      await publishing;
      await stream.close();
    }
  }

  #note(isConnected: boolean): void {
    this.#options.telemetry.metrics.relayConnected.of().value = Number(isConnected);
    if (isConnected) this.#outage.up();
    else for (const hear of this.#hearers) hear(undefined);
  }

  #receive(message: string): void {
    const { sealer, telemetry } = this.#options;
    const stretch = openStretch(sealer, message);
    if (stretch) return this.#hearers.forEach((hear) => hear(stretch));
    telemetry.metrics.relayRefused.of('unreadable').value += 1;
    this.#warn('a message from NATS was refused: it is not encrypted with any of SECRET_KEYS');
  }
}
