import type { DocumentNode } from 'graphql';
import type { Selection } from '../events/interests.js';

/** Accounts for the memory that each user's subscriptions keep, so that nobody takes up all of it. */
export interface Holdings {
  /** Charges these to the user; returns a function to be called once to release them, or undefined if too much. */
  take(user: string, items: readonly Holding[]): (() => void) | undefined;
}

/** Something kept in memory once, however many of a user's subscriptions share it. */
export interface Holding {
  /** Its identity: the same value for the same item. */
  readonly key: unknown;
  /** An estimate. */
  readonly bytes: number;
}

/** Bytes that a user may keep on each replica. */
const maxBytesPerUser = 64 * 1024 * 1024;
/** Measured with Node.js 24: for a token of a parsed document; for a value of a filter by which entries are found. */
const bytesPerToken = 300;
const bytesPerValue = 250;
/** For a character of the variables' JSON, kept as strings and arrays; an empty object takes 20 a character. */
const bytesPerCharacter = 8;
/** For a group that has one such value; for a subscription on its socket. */
const bytesPerGroup = 3_500;
const bytesPerSubscription = 4_000;

interface Held {
  bytes: number;
  /** How many of the user's subscriptions share each item. */
  readonly shares: Map<unknown, number>;
}

/** What a subscription keeps: its document, its group, and itself; `parameters` is the part of `key` with variables. */
export function weigh(
  document: DocumentNode,
  key: string,
  parameters: string,
  selected: readonly Selection[],
): readonly Holding[] {
  const values = selected.reduce((sum, selection) => sum + selection.values.size, 0);
  return [
    {
      key: document,
      bytes: (document.loc?.source.body.length ?? 0) + (document.tokenCount ?? 0) * bytesPerToken,
    },
    {
      key,
      bytes: bytesPerGroup + key.length + parameters.length * bytesPerCharacter + values * bytesPerValue,
    },
    { key: Symbol('a subscription'), bytes: bytesPerSubscription },
  ];
}

/** Holdings of at most this many bytes a user. */
export function createHoldings(maxBytes = maxBytesPerUser): Holdings {
  const users = new Map<string, Held>();

  return {
    take(user, items) {
      const held = users.get(user) ?? { bytes: 0, shares: new Map<unknown, number>() };
      const { shares } = held;
      const fresh = items.filter(({ key }) => !shares.has(key));
      const bytes = held.bytes + fresh.reduce((sum, item) => sum + item.bytes, 0);
      if (bytes > maxBytes) return undefined;
      held.bytes = bytes;
      for (const { key } of items) shares.set(key, (shares.get(key) ?? 0) + 1);
      users.set(user, held);
      return () => {
        for (const item of items) {
          const left = shares.get(item.key)! - 1;
          if (left > 0) shares.set(item.key, left);
          else if (shares.delete(item.key)) held.bytes -= item.bytes;
        }
        if (shares.size === 0) users.delete(user);
      };
    },
  };
}
