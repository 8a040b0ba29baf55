import type { DocumentNode } from 'graphql';
import type { Selection } from '../events/feed.js';

/** What the subscriptions of each user keep in memory, so that nobody takes up all of it. */
export interface Holdings {
  /** Counts these as the user's; returns what to call once to release them, or undefined if they would be too much. */
  take(user: string, things: readonly Thing[]): (() => void) | undefined;
}

/** What is kept once, however many of a user's subscriptions share it. */
export interface Thing {
  /** The same for the same thing. */
  readonly what: unknown;
  /** As they are reckoned. */
  readonly bytes: number;
}

/** Bytes, on each replica. */
const mostHeld = 64 * 1024 * 1024;
/** Bytes, as measured with Node.js 24: a token of a parsed document; a value by which entries are found. */
const ofToken = 300;
const ofValue = 250;
/** For each character of the variables' JSON: kept as texts and arrays; an empty object takes 20 a character. */
const ofCharacter = 8;
/** A group that has one value; a subscription on its socket. */
const ofGroup = 3_500;
const ofSubscription = 4_000;

interface Held {
  bytes: number;
  /** How many of the user's subscriptions share each thing. */
  readonly shares: Map<unknown, number>;
}

/** What a subscription keeps: its document, and a group under this key, of which `asked` are the variables. */
export function weigh(
  document: DocumentNode,
  key: string,
  asked: string,
  selected: readonly Selection[],
): readonly Thing[] {
  const values = selected.reduce((sum, selection) => sum + selection.values.size, 0);
  return [
    { what: document, bytes: (document.loc?.source.body.length ?? 0) + (document.tokenCount ?? 0) * ofToken },
    { what: key, bytes: ofGroup + key.length + asked.length * ofCharacter + values * ofValue },
    { what: Symbol('a subscription'), bytes: ofSubscription },
  ];
}

/** Holdings of no more than so many bytes a user. */
export function createHoldings(most = mostHeld): Holdings {
  const users = new Map<string, Held>();

  return {
    take(user, things) {
      const held = users.get(user) ?? { bytes: 0, shares: new Map<unknown, number>() };
      const { shares } = held;
      const fresh = things.filter(({ what }) => !shares.has(what));
      const bytes = held.bytes + fresh.reduce((sum, thing) => sum + thing.bytes, 0);
      if (bytes > most) return undefined;
      held.bytes = bytes;
      for (const { what } of things) shares.set(what, (shares.get(what) ?? 0) + 1);
      users.set(user, held);
      return () => {
        for (const thing of things) {
          const left = shares.get(thing.what)! - 1;
          if (left > 0) shares.set(thing.what, left);
          else if (shares.delete(thing.what)) held.bytes -= thing.bytes;
        }
        if (shares.size === 0) users.delete(user);
      };
    },
  };
}
