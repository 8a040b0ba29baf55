import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { resuming } from '../../src/client/resume.js';
import type { Family } from './events.js';
import type { Random } from './random.js';

/** What a subscriber asks for, and how it behaves. */
export interface Habit {
  readonly name: string;
  readonly family: Family;
  /** Only shipment events of these stages. */
  readonly stages?: readonly string[];
  /** Whether it leaves now and then, and comes back with its last cursor. */
  readonly isRestless?: boolean;
}

/** An update as it came. */
export interface Seen {
  readonly eventId: string;
  /** All of it that does not depend on when it was seen. */
  readonly content: string;
}

/** A client that follows a family through every loss of its connection. */
export interface Subscriber {
  readonly habit: Habit;
  readonly seen: readonly Seen[];
  /** Why the gateway ended its operation, each time. */
  readonly endings: readonly string[];
  stop(): Promise<void>;
}

export interface SubscriberOptions {
  readonly habit: Habit;
  readonly token: string;
  /** The place in the log after which to begin. */
  readonly after: string;
  /** Where to connect next. */
  readonly url: () => string;
  readonly random: Random;
}

interface Answer {
  readonly update: { readonly cursor: string; readonly event: { readonly eventId: string } };
}

const documents: Readonly<Record<Family, string>> = {
  shipments: `subscription ($after: String, $stages: [ShipmentStage!]) {
    update: shipmentUpdates(after: $after, filter: { stages: $stages }) {
      cursor
      event { eventId stage occurredAt carrier }
      shipment { shipmentId stage status carrier updatedAt }
    }
  }`,
  payments: `subscription ($after: String) {
    update: paymentUpdates(after: $after) {
      cursor
      event { eventId amount created }
      payment { paymentId amount status updatedAt }
    }
  }`,
};

/** Follows until it is stopped. */
export function startSubscriber({ habit, token, after, url, random }: SubscriberOptions): Subscriber {
  const seen: Seen[] = [];
  const endings: string[] = [];
  let cursor = after;
  let stopped = false;
  let leave = () => {};

  const connect = () =>
    createClient(
      resuming({
        url: () => `${url().replace('http', 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { authorization: `Bearer ${token}` },
        connectionAckWaitTimeout: 5_000,
        keepAlive: 2_000,
        retryAttempts: Infinity,
        retryWait: () => sleep(random.between(20, 300)),
      }),
    );

  function take({ update }: Answer): void {
    cursor = update.cursor;
    seen.push({ eventId: update.event.eventId, content: JSON.stringify(update) });
  }

  /** One operation, which the client takes up again by itself; ends when it is left or the gateway ends it. */
  async function follow(): Promise<void> {
    const client = connect();
    const variables = { after: cursor, ...(habit.stages && { stages: habit.stages }) };
    const updates = client.iterate<Answer>({ query: documents[habit.family], variables });
    leave = () => void updates.return?.();
    const restless = habit.isRestless ? setTimeout(() => leave(), random.between(200, 3_000)) : undefined;
    try {
      for await (const { data, errors } of updates) {
        if (errors) endings.push(`an update with ${tell(errors)}`);
        if (data) take(data);
      }
    } catch (error) {
      if (!stopped) endings.push(tell(error));
    } finally {
      clearTimeout(restless);
      await client.dispose();
    }
  }

  async function run(): Promise<void> {
    while (!stopped) {
      await follow();
      if (!stopped) await sleep(random.between(0, 200));
    }
  }

  const running = run();
  return {
    habit,
    seen,
    endings,
    async stop() {
      stopped = true;
      leave();
      await running;
    },
  };
}

function tell(error: unknown): string {
  if (Array.isArray(error))
    return (error as { extensions?: { code?: string } }[]).map(({ extensions }) => extensions?.code).join();
  const { code, reason, message } = error as { code?: number; reason?: string; message?: string };
  return code === undefined ? String(message) : `closed with ${code} ${reason}`;
}
