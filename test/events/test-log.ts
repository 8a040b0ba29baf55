import type { Delivery } from '../../src/events/webhooks/delivery.js';
import { createLog, type Log } from '../../src/events/log/log.js';
import type { Database } from '../../src/store/database.js';
import { openDatabase } from '../support/database.js';
import type { Executor } from '../../src/store/store.js';
import { keyText } from '../../src/store/sql/key-text.js';
import { createTelemetry, type Telemetry } from '../../src/lib/telemetry/telemetry.js';
import { procedure, type Step, type TestEntity } from './test-fold.js';

/** The stored states of these entities. */
export async function readEntities(
  db: Executor,
  entityIds: readonly string[],
): Promise<readonly TestEntity[]> {
  const rows = await db
    .selectFrom('shipments')
    .select('state')
    .where('shipment_id', 'in', entityIds.map(keyText))
    .execute();
  return rows.map(({ state }) => JSON.parse(state) as TestEntity);
}

/** A clock that stands still until it is moved. */
export function createTestClock(at = '2026-01-01T00:00:00.000Z') {
  let now = Date.parse(at);
  return {
    now: () => now,
    moveDays: (days: number) => void (now += days * 86_400_000),
    iso: () => new Date(now).toISOString(),
  };
}

/** A log, and what it runs on. */
export interface TestLog {
  readonly database: Database;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly clock: ReturnType<typeof createTestClock>;
  stop(): Promise<void>;
}

/** Opens the log in the database at this address; opened twice on one Postgres, it has two replicas. */
export async function openTestLog(url: string, clock = createTestClock()): Promise<TestLog> {
  const telemetry = createTelemetry('silent');
  const database = await openDatabase(url, telemetry);
  const log = createLog({
    database,
    commit: await database.procedure(procedure, null),
    clock,
    telemetry,
    retentionDays: 90,
  });
  return {
    database,
    log,
    telemetry,
    clock,
    async stop() {
      await log.stop();
      await database.stop();
    },
  };
}

/** Leaves the first `seq` events, as if the others came after a backup from which the database was restored. */
export async function restore({ kysely }: Database, seq: number): Promise<void> {
  await kysely.transaction().execute(async (db) => {
    await db.deleteFrom('events').where('seq', '>', seq).execute();
    await db.deleteFrom('event_ids').where('seq', '>', seq).execute();
    await db.updateTable('log_head').set({ seq }).execute();
  });
}

/** A delivery of one step of an entity; `changes` override the defaults. */
export function delivery(
  eventId: string,
  { entityId = 'entity', step = 0 }: Partial<Step & Pick<TestEntity, 'entityId'>> = {},
  changes: Partial<Delivery> = {},
): Delivery {
  const event = { entityId, step };
  return {
    family: 'shipments',
    endpointId: 'endpoint',
    eventId,
    type: 'step',
    apiVersion: null,
    body: JSON.stringify({ id: eventId, ...event }),
    receivedAt: '2026-01-01T00:00:00.000Z',
    known: { entityId, event },
    ...changes,
  };
}
