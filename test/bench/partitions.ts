import { pino } from 'pino';
import { startRetention } from '../../src/events/log/retention.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import type { Database } from '../../src/store/database.js';
import { withLease } from '../../src/store/leases.js';
import { EventPartitions } from '../../src/store/postgres/event-partitions.js';
import { openDatabase } from '../support/database.js';
import { signIn } from './operations.js';
import { query, startPostgres, type Postgres } from './postgres.js';
import { append, liveCursor, measureInto, measureLogs, type Grown, type Measure } from './scale.js';
import { say } from './say.js';
import { createSender, eventsEach } from './sender.js';
import { withEnvironment, type Environment } from './environment.js';
import { ours, type Row, type SuiteOptions } from './table.js';

/** The names of the measurements. */
export const partitionNames = ['log', 'divide'] as const;
type Name = (typeof partitionNames)[number];

const dayMs = 86_400_000;
const spanDays = 80;
/** How many events are stored at once, at most: fewer than a gateway waits for until it closes a partition. */
const chunk = 100_000;
/** How many events become too old at once; in a divided log the last of a partition, and some of the next. */
const passed = 5_000;
/** Where the numbers of the events that are sent begin, past all that are stored otherwise. */
const senderStart = 1e8;
const log = pino({ level: 'silent' });

/** What a log of millions of events on Postgres costs, by its size. */
export async function runPartitions({ short, only }: SuiteOptions): Promise<readonly Row[]> {
  const postgres = await startPostgres();
  if (!postgres) return [];
  const rows: Row[] = [];
  const sizes = short ? [1e5, 1e6] : [1e5, 1e6, 1e7];
  const parts: Readonly<Record<Name, () => Promise<void>>> = {
    log: () =>
      withEnvironment(async (environment) => {
        const measure = measureInto(rows, 'partitions', short ? 3 : 5);
        const logs: Grown[] = [];
        for (const size of sizes) logs.push(await grow(environment, postgres, size));
        await measureLogs(environment, measure, logs, short ? 300 : 1_500);
        await measureRetention(environment, measureInto(rows, 'partitions', short ? 1 : 3), logs);
      }),
    async divide() {
      for (const size of sizes.slice(1)) rows.push(...(await divide(postgres, size)));
    },
  };
  try {
    for (const name of partitionNames) if (name === (only ?? name)) await parts[name]();
    return rows;
  } finally {
    await postgres.stop();
  }
}

/** A gateway with a log that was divided as it grew, as every gateway does it; the smallest is not. */
async function grow(environment: Environment, postgres: Postgres, size: number): Promise<Grown> {
  const database = await postgres.createDatabase();
  const cursor = await begin(environment, database);
  const { partitions, stop } = await openPartitions(database);
  for (let from = 1; from < size; from += chunk) {
    await fill(database, size, { from, to: Math.min(size, from + chunk - 1) });
    await partitions.divide();
  }
  await query(database, 'analyze');
  await stop();
  const server = await environment.startGateway({ database });
  const session = await signIn(server.url);
  return { size, database, server, session, sender: createSender(senderStart), cursor };
}

async function openPartitions(database: string, sizes?: ConstructorParameters<typeof EventPartitions>[2]) {
  const opened = await openDatabase(database, { log });
  return {
    database: opened,
    partitions: new EventPartitions(opened, log, sizes),
    stop: () => opened.stop(),
  };
}

/** Has a gateway make the tables and store the first event; returns a cursor from before it. */
async function begin(environment: Environment, database: string): Promise<string> {
  const server = await environment.startGateway({ database });
  const cursor = await liveCursor(server.url);
  await append(server.url, createSender(), 1);
  await server.stop();
  return cursor;
}

const began = Date.now() - spanDays * dayMs;
const stepMs = (size: number) => Math.floor((spanDays * dayMs) / size);

/** Stores copies of the first event, as the gateway would have stored others, dated evenly over the last days. */
async function fill(url: string, size: number, { from, to }: { from: number; to: number }): Promise<void> {
  say(`partitions: a log of ${size} events, the ${to}th …`);
  const source = `(select * from %) as first, generate_series(${Math.max(2, from)}, ${to}) as n`;
  const of = (table: string) => source.replace('%', table);
  const shipment = `'shp_' || 2 * (n / ${2 * eventsEach})`;
  const renamed = (column: string) =>
    `replace(replace(${column}, '"evt_1"', '"evt_' || n || '"'), '"shp_0"', '"' || ${shipment} || '"')`;
  await query(
    url,
    `insert into event_ids select family, 'evt_' || n, n, body_digest
    from ${of('event_ids where seq = 1')}`,
  );
  await query(
    url,
    `insert into events (seq, family, event_id, endpoint_id, type, api_version, entity_id, received_at,
      body, event, entity, signed_at)
    select n, family, 'evt_' || n, endpoint_id, type, api_version, ${shipment},
      ${began} + n::bigint * ${stepMs(size)}, '{}', ${renamed('event')}, ${renamed('entity')}, signed_at
    from ${of('events where seq = 1')}`,
  );
  await query(
    url,
    `insert into shipments
      (shipment_id, stage, carrier, tracking_number, updated_instant, state)
    select ${shipment}, stage, carrier, tracking_number, updated_instant || lpad(n::text, 9, '0'), ${renamed('state')}
    from ${of("shipments where shipment_id = 'shp_0'")} where n % ${2 * eventsEach} = 0`,
  );
  await query(url, `update log_head set seq = ${to}`);
}

