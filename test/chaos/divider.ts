import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { retry } from '../../src/lib/async/retry.js';
import { EventPartitions } from '../../src/store/postgres/event-partitions.js';
import { openDatabase } from '../support/database.js';

/** Divides the log of a run, which is small, as gateways divide large ones. */
export interface Divider {
  /** Stops, and resolves with how many partitions there are. */
  stop(): Promise<number>;
}

const pauseMs = 100;
/** How often it may fail to reach a server that is slow to start. */
const maxFailures = 20;

/** Divides a log on Postgres whenever it has so many more events, beside the gateways that use it. */
export async function startDivider(databaseUrl: string, margin: number): Promise<Divider> {
  const log = pino({ level: 'silent' });
  const database = await retry(() => openDatabase(databaseUrl, { log }), {
    pauseMs: (failures) => (failures < maxFailures ? pauseMs : undefined),
    keepsAlive: true,
  });
  const partitions = new EventPartitions(database, log, { least: 20, margin, heldMs: 0 });
  const stopping = new AbortController();
  const working = divide();

  /** The gateways create the tables, and the server may be away at any time. */
  async function divide(): Promise<void> {
    while (!stopping.signal.aborted) {
      await partitions.divide(stopping.signal).catch(() => undefined);
      await sleep(pauseMs);
    }
  }

  async function end(): Promise<number> {
    stopping.abort();
    await working;
    const parts = await partitions.list();
    await database.stop();
    return parts.length;
  }

  let ended: Promise<number> | undefined;
  return { stop: () => (ended ??= end()) };
}
