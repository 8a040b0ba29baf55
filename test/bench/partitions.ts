import { pino } from 'pino';
import { startRetention } from '../../src/events/log/retention.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
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
/** How many partitions a log has, about. */
const chunks = 16;
/** How many events become too old at once: the last of a partition, and some of the next. */
const passed = 5_000;
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
        await measureRetention(environment, measure, logs);
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

/** A gateway with a log that was divided as it grew. */
async function grow(environment: Environment, postgres: Postgres, size: number): Promise<Grown> {
  const database = await postgres.createDatabase();
  const cursor = await begin(environment, database);
  const { partitions, stop } = await openPartitions(database, { least: size / chunks / 2, margin: 1 });
  for (let at = 0; at < chunks; at += 1) {
    await fill(database, size, { from: (at * size) / chunks + 1, to: ((at + 1) * size) / chunks });
    await partitions.divide();
  }
  await query(database, 'analyze');
  await stop();
  const server = await environment.startGateway({ database });
  const session = await signIn(server.url);
  return { size, database, server, session, sender: createSender(size), cursor };
}

async function openPartitions(database: string, sizes: ConstructorParameters<typeof EventPartitions>[2]) {
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
 * How often a second retention could pass some events, the last of a partition among them, and drop that whole: a
 * sixteenth of the log, whatever its size. And how many deliveries a second a gateway answers meanwhile.
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
  const server = await startGateway({ database: grown.database });
  const [rate] = await Promise.all([append(server.url, grown.sender, 250), retain(grown)]);
  await server.stop();
  return rate;
}

/** Milliseconds. */
async function retain({ database: url, size }: Grown): Promise<number> {
  const { database, partitions, stop } = await openPartitions(url, { least: Infinity, margin: 1 });
  try {
    const [oldest] = await partitions.list();
    const end = oldest!.to!;
    await query(url, `update log_head set pruned = ${end - passed / 2}`);
    const started = performance.now();
    const retention = startRetention({
      database,
      partitions,
      telemetry: createTelemetry('silent'),
      retentionDays: spanDays,
      clock: { now: () => began + (end + passed / 2) * stepMs(size) + spanDays * dayMs },
    });
    await retention.prune();
    const took = performance.now() - started;
    await retention.stop();
    if ((await partitions.list())[0]!.from !== end) throw new Error('No partition was dropped.');
    return took;
  } finally {
    await stop();
  }
}

/** How long a gateway takes to divide a log, and how many deliveries a second it answers before and meanwhile. */
async function divide(postgres: Postgres, size: number): Promise<readonly Row[]> {
  return withEnvironment(async (environment) => {
    const url = await postgres.createDatabase();
    await begin(environment, url);
    await fill(url, size, { from: 1, to: size });
    await query(url, 'analyze');
    const { database, partitions, stop } = await openPartitions(url, { least: Infinity, margin: 1 });
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