/**
 * How often a second retention could pass some events: in a divided log the last of a partition among them, so that it
 * drops that whole. And how many deliveries a second a gateway answers meanwhile.
 */
async function measureRetention(
  environment: Environment,
  measure: Measure,
  logs: readonly Grown[],
): Promise<void> {
  for (const { server } of logs) await server.stop();
  await measure({
    name: 'retention',
    ways: logs.map((grown) => ({ size: grown.size, run: async () => 1_000 / (await retain(grown)) })),
  });
  await measure({
    name: 'append while a partition is dropped',
    ways: logs.map((grown) => ({ size: grown.size, run: () => appendMeanwhile(environment, grown) })),
  });
}

async function appendMeanwhile({ startGateway }: Environment, grown: Grown): Promise<number> {
  await lengthen(grown);
  const server = await startGateway({ database: grown.database });
  const [rate] = await Promise.all([append(server.url, grown.sender, 250), retain(grown)]);
  await server.stop();
  return rate;
}

/** Stores copies of some event until there is a partition to drop, as if the log had grown on at its end. */
async function lengthen({ database: url, size }: Grown): Promise<void> {
  const { partitions, stop } = await openPartitions(url);
  for (;;) {
    const [oldest] = await partitions.list();
    const [head] = await query(url, 'select seq from log_head');
    const from = Number(head!['seq']) + 1;
    if (!oldest || (oldest.to && oldest.to + passed <= from)) return stop();
    const to = from + chunk - 1;
    say(`partitions: the ${to}th event …`);
    await query(
      url,
      `insert into events (seq, family, event_id, endpoint_id, type, api_version, entity_id, received_at,
        body, event, entity, signed_at)
      select n, family, 'old_' || n, endpoint_id, type, api_version, 'old_' || n / ${eventsEach},
        ${began} + n::bigint * ${stepMs(size)}, body, event, entity, signed_at
      from (select * from events order by seq limit 1) as copied, generate_series(${from}, ${to}) as n`,
    );
    await query(url, `update log_head set seq = ${to}`);
    await partitions.divide();
  }
}

/** Milliseconds. */
async function retain(grown: Grown): Promise<number> {
  await lengthen(grown);
  const { database: url, size } = grown;
  const { database, partitions, stop } = await openPartitions(url, { least: Infinity, margin: 1, heldMs: 0 });
  try {
    const [oldest] = await partitions.list();
    if (oldest) await query(url, `update log_head set pruned = ${oldest.to! - passed / 2}`);
    const { last, took } = await prune(database, partitions, size);
    const [left] = await partitions.list();
    if (oldest && left!.from !== oldest.to) throw new Error('No partition was dropped.');
    const [head] = await query(url, 'select pruned from log_head');
    if (Number(head!['pruned']) !== last) throw new Error('Not all that is old was passed.');
    return took;
  } finally {
    await stop();
  }
}

/** Has retention pass the next events; returns the number of the last one, and how many milliseconds it took. */
async function prune(database: Database, partitions: EventPartitions, size: number) {
  const { pruned } = await database.kysely.selectFrom('log_head').select('pruned').executeTakeFirstOrThrow();
  const last = pruned + passed;
  const started = performance.now();
  const retention = startRetention({
    database,
    partitions,
    telemetry: createTelemetry('silent'),
    retentionDays: spanDays,
    clock: { now: () => began + (last + 0.5) * stepMs(size) + spanDays * dayMs },
  });
  await retention.prune();
  const took = performance.now() - started;
  await retention.stop();
  return { last, took };
}

/** How long a gateway takes to divide a log, and how many deliveries a second it answers before and meanwhile. */
async function divide(postgres: Postgres, size: number): Promise<readonly Row[]> {
  return withEnvironment(async (environment) => {
    const url = await postgres.createDatabase();
    await begin(environment, url);
    await fill(url, size, { from: 1, to: size });
    await query(url, 'analyze');
    const { database, partitions, stop } = await openPartitions(url, {
      least: Infinity,
      margin: 1,
      heldMs: 0,
    });
    let release = () => {};
    const isHeld = new Promise<void>((resolve) => (release = resolve));
    const held = withLease(
      database,
      'event-partitions',
      { ttlMs: 60_000, maxWorkMs: Infinity },
      () => isHeld,
    );
    const server = await environment.startGateway({ database: url });
    const sender = createSender(size);
    const before = await append(server.url, sender, 2_500);
    release();
    await held;
    const started = performance.now();
    const rates: number[] = [];
    do rates.push(await append(server.url, sender, 250));
    while ((await partitions.list()).length === 0);
    const seconds = (performance.now() - started) / 1_000;
    await stop();
    await server.stop();
    const meanwhile = rates.toSorted((one, other) => one - other)[Math.floor(rates.length / 2)]!;
    const figures = { seconds, perSecond: before, meanwhile, slowest: Math.min(...rates) };
    return [
      { suite: 'partitions', name: `divide: ${size}`, who: ours, ratio: meanwhile / before, ...figures },
    ];
  });
}
