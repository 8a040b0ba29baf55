import { pino } from 'pino';
import { startRetention } from '../../src/events/log/retention.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import type { ShipmentEvent } from '../../src/models/shipment.js';
import { EventPartitions } from '../../src/store/postgres/event-partitions.js';
import { deliveryOf } from '../support/events.js';
import { openLogAndFeed } from '../support/live.js';
import { query, startPostgres, type Postgres } from './postgres.js';
import { say } from './say.js';
import type { Row, SuiteOptions } from './table.js';

/** The names of the measurements. */
export const partitionNames = [
  'append',
  'resume',
  'history',
  'retention',
  'divide',
  'append meanwhile',
] as const;
type Name = (typeof partitionNames)[number];
/** Milliseconds: the median of many, or of the one thing that there is. */
type Took = Readonly<Record<Name, number>>;

const dayMs = 86_400_000;
const spanDays = 80;
/** How many partitions the log has; two of them become too old. */
const chunks = 16;
const rounds = 100;
const batch = 100;

/** What a log of millions of events on Postgres costs, by its size: milliseconds, which do not grow where it is flat. */
export async function runPartitions({ short }: SuiteOptions): Promise<readonly Row[]> {
  const postgres = await startPostgres();
  if (!postgres) return [];
  try {
    const all: { readonly size: number; readonly took: Took }[] = [];
    for (const size of short ? [1e5, 1e6] : [1e6, 3e6, 1e7])
      all.push({ size, took: await measure(postgres, size) });
    return partitionNames.flatMap((name) =>
      all.map(({ size, took }) => ({
        suite: 'partitions',
        name,
        who: String(size),
        ratio: all[0]!.took[name] / took[name],
        ms: took[name],
      })),
    );
  } finally {
    await postgres.stop();
  }
}

async function measure(postgres: Postgres, size: number): Promise<Took> {
  const url = await postgres.createDatabase();
  const own = await openLogAndFeed(url);
  try {
    say(`partitions: a log of ${size} events …`);
    const chunk = size / chunks;
    await fill(url, { from: 1, to: size - chunk, size });
    const partitions = new EventPartitions(own.database, pino({ level: 'silent' }), {
      least: 1,
      margin: 100_000,
    });
    const dividing = await whileAppending(own, () => partitions.divide());
    return { ...dividing, ...(await measureDivided(postgres, size)) };
  } finally {
    await own.stop();
  }
}

/** The same size again, but divided as it grew. */
async function measureDivided(postgres: Postgres, size: number) {
  const url = await postgres.createDatabase();
  const own = await openLogAndFeed(url);
  try {
    const chunk = size / chunks;
    const partitions = new EventPartitions(own.database, pino({ level: 'silent' }), {
      least: chunk / 2,
      margin: 1,
    });
    for (let at = 0; at < chunks; at += 1) {
      await fill(url, { from: at * chunk + 1, to: (at + 1) * chunk, size });
      await partitions.divide();
    }
    await query(url, 'analyze');
    const append = await median(rounds, (at) => appendBatch(own, `round ${at}`));
    const resume = await median(rounds, () => own.log.read(Math.floor((Math.random() * size) / 2), 500));
    const history = await median(rounds, () => readHistory(own, size));
    return { append, resume, history, retention: await retain(own, partitions) };
  } finally {
    await own.stop();
  }
}

type Live = Awaited<ReturnType<typeof openLogAndFeed>>;

/** Stores events as the gateway would have, dated evenly over the last days. */
async function fill(url: string, { from, to, size }: { from: number; to: number; size: number }) {
  const series = `generate_series(${from}, ${to}) as n`;
  const began = Date.now() - spanDays * dayMs;
  await query(url, `insert into event_ids select 'shipments', 'evt_' || n, n, 'digest' from ${series}`);
  await query(
    url,
    `insert into events (seq, family, event_id, endpoint_id, type, entity_id, received_at, body, event, entity)
      select n, 'shipments', 'evt_' || n, 'endpoint_1', 'shipment.created', 'shp_' || n / 10,
        ${began} + (n::bigint * ${Math.floor((spanDays * dayMs) / size)}), '{}',
        json_build_object('kind', 'ShipmentEvent', 'eventId', 'evt_' || n, 'type', repeat('x', 150)),
        json_build_object('shipmentId', 'shp_' || n / 10, 'status', repeat('x', 100)) from ${series}`,
  );
  await query(url, `update log_head set seq = ${to}`);
}

function appendBatch({ log }: Live, name: string) {
  const at = new Date().toISOString();
  return Promise.all(
    Array.from({ length: batch }, (_, number) => {
      const shipmentId = `${name} ${number}`;
      const event: ShipmentEvent = {
        kind: 'ShipmentEvent',
        eventId: shipmentId,
        type: 'shipment.created',
        stage: 'CREATED',
        occurredAt: at,
        receivedAt: at,
        shipmentId,
        status: 'x'.repeat(150),
        carrier: null,
        trackingNumber: null,
      };
      return log.append(deliveryOf(event, shipmentId));
    }),
  );
}

function readHistory({ database }: Live, size: number) {
  const entity = `shp_${Math.floor((Math.random() * size) / 10)}`;
  const events = database.kysely.selectFrom('events').select(['seq', 'event', 'entity']);
  return events
    .where('family', '=', 'shipments')
    .where('entity_id', '=', entity)
    .orderBy('seq', 'desc')
    .limit(20)
    .execute();
}

/** How long it takes to drop an eighth of the log. */
async function retain({ database }: Live, partitions: EventPartitions): Promise<number> {
  const clock = { now: () => Date.now() + spanDays * dayMs };
  const telemetry = createTelemetry('silent');
  const began = performance.now();
  const retentionDays = spanDays * 1.86; // by then, 0.14 of it is too old: two partitions
  const retention = startRetention({ database, clock, telemetry, retentionDays, partitions });
  await retention.prune();
  const took = performance.now() - began;
  await retention.stop();
  const first = (await partitions.list())[0];
  if (first?.from === 0) throw new Error('No partition was dropped.');
  return took;
}

/** How long something takes, and how long the slowest batch that was appended meanwhile. */
async function whileAppending(own: Live, run: () => Promise<unknown>) {
  let isOn = true;
  let slowest = 0;
  const load = (async () => {
    for (let at = 0; isOn; at += 1)
      slowest = Math.max(slowest, await timed(() => appendBatch(own, `meanwhile ${at}`)));
  })();
  const divide = await timed(run);
  isOn = false;
  await load;
  return { divide, 'append meanwhile': slowest };
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

async function median(count: number, run: (at: number) => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let at = 0; at < count; at += 1) took.push(await timed(() => run(at)));
  return took.toSorted((one, other) => one - other)[Math.floor(count / 2)]!;
}
