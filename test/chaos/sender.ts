import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createEvent, signedHeaders, type Endpoint, type Event, type Family } from './events.js';
import type { Random } from './random.js';

/** An event that was sent, and what became of it. */
export interface Sent extends Event {
  readonly family: Family;
  acknowledged: boolean;
}

/** The services' senders: they try again as `apis/webhooks.md` §8 says, only sooner. */
export interface Senders {
  readonly sent: readonly Sent[];
  readonly attempts: number;
  /** How many attempts were answered 401. */
  readonly refused: number;
  /** The attempts answered 401 though they were signed by a secret that the gateway had said that it has. */
  readonly wronglyRefused: readonly string[];
  /** Sends no new event; resolves when every delivery is acknowledged or marked failed. */
  finish(): Promise<void>;
  /** Sends once more what is marked failed, as somebody does by hand when all is well again; then closes. */
  replay(): Promise<void>;
}

/** Where deliveries go. */
export interface Destination {
  /** As the sender has it now. */
  now(): Endpoint;
  /** Whether the gateway has said that it has this secret. */
  isKnown(secret: string): boolean;
}

/** Whether the gateway has said that it has one of those secrets by which deliveries are signed now. */
export function isKnownNow({ now, isKnown }: Destination): boolean {
  return secretsOf(now()).some(isKnown);
}

function secretsOf({ secret, previous }: Endpoint): readonly string[] {
  return previous === undefined ? [secret] : [secret, previous];
}

export interface SendersOptions {
  readonly destinations: Readonly<Record<Family, Destination>>;
  /** Where to send the next one. */
  readonly url: () => string;
  readonly random: Random;
  /** About how many events a second. */
  readonly rate: number;
  /** By how much sooner than documented they try again. */
  readonly haste: number;
}

/** Immediately, after 5 minutes, after 30 minutes, after 2 hours. */
const scheduleMs = [0, 300_000, 1_800_000, 7_200_000];
const patienceMs = 4_000;
const maxInFlight = 150;

/** Starts to send. */
export function startSenders({ destinations, url, random, rate, haste }: SendersOptions): Senders {
  const agent = new Agent({ keepAlive: true });
  const sent: Sent[] = [];
  const underWay = new Set<Promise<void>>();
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
    // Two rotations while it was under way make both of its signatures worthless.
    if (status === 401 && secretsOf(now()).some((secret) => known.includes(secret)))
      wronglyRefused.push(`${event.id} was answered 401`);
    return isTaken;
  }

  async function deliver(event: Sent): Promise<void> {
    for (const delayMs of scheduleMs) {
      await sleep(delayMs / haste);
      if (await attempt(event)) return;
    }
  }

  /** Delivery is at least once: some go twice at the same moment, some again after they were acknowledged. */
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
    const work = send(event).finally(() => underWay.delete(work));
    underWay.add(work);
  }

  async function run(): Promise<void> {
    while (!stopped) {
      const burst = random.chance(0.2) ? random.whole(5, 20) : 1;
      for (let i = 0; i < burst && underWay.size < maxInFlight; i++) begin();
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
      await Promise.all(underWay);
    },
    async replay() {
      for (const event of sent.filter(({ acknowledged }) => !acknowledged)) await attempt(event);
      agent.destroy();
    },
  };
}

/** The status of a whole answer; undefined where none came. */
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
    const patience = setTimeout(() => sent.destroy(), patienceMs);
    sent.on('error', () => resolve(undefined));
    sent.on('close', () => {
      clearTimeout(patience);
      resolve(undefined);
    });
    sent.end(body);
  });
}
