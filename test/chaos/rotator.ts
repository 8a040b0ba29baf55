import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/sandbox.js';

import { askUntilAnswered, type AskingOptions } from './ask-until-answered.js';
import type { Destination } from './sender.js';

/** An endpoint of the payment service, whose secret can be rotated. */
export interface PaymentEndpoint extends Destination {
  /** Marks the current secret as one that the gateway has. */
  markKnown(): void;
}

/** Creates a payment endpoint at the service. */
export function createPaymentEndpoint(sandbox: Sandbox, id: string): PaymentEndpoint {
  const { secret: first } = sandbox.webhooks.addPaymentEndpoint({ id });
  const known = new Set([first]);
  const now = () => {
    const { secret, previous } = sandbox.webhooks.endpoints().find((it) => it.id === id)!;
    return { family: 'payments', id, secret, previous: previous?.secret } as const;
  };
  return { now, isKnown: (secret) => known.has(secret), markKnown: () => void known.add(now().secret) };
}

/** An operator who rotates an endpoint's secret, and rotates again if the outcome is unknown. */
export interface Rotator {
  /** How many rotations succeeded. */
  readonly rotations: number;
  /** How many requests failed. */
  readonly failures: number;
  /** Starts no new rotation, and waits at most so long for the current one. */
  finish(maxMs: number): Promise<void>;
}

export interface RotatorOptions extends Omit<AskingOptions, 'patienceMs' | 'stopped'> {
  readonly endpoint: PaymentEndpoint;
  readonly token: string;
}

const pauseMs = [200, 3_000] as const;
/** A killed rotation blocks others until its lease expires. */
const patienceMs = 40_000;

const query = `mutation ($input: RotatePaymentWebhookSecretInput!) {
  rotatePaymentWebhookSecret(input: $input) { rotatedAt }
}`;

/** Starts rotating; resolves after the first rotation. */
export async function startRotator({ url, random, endpoint, token }: RotatorOptions): Promise<Rotator> {
  const finishing = new AbortController();
  const stopping = new AbortController();
  const askingOptions = { url, random, patienceMs, stopped: stopping.signal };
  let rotations = 0;
  let failures = 0;

  async function rotate(): Promise<void> {
    let before = endpoint.now().secret;
    const done = await askUntilAnswered(askingOptions, {
      query,
      variables: { input: { endpointId: endpoint.now().id } },
      token,
      read: ({ data }) => (data?.rotatePaymentWebhookSecret?.rotatedAt as string | null) ?? undefined,
      onFailure() {
        failures += 1;
        before = endpoint.now().secret;
      },
    });
    if (done === undefined) return;
    rotations += 1;
    // Otherwise a rotation that seemed lost came in between, and it is unknown which of both secrets the gateway has.
    if (endpoint.now().previous === before) endpoint.markKnown();
  }

  async function run(): Promise<void> {
    while (!finishing.signal.aborted) {
      await sleep(random.between(...pauseMs), undefined, { signal: finishing.signal }).catch(() => undefined);
      await rotate();
    }
  }

  await rotate();
  const running = run();
  return {
    get rotations() {
      return rotations;
    },
    get failures() {
      return failures;
    },
    async finish(maxMs) {
      finishing.abort();
      const timer = setTimeout(() => stopping.abort(), maxMs);
      await running;
      clearTimeout(timer);
    },
  };
}
