import type { Logger } from 'pino';

/** What a signal can be about. */
export const channels = ['log', 'sessions', 'secrets'] as const;
/** One of `channels`. */
export type Channel = (typeof channels)[number];

/** The name of a channel in Postgres, with a prefix, since other programs may have channels there too. */
export function channelName(channel: Channel): string {
  return `trivium_${channel}`;
}

/** The listeners of this process, by channel. */
export interface Notifications {
  /** Passes the payload to every listener of the channel, always after this call has returned. */
  emit(channel: Channel, payload: string): void;
  /** Returns a function that stops it. */
  listen(channel: Channel, hear: (payload: string) => void): () => void;
}

/** Creates the listeners of a process; if one throws, that is logged, and the others are still called. */
export function createNotifications(log: Logger): Notifications {
  const listeners = new Map<Channel, Set<(payload: string) => void>>();
  const deliver = (channel: Channel, payload: string) => {
    for (const hear of listeners.get(channel) ?? []) {
      try {
        hear(payload);
      } catch (error) {
        log.error({ err: error, channel }, 'a signal listener failed');
      }
    }
  };
  return {
    emit: (channel, payload) => queueMicrotask(() => deliver(channel, payload)),
    listen(channel, hear) {
      const own = (payload: string) => hear(payload); // the same function may listen twice
      const set = listeners.get(channel) ?? new Set();
      listeners.set(channel, set.add(own));
      return () => void set.delete(own);
    },
  };
}
