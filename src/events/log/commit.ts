import { digest } from '../../lib/sealer.js';
import type { Executor, Store } from '../../store/store.js';
import type { Row } from '../../store/sql/bulk-rows.js';
import { keyText } from '../../store/sql/key-text.js';
import {
  eventKeyOf,
  prepareStatements,
  type Item,
  type Look,
  type NumberedItem,
} from './commit-statements.js';
import type { Delivery } from '../webhooks/delivery.js';
import type { Folds } from './fold.js';
import { positionOf, type LogPosition } from './log-position.js';
import { storeAlteredBodies } from './altered-bodies.js';

/**
 * What became of a delivery: it is a new event, the same one again, or a known event with another body, which the log
 * keeps (`altered`) or not (`unkept`).
 */
export type Outcome = 'stored' | 'duplicate' | 'altered' | 'unkept';

/** The result of one transaction: an outcome for each delivery and, if the log grew, its new end. */
export interface Commit {
  readonly outcomes: readonly Outcome[];
  readonly head: LogPosition | undefined;
  /** The log's last number, after it. */
  readonly seq: number;
}

interface Known {
  readonly seq: number;
  readonly bodyDigest: string;
}

/** The deliveries of a batch, with their outcomes. */
interface Classified {
  readonly outcomes: readonly Outcome[];
  /** New events, with the numbers that follow the head. */
  readonly fresh: readonly NumberedItem[];
  /** Known events with another body, with the number of the event. */
  readonly altered: readonly NumberedItem[];
}

/** What a batch will write, if the log still ends at `head`. */
interface Plan extends Classified {
  readonly head: Look['head'];
  readonly states: States;
}

/**
 * After another process came between a look and its commit, which costs a whole batch, so many batches take the lock:
 * processes that append at the same time go on doing so.
 */
const lockedAfterRace = 32;

/**
 * Creates the function that appends deliveries to the log in one transaction, in order. It reads what is known of them,
 * and writes only if the log still ends where it did then. So numbers follow the order of commits, without gaps: a
 * reader past `seq` never misses a row that commits late.
 */
export function createCommit(
  store: Store,
  folds: Folds,
): (deliveries: readonly Delivery[]) => Promise<Commit> {
  const log = new LogWriter(store, folds);
  return (deliveries) => log.append(deliveries);
}

class LogWriter {
  readonly #store: Store;
  readonly #folds: Folds;
  readonly #statements: ReturnType<typeof prepareStatements>;
  /** How many of the next batches are appended under the lock. */
  #lockedLeft = 0;

  constructor(store: Store, folds: Folds) {
    this.#store = store;
    this.#folds = folds;
    this.#statements = prepareStatements(store, folds);
  }

