import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { cursorOf } from '../../src/client/core/document.js';
import { Liveness } from '../../src/client/core/liveness.js';
import { withErrorListener } from '../../src/client/core/socket.js';
import { documentOf, type Profile } from './profiles.js';
import type { Random } from './random.js';
import type { Fields } from './expected.js';

/** An update as it was received. */
export interface Seen {
  readonly eventId: string;
  readonly cursor: string;
  readonly event: Fields;
  /** The fields that do not depend on when the update was rendered. */
  readonly entity: Fields;
  /** The newest event of the entity when the update was rendered; undefined if not selected. */
  readonly newest: string | undefined;
}

/** A client that follows a family, and reconnects whenever its connection is lost. */
export interface Subscriber {
  readonly profile: Profile;
  readonly seen: readonly Seen[];
  /** Why the gateway ended its operation, each time. */
  readonly endings: readonly string[];
  /** How often in a row it was refused for lack of a valid session. */
  readonly refusals: number;
  /** When it last had an open socket that a gateway had acknowledged, on the clock of `performance`. */
  readonly servedAt: number;
  stop(): Promise<void>;
}

export interface SubscriberOptions {
  readonly profile: Profile;
  readonly token: string;
  /** The cursor to start after. */
  readonly after: string;
  /** The gateway to connect to next. */
  readonly url: () => string;
  readonly random: Random;
}

interface Answer {
  readonly update: {
    readonly cursor: string;
    readonly event: Fields & { readonly eventId: string };
    readonly entity: Fields & { readonly events?: { readonly nodes: readonly { eventId: string }[] } };
  };
}

const unauthorized = 4401;

/** Subscribes until it is stopped. */
export function startSubscriber({ profile, token, after, url, random }: SubscriberOptions): Subscriber {
  const seen: Seen[] = [];
  const endings: string[] = [];
  let refusals = 0;
  let servedAt = 0;
  let isServed = false;
  let cursor = after;
  let stopped = false;
  let leave = () => {};

  /** A client that sends these variables, also when the connection was lost. */
  function connect(variables: { after: string }) {
    const liveness = new Liveness(() => client.terminate(), 2_000);
    const client = createClient({
      url: () => `${url().replace('http', 'ws')}/graphql`,
      webSocketImpl: withErrorListener(WebSocket),
      connectionParams: { authorization: `Bearer ${token}` },
      connectionAckWaitTimeout: 5_000,
      keepAlive: 2_000,
      on: {
        ...liveness.on,
        connected: () => serve(true),
        message(message) {
          liveness.on.message?.(message);
          if (message.type === 'next') variables.after = cursorOf(message.payload.data) ?? variables.after;
        },
        closed(event) {
          liveness.on.closed?.(event);
          serve(false);
        },
      },
      shouldRetry: () => true,
      retryAttempts: Infinity,
      retryWait: () => sleep(random.between(20, 300)),
    });
    return client;
  }

  function serve(admitted: boolean): void {
    if (admitted || isServed) servedAt = performance.now();
    isServed = admitted;
  }

  function take({ update }: Answer): void {
    const { event, entity } = update;
    const { events, ...rest } = entity;
    cursor = update.cursor;
    refusals = 0;
    seen.push({ eventId: event.eventId, cursor, event, entity: rest, newest: events?.nodes[0]?.eventId });
  }

  function isUnauthorized(error: unknown): boolean {
    return (error as { code?: unknown }).code === unauthorized;
  }

  /** Runs one operation, which the client resumes by itself, until this subscriber leaves or the gateway ends it. */
  async function follow(): Promise<void> {
    // Of this client alone: a socket that closes may still hear updates, which nobody takes any more.
    const variables = { after: cursor, filter: profile.filter };
    const client = connect(variables);
    const updates = client.iterate<Answer>({ query: documentOf(profile), variables });
    leave = () => void updates.return?.();
    const restless = profile.isRestless ? setTimeout(() => leave(), random.between(200, 3_000)) : undefined;
    try {
      for await (const { data, errors } of updates) {
        if (errors) endings.push(`an update with ${describe(errors)}`);
        if (data) take(data);
      }
    } catch (error) {
      if (isUnauthorized(error)) refusals += 1;
      if (!stopped) endings.push(describe(error));
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
    profile,
    seen,
    endings,
    get refusals() {
      return refusals;
    },
    get servedAt() {
      return isServed ? performance.now() : servedAt;
    },
    async stop() {
      stopped = true;
      leave();
      await running;
    },
  };
}

function describe(error: unknown): string {
  if (Array.isArray(error))
    return (error as { extensions?: { code?: string } }[]).map(({ extensions }) => extensions?.code).join();
  const { code, reason, message } = error as { code?: number; reason?: string; message?: string };
  return code === undefined ? String(message) : `closed with ${code} ${reason}`;
}
