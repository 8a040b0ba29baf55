import type { Columns, Row } from '../../store/sql/bulk-rows.js';
import type { EntityTableName } from '../../store/sql/schema.js';

/** The table that stores the states of a family's entities; `C` names its other columns. */
export interface StateTable<C extends string = string> {
  readonly table: EntityTableName;
  /** The column of the entity's id; the state is in the column `state`. */
  readonly key: string;
  /** The other columns, for filters; also `updated_instant`, by which pages are sorted. */
  readonly columns: Readonly<Record<C, Columns[string]>>;
}

/** How a domain folds its events `E` into the state `S` of an entity, both JSON, and where states are stored. */
export interface Fold<E, S> extends StateTable {
  /** The state after the event, which is at `seq` in the log. Pure. */
  apply(before: S | undefined, event: E, seq: number): S;
  /** The values of the other columns. Pure. */
  toRow(state: S): Row;
}

/** The folds by family. A family's events are what its own domain has parsed, so each fold gets its own `E`. */
export type Folds = Readonly<Record<string, Fold<unknown, unknown>>>;
