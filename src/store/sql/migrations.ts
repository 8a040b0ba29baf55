import { randomUUID } from 'node:crypto';
import { sql, type CreateTableBuilder, type Migration } from 'kysely';
import type { Tables } from './schema.js';
import type { Engine, Executor } from '../store.js';

type ColumnType = 'text' | 'integer' | 'text?' | 'integer?';
/** By name, as they were when the migration was written. */
type Columns = Readonly<Record<string, ColumnType>>;

/**
 * Returns a function that creates tables. A question mark marks a nullable column. Text is compared by its bytes on
 * both engines, since keys and instants are compared; integers have 64 bits, and SQLite's strict tables refuse values
 * of another type.
 */
function tableMaker(kysely: Executor, engine: Engine) {
  const postgres = engine === 'postgres';
  const types = {
    text: postgres ? sql`text collate "C"` : sql`text`,
    integer: postgres ? sql`bigint` : sql`integer`,
  };
  return async (name: keyof Tables, key: readonly string[], columns: Columns): Promise<void> => {
    let table: CreateTableBuilder<string, string> = kysely.schema.createTable(name);
    for (const [column, type] of Object.entries(columns)) {
      const kind = types[type.startsWith('text') ? 'text' : 'integer'];
      table = table.addColumn(column, kind, (it) => (type.endsWith('?') ? it : it.notNull()));
    }
    table = table.addPrimaryKeyConstraint(`${name}_key`, [...key]);
    await (postgres ? table : table.modifyEnd(sql`strict`)).execute();
  };
}

async function createTables(kysely: Executor, engine: Engine): Promise<void> {
  const create = tableMaker(kysely, engine);
  await create('keyv', ['key'], { key: 'text', value: 'text', expires_at: 'integer?' });
  await create('leases', ['key'], { key: 'text', holder: 'text', expires_at: 'integer' });
  await create('sessions', ['id'], {
    id: 'text',
    user_id: 'text',
    email: 'text',
    notes_token: 'text',
    created_at: 'integer',
    expires_at: 'integer',
  });
  await create('webhook_secrets', ['family', 'endpoint_id'], {
    family: 'text',
    endpoint_id: 'text',
    current: 'text',
    previous: 'text?',
    previous_until: 'integer?',
    configured: 'text',
    changed_at: 'integer',
  });
  await create('bookings', ['id'], {
    id: 'text',
    user_id: 'text',
    email: 'text',
    idempotency_key: 'text?',
    input_digest: 'text',
    state: 'text',
    pending_until: 'integer',
    upstream_id: 'text?',
    status: 'text',
    start_text: 'text',
    start_instant: 'text',
    end_text: 'text',
    participants: 'text',
    booked_at: 'integer',
  });
  await create('booking_participants', ['reference', 'booking_id'], {
    booking_id: 'text',
    reference: 'text',
  });
  await create('log_head', ['id'], { id: 'integer', log_id: 'text', seq: 'integer', pruned: 'integer' });
  await create('event_ids', ['family', 'event_id'], {
    family: 'text',
    event_id: 'text',
    seq: 'integer',
    body_digest: 'text',
  });
  await create('events', ['seq'], {
    seq: 'integer',
    family: 'text',
    event_id: 'text',
    endpoint_id: 'text',
    type: 'text',
    api_version: 'text?',
    entity_id: 'text?',
    received_at: 'integer',
    body: 'text',
    event: 'text?',
    entity: 'text?',
  });
  await create('event_renderings', ['family', 'event_id', 'body_digest'], {
    family: 'text',
    event_id: 'text',
    body_digest: 'text',
    api_version: 'text?',
    received_at: 'integer',
    body: 'text',
  });
  await create('shipments', ['shipment_id'], {
    shipment_id: 'text',
    stage: 'text',
    carrier: 'text?',
    tracking_number: 'text?',
    updated_instant: 'text',
    state: 'text',
  });
  await create('payments', ['payment_id'], {
    payment_id: 'text',
    status: 'text?',
    currency: 'text?',
    livemode: 'integer',
    updated_instant: 'text',
    state: 'text',
  });
}

/** Returns a function that builds indexes. */
function indexMaker(kysely: Executor) {
  return (table: keyof Tables, columns: readonly string[]) =>
    kysely.schema
      .createIndex(`${table}_by_${columns.join('_')}`)
      .on(table)
      .expression(sql.join(columns.map((column) => sql.ref(column))));
}

async function createIndexes(kysely: Executor): Promise<void> {
  const index = indexMaker(kysely);
  await index('keyv', ['expires_at']).execute();
  await index('sessions', ['expires_at']).execute();
  await index('events', ['family', 'entity_id', 'seq']).execute();
  await index('shipments', ['updated_instant', 'shipment_id']).execute();
  await index('payments', ['updated_instant', 'payment_id']).execute();
  await index('bookings', ['booked_at', 'id']).execute();
  await index('bookings', ['user_id', 'booked_at', 'id']).execute();
  await index('bookings', ['user_id', 'idempotency_key'])
    .unique()
    .where(sql.ref('idempotency_key'), 'is not', null)
    .execute();
}

/** For filtered pages of entities, in page order. Of two indexes that would do, SQLite uses the one created last. */
async function createFilterIndexes(kysely: Executor): Promise<void> {
  const index = indexMaker(kysely);
  for (const column of ['stage', 'carrier', 'tracking_number'])
    await index('shipments', [column, 'updated_instant', 'shipment_id']).execute();
  for (const column of ['livemode', 'status', 'currency'])
    await index('payments', [column, 'updated_instant', 'payment_id']).execute();
}

