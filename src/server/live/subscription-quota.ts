import type { DocumentNode } from 'graphql';
import type { Selection } from '../../events/feed/selection.js';
import { userCaller, type Holding, type MemoryLedger } from '../../lib/memory/memory-ledger.js';
import { heapOfDocument, maxCost } from '../operation/cost/document-limits.js';

/** Accounts for what each user's subscriptions take up, memory and work, so that nobody takes up all of it. */
export interface SubscriptionQuota {
  /** How many subscriptions are charged. */
  readonly size: number;
  /** Charges these to the user; returns a function to be called once to release them, or undefined if too much. */
  take(user: string, items: readonly Item[]): (() => void) | undefined;
}

/** Something kept in memory once, however many of a user's subscriptions share it. */
export interface Item {
  /** Its identity: the same value for the same item. */
  readonly key: unknown;
  /** An estimate. */
  readonly bytes: number;
  /** How many fields are rendered for each event that concerns it, about; 0 for what renders nothing. */
  readonly fields: number;
  /** Which events concern it: those that have one of these values. */
  readonly values: Iterable<unknown>;
}

/** What a user may take up on each replica: memory, and fields for any one value. A field takes about a microsecond. */
export const maxHeldPerUser = { bytes: 64 * 1024 * 1024, fields: 2 * maxCost };
/** In place of a value, if all events of the family concern a group. */
const everyEvent: readonly unknown[] = [undefined];
/** Measured with Node.js 24: for a value of a filter by which entries are found. */
const bytesPerValue = 250;
/** For a character of the variables' JSON, kept as strings and arrays; an empty object takes 20 a character. */
const bytesPerCharacter = 8;
/** For a group that has one such value; for a subscription on its socket. */
const bytesPerGroup = 3_500;
const bytesPerSubscription = 4_000;

/** An item, and how many of the user's subscriptions share it. */
interface Shared {
  readonly item: Item;
  count: number;
}

interface Held {
  /** Where its bytes are charged. */
  readonly memory: Holding;
  /** By value. */
  readonly fields: Map<unknown, number>;
  /** By key. */
  readonly shared: Map<unknown, Shared>;
}

/** What decides how much memory and work a subscription takes. */
export interface Weighed {
  readonly document: DocumentNode;
  /** That of its group. */
  readonly key: string;
  /** The part of the key with the variables. */
  readonly parameters: string;
  readonly selected: readonly Selection[];
  /** About how many fields a message may have. */
  readonly fields: number;
}

/** What a subscription takes up, but for itself: its document, and its group. */
export function weigh({ document, key, parameters, selected, fields }: Weighed): readonly Item[] {
  const values = selected.reduce((sum, selection) => sum + selection.values.size, 0);
  return [
    {
      key: document,
      bytes: heapOfDocument(document),
      fields: 0,
      values: [],
    },
    {
      key,
      bytes: bytesPerGroup + key.length + parameters.length * bytesPerCharacter + values * bytesPerValue,
      fields,
      values: selected[0]?.values ?? everyEvent,
    },
  ];
}

/** A quota of at most this much a user, and of what the ledger has room for; `own` bytes are a subscription's own. */
export function createSubscriptionQuota(
  ledger: MemoryLedger,
  most = maxHeldPerUser,
  own = bytesPerSubscription,
): SubscriptionQuota {
  const users = new Map<string, Held>();
  let size = 0;

  function release(user: string, held: Held, items: readonly Shared[]): void {
    const { memory, shared } = held;
    size -= 1;
    memory.add(-own);
    for (const each of items) {
      each.count -= 1;
      if (each.count > 0) continue;
      shared.delete(each.item.key);
      memory.add(-each.item.bytes);
      addFields(held, each.item, -each.item.fields);
    }
    if (shared.size === 0) users.delete(user);
  }

  return {
    get size() {
      return size;
    },
    take(user, items) {
      const held = users.get(user) ?? {
        memory: ledger.open(userCaller(user), 'subscribed'),
        fields: new Map(),
        shared: new Map<unknown, Shared>(),
      };
      const { memory, shared } = held;
      const fresh = items.filter(({ key }) => !shared.has(key));
      const bytes = memory.heap + own + fresh.reduce((all, item) => all + item.bytes, 0);
      if (bytes > most.bytes || fresh.some((item) => mostFields(held, item) > most.fields)) return undefined;
      if (!memory.resize(bytes)) return undefined;
      for (const item of fresh) {
        addFields(held, item, item.fields);
        shared.set(item.key, { item, count: 0 });
      }
      // A subscription that lasts keeps what is shared, not its own copies of it.
      const kept = items.map(({ key }) => shared.get(key)!);
      for (const each of kept) each.count += 1;
      users.set(user, held);
      size += 1;
      return () => release(user, held, kept);
    },
  };
}

/** The most fields that any of its values would have with it. */
function mostFields({ fields: held }: Held, { fields, values }: Item): number {
  let most = 0;
  for (const value of values) most = Math.max(most, (held.get(value) ?? 0) + fields);
  return most;
}

function addFields({ fields: held }: Held, { values }: Item, more: number): void {
  for (const value of values) {
    const fields = (held.get(value) ?? 0) + more;
    if (fields > 0) held.set(value, fields);
    else held.delete(value);
  }
}