  async append(deliveries: readonly Delivery[]): Promise<Commit> {
    const unknown = deliveries.find(({ family }) => !Object.hasOwn(this.#folds, family));
    if (unknown) throw new Error(`The log has no fold for the family ${unknown.family}.`);
    const batch = deliveries.map(toItem);
    // On Postgres the lock takes five round trips instead of two. On SQLite round trips cost nothing.
    if (this.#store.engine === 'sqlite') return this.#appendLocked(batch);
    if (this.#lockedLeft === 0) return (await this.#tryToAppend(batch)) ?? this.#appendLocked(batch);
    this.#lockedLeft -= 1;
    return this.#appendLocked(batch);
  }

  async #plan(db: Executor, batch: readonly Item[]): Promise<Plan> {
    const { head, found } = await this.#statements.look(db, batch);
    const known = new Map<string, Known>();
    const states = new States(this.#folds);
    for (const { family, key, seq, text } of found)
      if (seq === null) states.put(family, key, text);
      else known.set(eventKeyOf(family, key), { seq, bodyDigest: text });
    return { head, states, ...classify(batch, known, head.seq) };
  }

  /** Resolves with undefined, and has written nothing, if the head has moved since the batch was planned. */
  async #write(db: Executor, { head, states, outcomes, fresh }: Plan): Promise<Commit | undefined> {
    const last = fresh.at(-1);
    if (!last) return { outcomes, head: undefined, seq: head.seq };
    const events = fresh.map((item) => ({ ...item, entity: states.fold(item) }));
    const { seq, eventKey, delivery } = last;
    const received_at = Date.parse(delivery.receivedAt);
    const newHead = positionOf({ seq, family: delivery.family, event_id: eventKey, received_at });
    const isKept = await this.#statements.keep(db, {
      events,
      folded: (family) => states.folded(family),
      from: head.seq,
      head: newHead,
    });
    return isKept ? { outcomes, head: newHead, seq: newHead.seq } : undefined;
  }

  /** Resolves with undefined, and has written nothing, if the batch has to be appended under the lock. */
  #tryToAppend(batch: readonly Item[]): Promise<Commit | undefined> {
    return this.#store.kysely.connection().execute(async (db) => {
      const planned = await this.#plan(db, batch);
      // A commit that writes nothing does not wait for standbys, which may lack an event that can be read here.
      if (planned.fresh.length === 0 || planned.altered.length > 0) return undefined;
      const commit = await this.#write(db, planned);
      if (!commit) this.#lockedLeft = lockedAfterRace;
      return commit;
    });
  }

  #appendLocked(batch: readonly Item[]): Promise<Commit> {
    return this.#store.kysely.transaction().execute(async (db) => {
      await this.#statements.lockHead(db, undefined);
      const planned = await this.#plan(db, batch);
      const { head, altered } = planned;
      // Retention deletes these together with their event, so none may be stored once that is gone.
      const kept = await storeAlteredBodies(
        db,
        altered.filter(({ seq }) => seq > head.pruned),
        head.seq,
      );
      const outcomes = planned.outcomes.map((outcome, at) =>
        outcome === 'altered' && !kept.has(batch[at]!.delivery) ? 'unkept' : outcome,
      );
      const commit = await this.#write(db, { ...planned, outcomes });
      if (!commit) throw new Error('The head of the log moved although it was locked.');
      return commit;
    });
  }
}

/** An entity's state, the same as JSON, and whether this batch has folded an event into it. */
interface Folded {
  readonly state: unknown;
  readonly text: string;
  readonly changed: boolean;
}

/** The entity states that one batch reads and updates, folded in log order. */
class States {
  readonly #folds: Folds;
  readonly #states: ReadonlyMap<string, Map<string, Folded>>;

  constructor(folds: Folds) {
    this.#folds = folds;
    this.#states = new Map(Object.keys(folds).map((family) => [family, new Map<string, Folded>()]));
  }

  /** Adds a state as it was stored. */
  put(family: string, key: string, text: string): void {
    this.#states.get(family)!.set(key, { state: JSON.parse(text), text, changed: false });
  }

  /** Folds an event; returns the entity's state just after it, as JSON, or null for a skipped event. */
  fold({ seq, delivery: { family, known } }: NumberedItem): string | null {
    if (!known) return null;
    const [key, kept] = [keyText(known.entityId), this.#states.get(family)!];
    const state = this.#folds[family]!.apply(kept.get(key)?.state, known.event, seq);
    const text = JSON.stringify(state);
    kept.set(key, { state, text, changed: true });
    return text;
  }

  /** The rows to write: the family's states into which events were folded. */
  folded(family: string): readonly Row[] {
    const { key, toRow } = this.#folds[family]!;
    const folded = [...this.#states.get(family)!].filter(([, { changed }]) => changed);
    return folded.map(([id, { state, text }]) => ({ [key]: id, state: text, ...toRow(state) }));
  }
}

function toItem(delivery: Delivery): Item {
  return { delivery, eventKey: keyText(delivery.eventId), bodyDigest: digest(delivery.body) };
}

/** An id may also repeat within the batch. */
function classify(batch: readonly Item[], known: Map<string, Known>, head: number): Classified {
  const fresh: NumberedItem[] = [];
  const altered: NumberedItem[] = [];
  const outcomes = batch.map((item): Outcome => {
    const key = eventKeyOf(item.delivery.family, item.eventKey);
    const first = known.get(key);
    if (!first) {
      const seq = head + fresh.length + 1;
      known.set(key, { seq, bodyDigest: item.bodyDigest });
      fresh.push({ ...item, seq });
      return 'stored';
    }
    if (first.bodyDigest === item.bodyDigest) return 'duplicate';
    altered.push({ ...item, seq: first.seq });
    return 'altered';
  });
  return { outcomes, fresh, altered };
}