/** For pages of the bookings that start within some time. */
async function createStartIndex(kysely: Executor): Promise<void> {
  await indexMaker(kysely)('bookings', ['start_instant']).execute();
}

/** Adds a nullable column, or one with a default; resolves with whether it was missing. */
async function addColumn(
  kysely: Executor,
  engine: Engine,
  [table, column, type]: readonly [table: keyof Tables, column: string, type: 'text' | 'integer'],
  otherwise?: string,
): Promise<boolean> {
  const tables = await kysely.introspection.getTables();
  const { columns = [] } = tables.find(({ name }) => name === table) ?? {};
  if (columns.some(({ name }) => name === column)) return false;
  const kind = sql.raw(engine === 'sqlite' ? type : { text: 'text collate "C"', integer: 'bigint' }[type]);
  const rest = otherwise === undefined ? sql`` : sql`not null default ${sql.lit(otherwise)}`;
  await sql`alter table ${sql.table(table)} add column ${sql.ref(column)} ${kind} ${rest}`.execute(kysely);
  return true;
}

/**
 * For the list of deliveries: when they were signed, where altered bodies belong in it, and the deliveries to an endpoint.
 */
async function createDeliveryColumns(kysely: Executor, engine: Engine): Promise<void> {
  await addColumn(kysely, engine, ['events', 'signed_at', 'integer']);
  await addColumn(kysely, engine, ['event_renderings', 'signed_at', 'integer']);
  await addColumn(kysely, engine, ['event_renderings', 'endpoint_id', 'text'], '');
  await addColumn(kysely, engine, ['event_renderings', 'type', 'text'], '');
  if (await addColumn(kysely, engine, ['event_renderings', 'after_seq', 'integer'], '0'))
    await placeAlteredBodies(kysely);
  const index = indexMaker(kysely);
  await index('event_renderings', ['after_seq', 'received_at', 'body_digest']).ifNotExists().execute();
  await index('events', ['endpoint_id', 'seq']).ifNotExists().execute();
}

/**
 * Has the altered bodies that version 0.1.0 has stored follow their event: it does not say when they came. Those whose event
 * has been hidden meanwhile, it has left behind.
 */
async function placeAlteredBodies(kysely: Executor): Promise<void> {
  const original = sql`from event_ids as ids join events on events.seq = ids.seq
    where ids.family = event_renderings.family and ids.event_id = event_renderings.event_id`;
  await sql`update event_renderings
    set (after_seq, endpoint_id, type) = (select events.seq, events.endpoint_id, events.type ${original})
    where after_seq = 0 and exists (select 1 ${original})`.execute(kysely);
  await sql`delete from event_renderings where after_seq = 0 and exists (select 1 from event_ids as ids
    where ids.family = event_renderings.family and ids.event_id = event_renderings.event_id
      and ids.seq <= (select pruned from log_head where id = 1))`.execute(kysely);
}

/** Version 0.1.0 has it from the start; builds between that and the next have dropped it. */
async function keepPreviousUntil(kysely: Executor, engine: Engine): Promise<void> {
  await addColumn(kysely, engine, ['webhook_secrets', 'previous_until', 'integer']);
}

/**
 * A migration of whole tables; on large ones that takes longer than a statement otherwise may. It does not wait for a table
 * for long: all who use it, like replicas of an earlier version, would wait behind it.
 */
function longMigration(
  engine: Engine,
  migrateTables: (kysely: Executor, engine: Engine) => Promise<void>,
): Migration {
  return {
    async up(kysely: Executor) {
      if (engine === 'postgres') {
        await sql`set local statement_timeout = 0`.execute(kysely);
        await sql`set local lock_timeout = '10s'`.execute(kysely);
      }
      await migrateTables(kysely, engine);
    },
  };
}

/** To be run at each start, in a transaction: version 0.1.0 may have run beside this one, or after it. */
export function afterEarlierVersion(engine: Engine): Migration {
  return longMigration(engine, placeAlteredBodies);
}

/** Every migration so far, by name; a released one is never edited. */
export interface Migrations {
  /** Each changes what the release before relies on, which does not start after it. They run first. */
  readonly oneWay: Readonly<Record<string, Migration>>;
  /**
   * Each only adds what the release before leaves alone: it goes on running beside this one, and starts again after it.
   * So a column is nullable or has a default, and what the release before writes is still read.
   */
  readonly additions: Readonly<Record<string, Migration>>;
}

/** The migrations for an engine. */
export function migrationsFor(engine: Engine): Migrations {
  return {
    oneWay: {
      '0001_tables': {
        async up(kysely: Executor) {
          await createTables(kysely, engine);
          await createIndexes(kysely);
          await kysely
            .insertInto('log_head')
            .values({ id: 1, log_id: randomUUID(), seq: 0, pruned: 0 })
            .execute();
        },
      },
      '0002_filters': longMigration(engine, createFilterIndexes),
      '0003_booking_starts': longMigration(engine, createStartIndex),
    },
    additions: {
      '0001_deliveries': longMigration(engine, createDeliveryColumns),
      '0002_previous_secrets': { up: (kysely: Executor) => keepPreviousUntil(kysely, engine) },
    },
  };
}
