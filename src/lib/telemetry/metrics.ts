import type { Registry } from 'prom-client';

/**
 * What the process measures for its operator. Names and units follow the conventions of Prometheus; labels have few
 * values, none of them a client's. Counting is by hand, since that of prom-client took a tenth of a short query.
 */
export type Metrics = ReturnType<typeof createMetrics>;

/** A number of one combination of labels. */
export interface Value {
  value: number;
}

/** A number that is read at each scrape. */
interface Reading {
  read: () => number;
}

type Name = `trivium_${string}`;

/** A metric, as the documentation shows it. */
interface DescribedMetric {
  readonly name: Name;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

/** In seconds: from a query that reads nothing to an operation's deadline. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** In fields: up to the most that an operation may ask for. */
const costBuckets = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 50_000];

/** The distribution of one combination of labels. */
export class Histogram {
  readonly buckets: readonly number[];
  /** How many were within each bucket and no smaller one, and how many were more than all buckets. */
  readonly counts: number[];
  sum = 0;

  constructor(buckets: readonly number[]) {
    this.buckets = buckets;
    this.counts = Array.from({ length: buckets.length + 1 }, () => 0);
  }

  /** Adds a value, in the unit of the buckets. */
  add(value: number): void {
    let at = 0;
    while (at < this.buckets.length && value > this.buckets[at]!) at += 1;
    this.counts[at]! += 1;
    this.sum += value;
  }
}

/** The members of one metric. */
class Family<Labels extends readonly string[], Member> {
  readonly #labels: Labels;
  readonly #create: () => Member;
  readonly #members = new Map<string, readonly [written: string, member: Member]>();

  constructor(labels: Labels, create: () => Member) {
    this.#labels = labels;
    this.#create = create;
  }

  /** The member with these values of the labels, in order. Whoever needs it often keeps it. */
  of(...values: { readonly [At in keyof Labels]: string }): Member {
    const key = values.join();
    const known = this.#members.get(key);
    if (known) return known[1];
    const written = this.#labels.map((label, at) => `${label}=${JSON.stringify(values[at])}`).join();
    const member = this.#create();
    this.#members.set(key, [written, member]);
    return member;
  }

  /** Each member, after its labels as they are written. */
  all(): Iterable<readonly [written: string, member: Member]> {
    return this.#members.values();
  }
}

