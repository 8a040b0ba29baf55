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
import { onStage } from './stage.js';
import { ours, type Row, type SuiteOptions } from './table.js';
import { webhooks } from './webhooks.js';

interface Taken extends Slice, Reading {
  /** Processor time of the whole gateway, its writer too, in microseconds. */
  readonly cpuEach: number;
}

/** One that takes deliveries. */
interface Target {
  readonly name: string;
  readonly who: string;
  readonly server: Server;
  /** How many events it has stored. */
  readonly count?: () => Promise<number>;
}

/**
 * As many deliveries are on their way at once, to all alike. Who keeps an event answers only after the disk has it, so
 * with few senders their waiting is what is measured and not the work; with these a commit takes what came meanwhile.
 */
const connections = 256;

/** What it costs to take a signed delivery in and keep it, beside the same gateway without a store. */
export async function runIngest({ short }: SuiteOptions): Promise<readonly Row[]> {
  const [rounds, ms] = short ? [3, 500] : [19, 1000];
  const postgres = await startPostgres();
  try {
    return await onStage(async ({ folder, startFile, startGateway }) => {
      // The writer of the embedded database is a thread of its own, so every gateway may use two cores.
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
 * What the load does takes from the writer of the embedded database, which may use the load's core: deliveries are made
 * and signed between the slices, and that core is not kept awake.
 */
function turnOf({ who, server }: Target, { stock, next }: Sender, ms: number): Turn<Taken> {
  const askers = Array.from({ length: connections }, () => ({ next: () => next(server.url), check }));
  let most = 0;
  return {
    who,
    score: ({ rate }) => rate,
    async run() {
      stock(server.url, most * 2);
      const before = await server.read();
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
