import { setTimeout as sleep } from 'node:timers/promises';
import type { Sandbox } from '../../src/sandbox/sandbox.js';

import { insist, type Asking } from './insistence.js';
import type { Destination } from './sender.js';

/** An endpoint of the payment service, whose secret can be rotated. */
export interface PaymentEndpoint extends Destination {
  /** Notes the present secret as one that the gateway has. */
  know(): void;
}

/** A payment endpoint at the service. */
export function createPaymentEndpoint(sandbox: Sandbox, id: string): PaymentEndpoint {
  const { secret: first } = sandbox.webhooks.addPaymentEndpoint({ id });
  const known = new Set([first]);
  const now = () => {
    const { secret, previous } = sandbox.webhooks.endpoints().find((it) => it.id === id)!;
    return { family: 'payments', id, secret, previous: previous?.secret } as const;
  };
  return { now, isKnown: (secret) => known.has(secret), know: () => void known.add(now().secret) };
}

/** An operator who rotates an endpoint's secret, and rotates again where it is not known whether that succeeded. */
export interface Rotator {
  /** How many rotations succeeded. */
  readonly rotations: number;
  /** How many requests came to nothing. */
  readonly failures: number;
  /** Begins no more; gives the one under way so long. */
  finish(mostMs: number): Promise<void>;
}

export interface RotatorOptions extends Omit<Asking, 'patienceMs' | 'stopped'> {
  readonly endpoint: PaymentEndpoint;
  readonly token: string;
}

const pauseMs = [200, 3_000] as const;
/** A rotation that was killed is in the way of others for as long as its lease. */
const patienceMs = 40_000;

const query = `mutation ($input: RotatePaymentWebhookSecretInput!) {
  rotatePaymentWebhookSecret(input: $input) { rotatedAt }
}`;

/** Starts to rotate; resolves when it has done so once. */
export async function startRotator({ url, random, endpoint, token }: RotatorOptions): Promise<Rotator> {
  const finishing = new AbortController();
  const stopping = new AbortController();
  const asking = { url, random, patienceMs, stopped: stopping.signal };
  let rotations = 0;
  let failures = 0;

  async function rotate(): Promise<void> {
    let before = endpoint.now().secret;
    const done = await insist(asking, {
      query,
      variables: { input: { endpointId: endpoint.now().id } },
      token,
      read: ({ data }) => (data?.rotatePaymentWebhookSecret?.rotatedAt as string | null) ?? undefined,
      failed() {
        failures += 1;
        before = endpoint.now().secret;
      },
    });
    if (done === undefined) return;
    rotations += 1;
    // Otherwise one that was thought lost has come between, and which of the two the gateway has is not known.
    if (endpoint.now().previous === before) endpoint.know();
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
    async finish(mostMs) {
      finishing.abort();
      const patience = setTimeout(() => stopping.abort(), mostMs);
      await running;
      clearTimeout(patience);
    },
  };
}
