import { sql, type RawBuilder } from 'kysely';
import { rowsOf, type Columns, type Insert, type Row, type Rows } from '../../store/sql/bulk-rows.js';
import type { EntityTableName } from '../../store/sql/schema.js';
import type { Engine } from '../../store/store.js';
import { keyText } from '../../store/sql/key-text.js';
import type { Delivery } from '../webhooks/delivery.js';

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

/** A delivery with its number in the log. */
export interface Placed {
  readonly seq: number;
  readonly delivery: Delivery;
}

/** An entity's state, the same as JSON, and whether this batch has folded an event into it. */
interface Folded {
  readonly state: unknown;
  readonly text: string;
  readonly changed: boolean;
}

/** The entity states that one batch reads and updates. */
export interface States {
  /** Adds a state as it was stored. */
  put(family: string, key: string, text: string): void;
  /** Folds an event; returns the entity's state just after it, as JSON, or null for a skipped event. */
  fold(placed: Placed): string | null;
  /** The rows to write: the family's states into which events were folded. */
  folded(family: string): readonly Row[];
}

const keyColumns: Columns = { key: 'text' };

/** Selects the stored states of the entities with these keys, as `family`, `key`, `seq` (null) and `text`. */
export function selectStates(
  engine: Engine,
  family: string,
  { table, key }: StateTable,
  keys: Rows,
): RawBuilder<unknown> {
  return sql`select ${sql.lit(family)} as family, given.key as key, null as seq, kept.state as text
    from (${rowsOf(engine, keyColumns, keys)}) as given
    join ${sql.table(table)} as kept on kept.${sql.ref(key)} = given.key`;
}

/** Inserts states, or overwrites those of the same key. */
export function saveStates(
  insert: Insert,
  { table, key, columns }: StateTable,
  rows: Rows,
): RawBuilder<unknown> {
  const all: Columns = { [key]: 'text', state: 'text', ...columns };
  return insert(table, all, rows, overwriting(key, all));
}

/** The states of one batch, folded in log order. */
export function createStates(folds: Folds): States {
  const states = new Map(Object.keys(folds).map((family) => [family, new Map<string, Folded>()]));
  return {
    put: (family, key, text) =>
      void states.get(family)!.set(key, { state: JSON.parse(text), text, changed: false }),
    fold({ seq, delivery: { family, known } }) {
      if (!known) return null;
      const [key, kept] = [keyText(known.entityId), states.get(family)!];
      const state = folds[family]!.apply(kept.get(key)?.state, known.event, seq);
      const text = JSON.stringify(state);
      kept.set(key, { state, text, changed: true });
      return text;
    },
    folded(family) {
      const { key, toRow } = folds[family]!;
      const folded = [...states.get(family)!].filter(([, { changed }]) => changed);
      return folded.map(([id, { state, text }]) => ({ [key]: id, state: text, ...toRow(state) }));
    },
  };
}

function overwriting(key: string, columns: Columns): RawBuilder<unknown> {
  const others = Object.keys(columns).filter((name) => name !== key);
  const set = others.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`);
  return sql`on conflict (${sql.ref(key)}) do update set ${sql.join(set)}`;
}
