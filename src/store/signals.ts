import type { Logger } from 'pino';

/** What a signal can be about. */
export const channels = ['log', 'sessions', 'secrets'] as const;
export type Channel = (typeof channels)[number];

/** The name of a channel in Postgres, where other programs may have channels too. */
export function channelName(channel: Channel): string {
  return `trivium_${channel}`;
}

/** Who listens to which channel in this process. */
export interface Signals {
  /** Gives the payload to every listener of the channel, never before this call returns. */
  hear(channel: Channel, payload: string): void;
  /** Returns a function that stops it. */
  listen(channel: Channel, hear: (payload: string) => void): () => void;
}

/** Listeners of this process; one that throws is logged and disturbs no other. */
export function createSignals(log: Logger): Signals {
  const listeners = new Map<Channel, Set<(payload: string) => void>>();
  const tell = (channel: Channel, payload: string) => {
    for (const hear of listeners.get(channel) ?? []) {
      try {
        hear(payload);
      } catch (error) {
        log.error({ err: error, channel }, 'a listener failed');
      }
    }
  };
  return {
    hear: (channel, payload) => queueMicrotask(() => tell(channel, payload)),
    listen(channel, hear) {
      const own = (payload: string) => hear(payload); // the same function may listen twice
      const set = listeners.get(channel) ?? new Set();
      listeners.set(channel, set.add(own));
      return () => void set.delete(own);
    },
  };
}
