import type { Executor } from '../store/database.js';
import type { Delivery } from './delivery.js';

/**
 * How a domain folds its events `E` into the state `S` of an entity, both JSON. `load` and `save` are called in one
 * transaction, under the lock of the log's head: nobody else writes between the two.
 */
export interface Fold<E, S> {
  /** The states of those of these entities that have one. */
  load(db: Executor, entityIds: readonly string[]): Promise<ReadonlyMap<string, S>>;
  /** The state after the event, which is at `seq` in the log. Pure. */
  apply(before: S | undefined, event: E, seq: number): S;
  /** Keeps these states: one statement or few, not one a state. */
  save(db: Executor, states: ReadonlyMap<string, S>): Promise<void>;
}

/** The folds by family. A family's events are what its own domain has parsed, so each fold gets its own `E`. */
export type Folds = Readonly<Record<string, Fold<unknown, unknown>>>;

/** A delivery that has its place in the log. */
export interface Placed {
  readonly seq: number;
  readonly delivery: Delivery;
}

/** Folds new events in log order; gives for each that is not skipped the entity just after it, by `seq`. */
export async function foldAll(
  db: Executor,
  folds: Folds,
  placed: readonly Placed[],
): Promise<ReadonlyMap<number, unknown>> {
  const entities = new Map<number, unknown>();
  for (const [family, fold] of Object.entries(folds)) {
    const events = placed.flatMap(({ seq, delivery }) =>
      delivery.family === family && delivery.known ? [{ seq, ...delivery.known }] : [],
    );
    if (events.length === 0) continue;
    const states = new Map(await fold.load(db, [...new Set(events.map(({ entityId }) => entityId))]));
    for (const { seq, entityId, event } of events) {
      const state = fold.apply(states.get(entityId), event, seq);
      states.set(entityId, state);
      entities.set(seq, state);
    }
    await fold.save(db, states);
  }
  return entities;
}
