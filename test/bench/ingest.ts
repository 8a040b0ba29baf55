import { deepStrictEqual } from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import type { HttpAnswer } from './http-answers.js';
import { interleave, median, type Outcome, type Turn } from './interleave.js';
import { drive, type Slice } from './load.js';
import { query, startPostgres } from './postgres.js';
import type { Reading, Server } from './process.js';
import { say } from './say.js';
import { createSender, type Sender } from './sender.js';
import { withEnvironment } from './environment.js';
import { ours, type Row, type SuiteOptions } from './table.js';
import { webhooks } from './webhooks.js';

interface Taken extends Slice, Reading {
  /** CPU time per delivery of the whole gateway, including its writer thread, in microseconds. */
  readonly cpuEach: number;
}

/** A server that accepts deliveries. */
interface Target {
  readonly name: string;
  readonly who: string;
  readonly server: Server;
  /** How many events it has stored. */
  readonly count?: () => Promise<number>;
}

/**
 * How many deliveries are in progress at once, for every target. A gateway with a store answers once an event is on
 * disk: with few connections, waiting would be measured rather than work; with these, a commit takes a whole batch.
 */
const connections = 256;

/** What it costs to accept and store a signed delivery, compared with the same gateway without a store. */
export async function runIngest({ short }: SuiteOptions): Promise<readonly Row[]> {
  const [rounds, ms] = short ? [3, 500] : [19, 1000];
  const postgres = await startPostgres();
  try {
    return await withEnvironment(async ({ folder, startFile, startGateway }) => {
      // The embedded database is written by a thread of its own, so every gateway may use two cores.
      const cores = 2;
      say(`ingest, measured on ${cores} cores …`);
      const noStore = ['--import', './test/bench/servers/no-store.js'];
      const base = await startGateway({ database: 'base.db', flags: noStore, cores });
      const targets: Target[] = [
        { name: 'base', who: 'no store', server: base },
        {
          name: 'sqlite',
          who: ours,
          server: await startGateway({ database: 'gateway.db', cores }),
          count: async () => countRows(join(folder, 'gateway.db')),
        },
      ];
      if (postgres) {
        const database = await postgres.createDatabase();
        targets.push({
          name: 'postgres',
          who: ours,
          server: await startGateway({ database, cores }),
          count: async () => Number((await query(database, countEvents))[0]!['stored']),
        });
      }
      const bare = await startFile('servers/fixed.js');
      for (const { id, family } of endpoints)
        await fetch(`${bare.url}/webhooks/${family}/${id}`, { method: 'PUT', body: received });
      targets.push({ name: 'base', who: 'node:http 200', server: bare });

      const senders = targets.map(() => createSender());
      const turns = targets.map((target, index) => turnOf(target, senders[index]!, ms));
      const outcomes = await interleave(turns, rounds);
      for (const [index, { name, count }] of targets.entries())
        if (count) deepStrictEqual(await count(), senders[index]!.distinct(), `${name}: events stored`);
      return outcomes.map((outcome, index) => toRow(targets[index]!, outcome));
    });
  } finally {
    await postgres?.stop();
  }
}

const endpoints = Object.entries(webhooks).map(([family, { id }]) => ({ family, id }));
const received = '{"received":true}';
const receivedBytes = Buffer.from(received);
const countEvents = 'select count(*) as stored from events';

function countRows(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return (database.prepare(countEvents).get() as { stored: number }).stored;
  } finally {
    database.close();
  }
}

/**
 * The writer thread of the embedded database may use the load generator's core, so the load generator leaves it as much
 * as possible: it makes and signs deliveries between the slices, and does not keep that core awake.
 */
function turnOf({ who, server }: Target, { stock, next }: Sender, ms: number): Turn<Taken> {
  const askers = Array.from({ length: connections }, () => ({ next: () => next(server.url), check }));
  let most = 0;
  return {
    who,
    score: ({ rate }) => rate,
    async run() {
      stock(server.url, most * 2);
      const before = await server.read({ watch: true });
      const slice = await drive(server.url, askers, ms);
      const reading = await server.read();
      most = Math.max(most, slice.answers);
      return { ...slice, ...reading, cpuEach: ((reading.cpuMs - before.cpuMs) * 1000) / slice.answers };
    },
  };
}

function check({ status, body }: HttpAnswer): void {
  if (status !== 200 || !body.equals(receivedBytes))
    throw new Error(`A delivery was answered ${status}: ${body.toString()}`);
}

function toRow({ name, who }: Target, { ratio, low, high, outcomes }: Outcome<Taken>): Row {
  const middle = (read: (taken: Taken) => number) => median(outcomes.map(read));
  return {
    suite: 'ingest',
    name,
    who,
    ratio,
    low,
    high,
    perSecond: middle(({ rate }) => rate),
    p50ms: middle(({ p50 }) => p50),
    p99ms: middle(({ p99 }) => p99),
    cpuUsEach: middle(({ cpuEach }) => cpuEach),
    lagP99ms: middle(({ lagP99 }) => lagP99),
    loadBusy: middle(({ busy }) => busy),
  };
}
