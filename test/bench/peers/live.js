import { makeExecutableSchema } from '@graphql-tools/schema';
import { toUpdate } from '../servers/shipment-update.js';
import { resolvers, typeDefs } from './resolvers.js';

/** Who follows which carrier: the plainest publish and subscribe there can be. */
const followers = new Map();

function follow(carrier) {
  const waiting = [];
  let wake;
  const push = (update) => {
    if (wake) wake({ done: false, value: { shipmentUpdates: update } });
    else waiting.push({ shipmentUpdates: update });
    wake = undefined;
  };
  const group = followers.get(carrier) ?? new Set();
  followers.set(carrier, group.add(push));
  return {
    next: () =>
      waiting.length > 0
        ? Promise.resolve({ done: false, value: waiting.shift() })
        : new Promise((resolve) => (wake = resolve)),
    async return() {
      group.delete(push);
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
      Subscription: { shipmentUpdates: { subscribe: (_, { filter }) => follow(filter.carriers[0]) } },
    },
  });

/** Tells the followers of a webhook, and gives what to answer it with. */
export function takeWebhook(body) {
  const update = toUpdate(body);
  for (const push of followers.get(update.event.carrier) ?? []) push(update);
  return '{"received":true}';
}
