import { sql, type RawBuilder, type SelectQueryBuilder } from 'kysely';
import type { RowQuery } from '../../graphql/connection.js';
import type { DeliveryPosition, WebhookDelivery, WebhookOutcome } from '../../models/webhook.js';
import type { Database } from '../../store/database.js';
import { fromKeyText, keyText } from '../../store/sql/key-text.js';
import {
  inOrder,
  inWindow,
  inWindowAlong,
  startingAt,
  type Key,
  type Window,
} from '../../store/sql/key-window.js';
import type { Parameter } from '../../store/sql/parameters.js';
import type { Reads } from '../../store/sql/read-budget.js';
import type { Tables } from '../../store/sql/schema.js';
import { readInSteps, rowsPerStep, unlimited, type Scan } from '../../store/sql/stepwise-scan.js';
import { outcomeOf } from './delivery-recorder.js';

/** Which deliveries: all conditions must hold, a list by any of its values; what is absent allows all. */
export interface DeliveryFilter {
  readonly family?: string | undefined;
  readonly endpointIds?: readonly string[] | undefined;
  readonly outcomes?: readonly WebhookOutcome[] | undefined;
  readonly types?: readonly string[] | undefined;
}

/** The database, and one operation's budget for reading it. */
export interface DeliverySource {
  readonly database: Pick<Database, 'engine' | 'kysely'>;
  readonly reads: Reads;
}

/** Whether a delivery matches the filter. */
export function isWanted(delivery: WebhookDelivery, filter: DeliveryFilter): boolean {
  const { family, endpointIds, outcomes, types } = filter;
  if (family !== undefined && family !== delivery.family) return false;
  if (endpointIds && !endpointIds.includes(delivery.endpointId)) return false;
  if (outcomes && !outcomes.includes(delivery.outcome)) return false;
  return !types || (delivery.type !== null && types.includes(delivery.type));
}

/** Compares by position, the newest first. */
function newestFirst(one: WebhookDelivery, other: WebhookDelivery): number {
  const at = one.position.findIndex((part, index) => part !== other.position[index]);
  if (at < 0) return 0;
  return one.position[at]! > other.position[at]! ? -1 : 1;
}

/** The deliveries of a page, newest first (or oldest first, backward): those of the log merged with `remembered`. */
export async function readDeliveries(
  source: DeliverySource,
  query: RowQuery<DeliveryPosition>,
  filter: DeliveryFilter,
  remembered: readonly WebhookDelivery[],
): Promise<readonly WebhookDelivery[]> {
  const inLog = [
    ...(await readTable(source, events, query, filter)),
    ...(await readTable(source, alteredBodies, query, filter)),
  ];
  const others = remembered.filter((delivery) => isWithin(delivery, query) && isWanted(delivery, filter));
  const all = [...inLog, ...others].toSorted(newestFirst);
  return (query.backward ? all.toReversed() : all).slice(0, query.limit);
}

function isWithin(delivery: WebhookDelivery, { after, before }: RowQuery<DeliveryPosition>): boolean {
  if (after && newestFirst({ ...delivery, position: after }, delivery) >= 0) return false;
  return !before || newestFirst(delivery, { ...delivery, position: before }) < 0;
}

/** A table that holds deliveries; the greatest key is the newest. */
interface DeliveryTable {
  readonly name: 'events' | 'event_renderings';
  readonly key: readonly string[];
  /** The parts of a row's position, and the id of its entity. */
  readonly columns: ReturnType<typeof positionColumns>;
  /** Whether an index has the rows of each endpoint in the order of the key. */
  readonly isByEndpoint: boolean;
  /** The outcomes that its deliveries may have. */
  readonly outcomes: readonly WebhookOutcome[];
  /** The place beyond which rows are older, or newer, than the position. */
  toKey(position: DeliveryPosition, side: 'after' | 'before'): Key;
}

/** The parts of a position as they are selected, those of the key first. */
const placeColumns = ['place', 'came', 'tie'];

function positionColumns(place: string, came: string, tie: string, entity: string) {
  return [
    sql.raw<number>(place).as('place'),
    sql.raw<number>(came).as('came'),
    sql.raw<string>(tie).as('tie'),
    sql.raw<string | null>(entity).as('entity'),
  ] as const;
}

const events: DeliveryTable = {
  name: 'events',
  key: ['seq'],
  columns: positionColumns('seq', '0', "''", 'entity_id'),
  isByEndpoint: true,
  outcomes: ['STORED', 'SKIPPED'],
  // What came between an event and the next is newer than the event.
  toKey: ([seq, , tie], side) => [side === 'after' && tie !== '' ? seq + 1 : seq],
};

const alteredBodies: DeliveryTable = {
  name: 'event_renderings',
  key: ['after_seq', 'received_at', 'body_digest'],
  columns: positionColumns('after_seq', 'received_at', 'body_digest', 'cast(null as text)'),
  isByEndpoint: false,
  outcomes: ['ALTERED'],
  toKey: (position) => position,
};

