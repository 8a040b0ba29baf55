import { sql, type RawBuilder } from 'kysely';
import { prepare, type MakePlaceholder } from '../../store/sql/prepared.js';
import {
  prepareGuarded,
  rowsFrom,
  rowsOf,
  type Columns,
  type Insert,
  type Row,
  type Rows,
} from '../../store/sql/bulk-rows.js';
import type { Engine, Executor, Store } from '../../store/store.js';
import { keyText, keyTextIf } from '../../store/sql/key-text.js';
import type { Delivery } from '../webhooks/delivery.js';
import type { Folds, StateTable } from './fold.js';
import { positionText, type LogPosition } from './log-position.js';

/** A delivery, with its id as a key and the digest of its body. */
export interface Item {
  readonly delivery: Delivery;
  readonly eventKey: string;
  readonly bodyDigest: string;
}

/** Identifies an event among those of all families, of which two may use the same id. */
export function eventKeyOf(family: string, eventKey: string): string {
  return `${family} ${eventKey}`;
}

/** An item with its number in the log; one with an altered body has that of the event. */
export interface NumberedItem extends Item {
  readonly seq: number;
}

/** What a commit writes. */
interface Changes {
  /** The new events, each with the state of its entity just after it, as JSON. */
  readonly events: readonly (NumberedItem & { readonly entity: string | null })[];
  /** The rows to write of a family's states. */
  readonly folded: (family: string) => readonly Row[];
  /** The number that the log ended with when it was looked at. */
  readonly from: number;
  /** The new end of the log. */
  readonly head: LogPosition;
}

/** What a commit has to know, as it was at one moment. */
export interface Look {
  /** The log's last number, and the last that is gone (retention). */
  readonly head: { readonly seq: number; readonly pruned: number };
  /** The event ids of the batch that are known already, and the stored states of its entities. */
  readonly found: readonly KnownRow[];
}

/** A known event id, or the stored state of an entity. */
interface KnownRow {
  readonly family: string;
  readonly key: string;
  /** Null for a state. */
  readonly seq: number | null;
  /** The digest of the event's body, or the state as JSON. */
  readonly text: string;
}

/** The statements of a commit. Each covers all rows of a batch, since on Postgres each costs a round trip. */
export function prepareStatements(store: Store, folds: Folds) {
  const { engine, kysely } = store;
  const families = Object.keys(folds);
  const lockHead = kysely
    .updateTable('log_head')
    .set(({ ref }) => ({ seq: ref('seq') }))
    .where('id', '=', 1);
  const find = prepare(kysely, (sought: MakePlaceholder<Sought>) => selectLook(engine, folds, sought));
  const keep = prepareGuarded<ChangeRows>(store, (written, insert) => ({
    guard: moveHead(written),
    inserts: insertAll(insert, folds, written),
    signal: { channel: 'log', payload: written(({ head }) => positionText(head)) },
  }));

  return {
    /** Waits for those who hold the head, and holds it until the transaction ends. A look then sees what they did. */
    lockHead: prepare(kysely, () => lockHead),
    async look(db: Executor, batch: readonly Item[]): Promise<Look> {
      const entities = byFamily(families, (family) => keysOf(family, batch));
      const rows = await find(db, { ids: batch.map(toIdKey), entities });
      const [head] = rows;
      if (!head) throw new Error('The log has no head.');
      return { head: { seq: head.head, pruned: head.pruned }, found: rows.filter(isFound) };
    },
    /** Resolves with false, and changes nothing, if the log no longer ends where it did when it was looked at. */
    keep: (db: Executor, { events, folded, from, head }: Changes) =>
      keep(db, {
        ids: events.map(toIdRow),
        events: events.map(toRow),
        states: byFamily(families, folded),
        from,
        head,
      }),
  };
}

type RowsByFamily = Readonly<Record<string, readonly Row[]>>;

function byFamily(families: readonly string[], toRows: (family: string) => readonly Row[]): RowsByFamily {
  return Object.fromEntries(families.map((family) => [family, toRows(family)]));
}

/** The keys to look up. */
interface Sought {
  readonly ids: readonly Row[];
  readonly entities: RowsByFamily;
}

/** The head, with each row that was found; if there is none, with nulls. */
type LookRow = { readonly head: number; readonly pruned: number } & (KnownRow | { readonly family: null });

function isFound(row: LookRow): row is LookRow & KnownRow {
  return row.family !== null;
}

/** Not a plain `select`: those have connections of their own, on which it would wait for slow ones. */
function selectLook(engine: Engine, folds: Folds, sought: MakePlaceholder<Sought>): RawBuilder<LookRow> {
  return sql<LookRow>`with found as (${selectKnown(engine, folds, sought)})
    select log_head.seq as head, log_head.pruned as pruned, found.*
    from log_head left join found on true where log_head.id = 1`;
}

