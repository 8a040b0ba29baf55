import { deepStrictEqual } from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { byHand } from './contestants.js';
import type { HttpAnswer } from './http-answers.js';
import { interleave, median, type Outcome, type Turn } from './interleave.js';
import { drive, type Slice } from './load.js';
import { query, startPostgres } from './postgres.js';
import type { Reading, Server } from './process.js';
import { say } from './say.js';
import { createSender } from './sender.js';
import { withEnvironment } from './environment.js';
import { ours, type Row, type SuiteOptions } from './table.js';
import { webhooks } from './webhooks.js';

interface Taken extends Slice, Reading {
  /** CPU time per delivery of the whole gateway, including its writer thread, in microseconds. */
  readonly cpuEach: number;
}

/** A server that accepts deliveries, started anew for each round. */
interface Taker {
  readonly who: string;
  /** Starts it with an empty database. */
  start(database: string): Promise<Server>;
}

/**
 * How many deliveries are in progress at once, for every server. A server with a store answers once an event is on
 * disk: with few connections, waiting would be measured rather than work; with these, a commit takes a whole batch.
 */
const connections = 256;
/** The embedded database may be written by a thread of its own, so every server may use two cores. */
const cores = 2;
const fullRounds = 5;
/** In milliseconds: how long a new server warms up, and how long it is measured. */
const usual = { warm: 2_000, measured: 3_000 };
const brief: typeof usual = { warm: 1_000, measured: 1_000 };

/** What it costs to accept and store a signed delivery, compared with a server written by hand for the same. */
export async function runIngest({
  short,
  rounds = short ? 1 : fullRounds,
}: SuiteOptions): Promise<readonly Row[]> {
  const lengths = short ? brief : usual;
  const postgres = await startPostgres();
  try {
    return await withEnvironment(async ({ folder, startFile, startGateway }) => {
      const stores: Taker[] = [
        {
          who: byHand.who,
          start: (database) => startFile('servers/handwritten-durable.js', { database, cores }),
        },
        { who: ours, start: (database) => startGateway({ database, cores }) },
      ];
      const bare: Taker = {
        who: 'node:http 200',
        async start() {
          const server = await startFile('servers/fixed.js', { cores });
          for (const { id, family } of endpoints)
            await fetch(`${server.url}/webhooks/${family}/${id}`, { method: 'PUT', body: received });
          return server;
        },
      };
      let files = 0;
      const measure = async (name: string, takers: readonly Taker[], database: () => Promise<string>) => {
        say(`ingest: ${name}, measured on ${cores} cores …`);
        const turns = takers.map((taker) => turnOf(taker, database, folder, lengths));
        return (await interleave(turns, rounds, 0)).map((outcome) => toRow(name, outcome));
      };
      const rows = await measure('sqlite', [...stores, bare], async () => `ingest-${(files += 1)}.db`);
      return postgres ? [...rows, ...(await measure('postgres', stores, postgres.createDatabase))] : rows;
    });
  } finally {
    await postgres?.stop();
  }
}

const endpoints = Object.entries(webhooks).map(([family, { id }]) => ({ family, id }));
const received = '{"received":true}';
const receivedBytes = Buffer.from(received);
const countEvents = 'select count(*) as stored from events';

/** How many events are stored; undefined where nothing is stored. */
async function countRows(database: string, folder: string): Promise<number | undefined> {
  if (database.includes('://')) return Number((await query(database, countEvents))[0]!['stored']);
  const path = join(folder, database);
  if (!existsSync(path)) return undefined;
  const opened = new DatabaseSync(path, { readOnly: true });
  try {
    return (opened.prepare(countEvents).get() as { stored: number }).stored;
  } finally {
    opened.close();
  }
}

/**
 * The writer thread of the embedded database may use the load generator's core, so the load generator leaves it as much
 * as possible: it makes and signs deliveries between the slices, and does not keep that core awake.
 */
function turnOf(
  { who, start }: Taker,
  createDatabase: () => Promise<string>,
  folder: string,
  { warm, measured }: typeof usual,
): Turn<Taken> {
  return {
    who,
    score: ({ rate }) => rate,
    async run() {
      const database = await createDatabase();
      const server = await start(database);
      const { stock, next, distinct } = createSender();
      const askers = Array.from({ length: connections }, () => ({ next: () => next(server.url), check }));
      const { rate } = await drive(server.url, askers, warm);
      stock(server.url, (2 * rate * measured) / 1_000);
      const before = await server.read({ watch: true });
      const slice = await drive(server.url, askers, measured);
      const reading = await server.read();
      await server.stop();
      deepStrictEqual((await countRows(database, folder)) ?? distinct(), distinct(), `${who}: events stored`);
      return { ...slice, ...reading, cpuEach: ((reading.cpuMs - before.cpuMs) * 1000) / slice.answers };
    },
  };
}

function check({ status, body }: HttpAnswer): void {
  if (status !== 200 || !body.equals(receivedBytes))
    throw new Error(`A delivery was answered ${status}: ${body.toString()}`);
}

function toRow(name: string, { who, ratio, low, high, rounds, outcomes }: Outcome<Taken>): Row {
  const middle = (read: (taken: Taken) => number) => median(outcomes.map(read));
  return {
    suite: 'ingest',
    name,
    who,
    ratio,
    low,
    high,
    rounds,
    perSecond: middle(({ rate }) => rate),
    p50ms: middle(({ p50 }) => p50),
    p99ms: middle(({ p99 }) => p99),
    cpuUsEach: middle(({ cpuEach }) => cpuEach),
    lagP99ms: middle(({ lagP99 }) => lagP99),
    loadBusy: middle(({ busy }) => busy),
  };
}
