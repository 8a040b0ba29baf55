import { createTrivium, type Trivium } from '../../src/client/core/trivium.js';

/** A client of the page's own gateway, and one over it whose subscriptions are counted. */
export interface WatchedTrivium {
  readonly trivium: Trivium;
  readonly watched: Trivium;
  /** How many subscriptions of `watched` there are. */
  readonly active: () => number;
}

/** Creates a client whose subscriptions are counted. */
export function watchTrivium(): WatchedTrivium {
  const trivium = createTrivium({ url: location.origin });
  const following = new Set<object>();
  const watched = Object.assign(Object.create(trivium) as Trivium, {
    subscribe(...request: Parameters<Trivium['subscribe']>) {
      const leave = trivium.subscribe(...request);
      following.add(leave);
      return () => {
        following.delete(leave);
        leave();
      };
    },
  });
  return { trivium, watched, active: () => following.size };
}
