import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEvent, signedHeaders, type Endpoint, type Event, type Family } from './events.js';
import type { Random } from './random.js';

/** An event that was sent, and what became of it. */
export interface Sent extends Event {
  readonly family: Family;
  acknowledged: boolean;
}

/** The services' senders, which retry as documented (`apis/webhooks.md` §8), only sooner. */
export interface Senders {
  readonly sent: readonly Sent[];
  readonly attempts: number;
  /** How many attempts were answered 401. */
  readonly refused: number;
  /** The attempts that were answered 401 although a secret that the gateway has confirmed signed them. */
  readonly wronglyRefused: readonly string[];
  /** Sends no new event; resolves when every delivery is acknowledged or marked failed. */
  finish(): Promise<void>;
  /** Sends failed deliveries once more, as an operator does after an outage; then closes the connections. */
  replay(): Promise<void>;
}

/** Where deliveries go. */
export interface Destination {
  /** The endpoint as the sender has it now. */
  now(): Endpoint;
  /** Whether the gateway has confirmed that it has this secret. */
  isKnown(secret: string): boolean;
}

/** Whether the gateway has confirmed one of the secrets that sign deliveries now. */
export function isKnownNow({ now, isKnown }: Destination): boolean {
  return secretsOf(now()).some(isKnown);
}

function secretsOf({ secret, previous }: Endpoint): readonly string[] {
  return previous === undefined ? [secret] : [secret, previous];
}

export interface SendersOptions {
  readonly destinations: Readonly<Record<Family, Destination>>;
  /** The gateway to send the next delivery to. */
  readonly url: () => string;
  readonly random: Random;
  /** Roughly how many events a second. */
  readonly rate: number;
  /** By which factor they retry sooner than documented. */
  readonly retrySpeedup: number;
}

/** The delays before the attempts: none, 5 minutes, 30 minutes, 2 hours. */
const scheduleMs = [0, 300_000, 1_800_000, 7_200_000];
const patienceMs = 4_000;
const maxInFlight = 150;

/** Starts sending. */
export function startSenders({ destinations, url, random, rate, retrySpeedup }: SendersOptions): Senders {
  const agent = new Agent({ keepAlive: true });
  const sent: Sent[] = [];
  const inProgress = new Set<Promise<void>>();
  const wronglyRefused: string[] = [];
  let attempts = 0;
  let refused = 0;
  let stopped = false;

  async function attempt(event: Sent): Promise<boolean> {
    attempts += 1;
    const { now, isKnown } = destinations[event.family];
    const endpoint = now();
    const known = secretsOf(endpoint).filter(isKnown);
    const address = `${url()}/webhooks/${endpoint.family}/${endpoint.id}`;
    const status = await post(agent, address, signedHeaders(endpoint, event), event.body);
    const isTaken = status !== undefined && status >= 200 && status < 300;
    if (isTaken) event.acknowledged = true;
    if (status === 401) refused += 1;
    // Two rotations during the attempt make both of its signatures invalid.
    if (status === 401 && secretsOf(now()).some((secret) => known.includes(secret)))
      wronglyRefused.push(`${event.id} was answered 401`);
    return isTaken;
  }

  async function deliver(event: Sent): Promise<void> {
    for (const delayMs of scheduleMs) {
      await sleep(delayMs / retrySpeedup);
      if (await attempt(event)) return;
    }
  }

  /** Delivery is at least once: some events are sent twice at the same time, some again after the acknowledgement. */
  async function send(event: Sent): Promise<void> {
    const copies = random.chance(0.15) ? 2 : 1;
    const againMs = random.chance(0.1) ? random.between(0, 3_000) : undefined;
    await Promise.all(Array.from({ length: copies }, () => deliver(event)));
    if (againMs === undefined) return;
    await sleep(againMs);
    await attempt(event);
  }

  function begin(): void {
    const family = random.pick(['shipments', 'payments'] as const);
    const event = { ...createEvent(family, random), family, acknowledged: false };
    sent.push(event);
    const work = send(event).finally(() => inProgress.delete(work));
    inProgress.add(work);
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const burst = random.chance(0.2) ? random.whole(5, 20) : 1;
      for (let i = 0; i < burst && inProgress.size < maxInFlight; i++) begin();
      await sleep((burst * random.between(0, 2_000)) / rate);
    }
  }

  const running = run();
  return {
    sent,
    get attempts() {
      return attempts;
    },
    get refused() {
      return refused;
    },
    wronglyRefused,
    async finish() {
      stopped = true;
      await running;
      await Promise.all(inProgress);
    },
    async replay() {
      for (const event of sent.filter(({ acknowledged }) => !acknowledged)) await attempt(event);
      agent.destroy();
    },
  };
}

/** The status of a complete answer; undefined if there was none. */
function post(
  agent: Agent,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<number | undefined> {
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      answer.on('error', () => resolve(undefined)).on('end', () => resolve(answer.statusCode));
      answer.resume();
    });
    const timer = setTimeout(() => sent.destroy(), patienceMs);
    sent.on('error', () => resolve(undefined));
    sent.on('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    sent.end(body);
  });
}