function selectKnown(engine: Engine, folds: Folds, sought: MakePlaceholder<Sought>): RawBuilder<unknown> {
  const ids = rowsOf(
    engine,
    { family: 'text', key: 'text' },
    rowsFrom(sought, (all) => all.ids),
  );
  const known = sql`select given.family as family, given.key as key, ids.seq as seq, ids.body_digest as text
    from (${ids}) as given
    join event_ids as ids on ids.family = given.family and ids.event_id = given.key`;
  const states = Object.entries(folds).map(([family, table]) =>
    selectStates(
      engine,
      family,
      table,
      rowsFrom(sought, ({ entities }) => entities[family]!),
    ),
  );
  return sql.join([known, ...states], sql` union all `);
}

const keyColumns: Columns = { key: 'text' };

/** Selects the stored states of the entities with these keys, as `family`, `key`, `seq` (null) and `text`. */
function selectStates(
  engine: Engine,
  family: string,
  { table, key }: StateTable,
  keys: Rows,
): RawBuilder<unknown> {
  return sql`select ${sql.lit(family)} as family, given.key as key, null as seq, kept.state as text
    from (${rowsOf(engine, keyColumns, keys)}) as given
    join ${sql.table(table)} as kept on kept.${sql.ref(key)} = given.key`;
}

function toIdKey({ delivery: { family }, eventKey }: Item): Row {
  return { family, key: eventKey };
}

/** The keys of the family's entities that the batch concerns. */
function keysOf(family: string, batch: readonly Item[]): readonly Row[] {
  const ids = batch.flatMap(({ delivery: { family: other, known } }) =>
    other === family && known ? [known.entityId] : [],
  );
  return [...new Set(ids)].map((id) => ({ key: keyText(id) }));
}

/** `Changes` as rows. */
interface ChangeRows {
  readonly ids: readonly Row[];
  readonly events: readonly Row[];
  readonly states: RowsByFamily;
  readonly from: number;
  readonly head: LogPosition;
}

function moveHead(written: MakePlaceholder<ChangeRows>): RawBuilder<unknown> {
  return sql`update log_head set seq = ${written(({ head }) => head.seq)}
    where id = 1 and seq = ${written(({ from }) => from)} returning seq`;
}

function insertAll(
  insert: Insert,
  folds: Folds,
  written: MakePlaceholder<ChangeRows>,
): readonly RawBuilder<unknown>[] {
  const ids = rowsFrom(written, (all) => all.ids);
  const events = rowsFrom(written, (all) => all.events);
  const states = Object.entries(folds).map(([family, table]) =>
    saveStates(
      insert,
      table,
      rowsFrom(written, (all) => all.states[family]!),
    ),
  );
  return [insert('event_ids', idColumns, ids), insert('events', eventColumns, events), ...states];
}

/** Inserts states, or overwrites those of the same key. */
function saveStates(insert: Insert, { table, key, columns }: StateTable, rows: Rows): RawBuilder<unknown> {
  const all: Columns = { [key]: 'text', state: 'text', ...columns };
  return insert(table, all, rows, overwriting(key, all));
}

function overwriting(key: string, columns: Columns): RawBuilder<unknown> {
  const others = Object.keys(columns).filter((name) => name !== key);
  const set = others.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`);
  return sql`on conflict (${sql.ref(key)}) do update set ${sql.join(set)}`;
}

const idColumns: Columns = { family: 'text', event_id: 'text', seq: 'integer', body_digest: 'text' };

function toIdRow({ seq, delivery: { family }, eventKey, bodyDigest }: NumberedItem): Row {
  return { family, event_id: eventKey, seq, body_digest: bodyDigest };
}

const eventColumns: Columns = {
  seq: 'integer',
  family: 'text',
  event_id: 'text',
  endpoint_id: 'text',
  type: 'text',
  api_version: 'text',
  entity_id: 'text',
  received_at: 'integer',
  body: 'text',
  event: 'text',
  entity: 'text',
  signed_at: 'integer',
};

function toRow({ seq, eventKey, delivery, entity }: Changes['events'][number]): Row {
  const { family, endpointId, type, apiVersion, receivedAt, body, known } = delivery;
  return {
    seq,
    family,
    event_id: eventKey,
    endpoint_id: keyText(endpointId),
    type: keyText(type),
    api_version: keyTextIf(apiVersion),
    entity_id: known && keyText(known.entityId),
    received_at: Date.parse(receivedAt),
    body,
    event: known && (known.text ?? JSON.stringify(known.event)),
    entity,
    signed_at: delivery.signedAt ?? null,
  };
}
