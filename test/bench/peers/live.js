import { makeExecutableSchema } from '@graphql-tools/schema';
import { openStore } from '../servers/durable-store.js';
import { follow, followers, matches } from '../servers/filter-index.js';
import { resolvers, typeDefs } from './resolvers.js';

/** The store that the hand-written server has, in front of the plainest publish and subscribe there can be. */
const store = await openStore((updates) => {
  for (const update of updates) for (const push of followers(update.event)) push(update);
});

/** Takes a webhook, and resolves with what to answer. */
export const takeWebhook = store.take;

function subscribe(filter, after) {
  const missed = after == null ? [] : store.after(after).filter(({ event }) => matches(filter, event));
  const waiting = missed.map((update) => ({ shipmentUpdates: update }));
  let wake;
  const push = (update) => {
    if (wake) wake({ done: false, value: { shipmentUpdates: update } });
    else waiting.push({ shipmentUpdates: update });
    wake = undefined;
  };
  const leave = follow(filter, push);
  return {
    next: () =>
      waiting.length > 0
        ? Promise.resolve({ done: false, value: waiting.shift() })
        : new Promise((resolve) => (wake = resolve)),
    async return() {
      leave();
      wake?.({ done: true, value: undefined });
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

export const liveSchema = () =>
  makeExecutableSchema({
    typeDefs,
    resolvers: {
      ...resolvers,
      Query: {
        ...resolvers.Query,
        liveCursor: () => String(store.head()),
        shipments: (_, { first }) => ({ nodes: store.newest(first) }),
      },
      Shipment: {
        events: ({ shipmentId }, { first }) => ({
          nodes: store.eventsOf(shipmentId, first).map(({ event }) => event),
        }),
      },
      Subscription: {
        shipmentUpdates: { subscribe: (_, { filter, after }) => subscribe(filter, after) },
      },
    },
  });