interface Row {
  readonly place: number;
  readonly came: number;
  readonly tie: string;
  readonly entity: string | null;
  readonly family: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  readonly type: string;
  readonly received_at: number;
  readonly signed_at: number | null;
}

async function readTable(
  source: DeliverySource,
  table: DeliveryTable,
  { limit, backward, after, before }: RowQuery<DeliveryPosition>,
  filter: DeliveryFilter,
): Promise<readonly WebhookDelivery[]> {
  const outcomes = table.outcomes.filter((outcome) => filter.outcomes?.includes(outcome) ?? true);
  // Nothing is wanted then, and nothing has to be looked for.
  if ([outcomes, filter.endpointIds, filter.types].some((values) => values?.length === 0)) return [];
  const window = {
    backward,
    after: after && table.toKey(after, 'after'),
    before: before && table.toKey(before, 'before'),
  };
  const conditions = conditionsOf(filter, table, outcomes);
  const { reads } = source;
  const rows =
    conditions.length === 0
      ? await reads.next(() =>
          selectRows(inWindow(rowsOf(source, table), table.key, window), table)
            .limit(limit)
            .execute(),
        )
      : await readInSteps(reads, [scanOf(source, table, window, { ...filter, conditions })], {
          limit,
          keyOf: ({ place, came, tie }: Row) => `${place} ${came} ${tie}`,
        });
  return rows.map((row) => toDelivery(table, row));
}

type Condition = RawBuilder<boolean>;

function conditionsOf(
  { family, endpointIds, types }: DeliveryFilter,
  table: DeliveryTable,
  outcomes: readonly WebhookOutcome[],
): readonly Condition[] {
  const among = (column: string, values: readonly string[]) =>
    sql<boolean>`${sql.ref(column)} in (${sql.join([...values])})`;
  return [
    ...(family === undefined ? [] : [sql<boolean>`family = ${family}`]),
    ...(endpointIds ? [among('endpoint_id', endpointIds.map(keyText))] : []),
    ...(types ? [among('type', types.map(keyText))] : []),
    // Of events, the id of their entity says it: the texts behind it in the row are long.
    ...(outcomes.length < table.outcomes.length
      ? [outcomes[0] === 'STORED' ? sql<boolean>`entity is not null` : sql<boolean>`entity is null`]
      : []),
  ];
}

/** Looks along the key of the table, or along that of one endpoint, step by step, for rows that meet the conditions. */
function scanOf(
  source: DeliverySource,
  table: DeliveryTable,
  window: Window,
  {
    conditions,
    endpointIds = [],
  }: Pick<DeliveryFilter, 'endpointIds'> & { conditions: readonly Condition[] },
): Scan<Key, Row> {
  const { engine, kysely } = source.database;
  const { key } = table;
  const [only, ...others] = endpointIds;
  const isAlong = table.isByEndpoint && only !== undefined && others.length === 0;
  const equal = isAlong ? (['endpoint_id', keyText(only)] as const) : undefined;
  return {
    async end(from) {
      const places = rowsOf(source, table).select(key.map((column) => sql.ref<Parameter>(column).as(column)));
      const rest = inWindowAlong(places, key, startingAt(from, window), { engine, equal });
      const row = await rest
        .offset(rowsPerStep[engine] - 1)
        .limit(1)
        .executeTakeFirst();
      return row && key.map((column) => row[column]!);
    },
    match(from, to, limit) {
      const part = inWindow(rowsOf(source, table), key, { ...startingAt(from, window), to });
      const step = selectRows(part, table).$if(isAlong, (rows) =>
        rows.where('endpoint_id', '=', keyText(only!)),
      );
      const found = kysely.selectFrom(step.limit(unlimited).as('step')).selectAll();
      return inOrder(found, placeColumns.slice(0, key.length), window)
        .where(sql<boolean>`${sql.join(conditions, sql` and `)}`)
        .limit(limit)
        .execute();
    },
  };
}

function rowsOf({ database }: DeliverySource, { name }: DeliveryTable) {
  // Both tables have the columns that are used here by name.
  return database.kysely.selectFrom(name as 'events');
}

function selectRows(rows: SelectQueryBuilder<Tables, 'events', object>, { columns }: DeliveryTable) {
  return rows
    .select(['family', 'event_id', 'endpoint_id', 'type', 'received_at', 'signed_at'])
    .select([...columns]);
}

function toDelivery({ name }: DeliveryTable, row: Row): WebhookDelivery {
  const stored = row.entity === null ? 'skipped' : 'stored';
  return {
    position: [row.place, row.came, row.tie],
    family: row.family,
    endpointId: fromKeyText(row.endpoint_id),
    eventId: fromKeyText(row.event_id),
    type: fromKeyText(row.type),
    entityId: row.entity === null ? null : fromKeyText(row.entity),
    receivedAt: row.received_at,
    signedAt: row.signed_at,
    ...outcomeOf(name === 'events' ? stored : 'altered'),
    kept: null,
  };
}