/** Metrics that are all at zero. */
export function createMetrics() {
  /** By name: each metric in the text format. */
  const writers = new Map<string, () => string>();
  const described = new Map<string, DescribedMetric>();
  let processMetrics: Promise<Registry> | undefined;
  let recent: Promise<string> | undefined;

  function write(metric: DescribedMetric, lines: () => readonly string[]): void {
    const { name, type, help } = metric;
    described.set(name, metric);
    writers.set(name, () => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines(), ''].join('\n'));
  }

  function values<const Labels extends readonly string[]>(
    type: 'counter' | 'gauge',
    name: Name,
    help: string,
    labels: Labels,
  ): Family<Labels, Value> {
    const family = new Family<Labels, Value>(labels, () => ({ value: 0 }));
    write({ name, type, help, labels }, () =>
      Array.from(family.all(), ([written, { value }]) => `${name}{${written}} ${value}`),
    );
    return family;
  }

  /** Gauges at zero until they are given something to read. */
  function readings<const Labels extends readonly string[]>(
    name: Name,
    help: string,
    labels: Labels,
  ): Family<Labels, Reading> {
    const family = new Family<Labels, Reading>(labels, () => ({ read: () => 0 }));
    write({ name, type: 'gauge', help, labels }, () =>
      Array.from(family.all(), ([written, { read }]) => `${name}{${written}} ${read()}`),
    );
    return family;
  }

  function histograms<const Labels extends readonly string[]>(
    name: Name,
    help: string,
    labels: Labels,
    buckets = durationBuckets,
  ): Family<Labels, Histogram> {
    const family = new Family(labels, () => new Histogram(buckets));
    write({ name, type: 'histogram', help, labels }, () =>
      Array.from(family.all(), ([written, member]) => linesOf(name, written, member)).flat(),
    );
    return family;
  }

  async function measure(): Promise<string> {
    processMetrics ??= measureProcess();
    const ofProcess = await (await processMetrics).metrics();
    return [...Array.from(writers.values(), (writer) => writer()), ofProcess].join('\n');
  }

  return {
    build: values('gauge', 'trivium_build_info', '1, with the version that runs.', ['version']),
    operationSeconds: histograms(
      'trivium_operation_duration_seconds',
      'Time of a query or mutation, from before its session is looked up until its result.',
      ['transport', 'type'],
    ),
    operationCost: histograms(
      'trivium_operation_cost_fields',
      'Cost of an accepted operation, in fields, as counted for its limit; for a subscription, the cost of one message.',
      ['type'],
      costBuckets,
    ),
    operationErrors: values(
      'counter',
      'trivium_operation_errors_total',
      'Operations whose answer has an error of this code. Requests that are refused before their operation do not count, except when their session could not be looked up, or there was no room for their operation.',
      ['transport', 'code'],
    ),
    untrustedDocuments: values(
      'counter',
      'trivium_untrusted_documents_total',
      'Requests for documents that are not trusted, by what was done with them.',
      ['outcome'],
    ),
    upstreamCalls: values(
      'counter',
      'trivium_upstream_calls_total',
      'Calls to a service, retries included, by the status of the answer or the reason why there is none.',
      ['upstream', 'status'],
    ),
    upstreamSeconds: histograms(
      'trivium_upstream_call_duration_seconds',
      'Time of a call to a service, until its answer is read.',
      ['upstream'],
    ),
    memoryHeld: values(
      'gauge',
      'trivium_memory_held_bytes',
      'Estimated memory that callers hold, by what it is held for.',
      ['kind'],
    ),
    memoryRefused: values(
      'counter',
      'trivium_memory_refused_total',
      'What was refused or given up because its caller held too much memory, by what the memory was for.',
      ['kind'],
    ),
    upstreamsResting: readings(
      'trivium_upstream_resting',
      '1 while the circuit breaker of a service is open: it keeps failing, and gets no calls.',
      ['upstream'],
    ),
    webhooks: values(
      'counter',
      'trivium_webhooks_total',
      'Deliveries that were accepted, by what was done with the event.',
      ['family', 'outcome'],
    ),
    webhooksRefused: values(
      'counter',
      'trivium_webhooks_refused_total',
      'Deliveries that were refused, by the code in the answer.',
      ['family', 'reason'],
    ),
    webhookSeconds: histograms(
      'trivium_webhook_duration_seconds',
      'Time of a delivery, from its arrival until its event is durable.',
      ['family'],
    ),
    webhookAccepted: values(
      'gauge',
      'trivium_webhook_last_accepted_timestamp_seconds',
      'When this process last accepted a delivery of the endpoint, in seconds since 1970. Until it does: when the newest event in the log was accepted.',
      ['family', 'endpoint'],
    ),
    updates: values(
      'counter',
      'trivium_updates_total',
      'Updates that were sent to subscribers: as they happened (live), or later, from a cursor (replayed).',
      ['kind'],
    ),

    relayEntries: values(
      'counter',
      'trivium_relay_entries_total',
      'With `NATS_URL`: events that this replica has read, from NATS (relay) or from Postgres (database).',
      ['source'],
    ),
    relayPublished: values(
      'counter',
      'trivium_relay_published_total',
      'Events that this replica has published to NATS; one replica does this for all.',
      [],
    ),
    relayRefused: values(
      'counter',
      'trivium_relay_refused_total',
      'Messages from NATS that were refused: encrypted with other keys (unreadable), or of another history of the log (forked).',
      ['reason'],
    ),
    relayConnected: values('gauge', 'trivium_relay_connected', '1 while NATS is connected.', []),

    /** Has the value of a gauge read at each scrape; it takes the place of one with the same name. */
    gauge(name: Name, help: string, read: () => number): void {
      write({ name, type: 'gauge', help, labels: [] }, () => [`${name} ${read()}`]);
    },

    /** All of them so far, in order of registration, but for those of the process. */
    described: (): readonly DescribedMetric[] => [...described.values()],

    /** All of them in the text format of Prometheus; what Node.js tells of the process is measured from the first call on. */
    text(): Promise<string> {
      return measure();
    },

    /** As `text`, but of any time within the last second: whoever asks more often gets the same again. */
    recentText(): Promise<string> {
      if (recent === undefined) {
        recent = measure();
        setTimeout(() => (recent = undefined), recentMs).unref();
      }
      return recent;
    },
  };
}

const recentMs = 1_000;

/** The media type of the text format. */
export const textFormat = 'text/plain; version=0.0.4; charset=utf-8';

/** Seconds since a time by `performance.now()`. */
export function secondsSince(began: number): number {
  return (performance.now() - began) / 1_000;
}

/** Buckets are cumulative in the text format. */
function linesOf(name: Name, labels: string, { buckets, counts, sum }: Histogram): readonly string[] {
  let count = 0;
  const lines = counts.map((more, at) => {
    count += more;
    return `${name}_bucket{${labels},le="${buckets[at] ?? '+Inf'}"} ${count}`;
  });
  return [...lines, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${count}`];
}

/** Loaded only here, since most of the time nothing is measured with it. */
async function measureProcess(): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
