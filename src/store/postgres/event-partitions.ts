import { setTimeout as pause } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import type { Logger } from 'pino';
import type { Database } from '../database.js';
import { withLease } from '../leases.js';
import type { Executor } from '../store.js';

/** When the log is divided; tests divide smaller ones. */
interface PartitionSizes {
  /** As many events as a log must have before it is divided, and a part before it is closed. */
  readonly least: number;
  /** How many events further on a part ends, at least, than the log does as it is closed: what may come meanwhile. */
  readonly margin: number;
}

/** A part of the log: the events from one number on, up to where the next begins. */
interface Part {
  readonly name: string;
  readonly from: number;
  /** The number of the first event of the next part; undefined for the last one. */
  readonly to: number | undefined;
}

const usualSizes: PartitionSizes = { least: 200_000, margin: 100_000 };
/** The last part is closed when it has this share of all events, so that there are about as many parts. */
const parts = 16;
const lease = { ttlMs: 20_000 };
/** Whoever waits for a table makes all who come later wait, too. */
const lockTimeout = sql`set local lock_timeout = '2s'`;
const retryMs = 500;
const first = 'events_0';

/**
 * The table of events of a large log on Postgres, in range partitions by number. What retention has passed is hidden by
 * the view `events`, which takes the table's place, and dropped with the whole of its partition, whatever its size. No
 * row is ever copied: a table, or the last partition, gets its bounds as a constraint that is checked while it serves,
 * and then changes its place at once.
 */
export class EventPartitions {
  readonly #database: Database;
  readonly #log: Logger;
  readonly #sizes: PartitionSizes;

  constructor(database: Database, log: Logger, sizes: PartitionSizes = usualSizes) {
    this.#database = database;
    this.#log = log;
    this.#sizes = sizes;
  }

  /** In order; none if the log is not divided. */
  async list(): Promise<readonly Part[]> {
    const { rows } = await sql<{ name: string }>`select relname as name from pg_inherits
      join pg_class on pg_class.oid = inhrelid where inhparent = to_regclass('event_log')`.execute(
      this.#database.kysely,
    );
    const sorted = rows
      .map(({ name }) => ({ name, from: Number(name.slice('events_'.length)) }))
      .toSorted((one, other) => one.from - other.from);
    return sorted.map((part, at) => ({ ...part, to: sorted[at + 1]?.from }));
  }

  /** Divides the log if it is large enough, and closes the last partition if it is. One replica does it at a time. */
  async divide(): Promise<void> {
    if (!(await this.#due())) return;
    await withLease(this.#database, 'event-partitions', lease, async () => {
      const due = await this.#due();
      if (due) await this.#close(due.part, due.to);
    });
  }

  /** Drops the partitions of which retention has passed every event. */
  async drop(): Promise<void> {
    const { pruned } = await this.#bounds();
    for (const { name, to } of await this.list()) {
      if (to === undefined || to > pruned + 1) return;
      await this.#inTransaction([lockTimeout, sql`drop table if exists ${sql.table(name)}`]);
      this.#log.info({ partition: name }, 'a partition of old events was dropped');
    }
  }

  #bounds() {
    const head = this.#database.kysely.selectFrom('log_head').select(['seq', 'pruned']);
    return head.executeTakeFirstOrThrow();
  }

  /** The part to close now, and the first number of the next. */
  async #due(): Promise<{ readonly part: Part | undefined; readonly to: number } | undefined> {
    const { seq: head, pruned } = await this.#bounds();
    const part = (await this.list()).at(-1);
    const length = head - (part?.from ?? pruned);
    const share = Math.floor((head - pruned) / parts);
    const { least, margin } = this.#sizes;
    if (length < Math.max(least, part ? share : 0)) return undefined;
    return { part, to: head + Math.max(margin, share) };
  }

  /** Closes a part before the event `to`; without a part, makes one of the whole table. */
  async #close(part: Part | undefined, to: number): Promise<void> {
    const table = sql.table(part?.name ?? 'events');
    const from = part && part.from > 0 ? sql`seq >= ${sql.lit(part.from)} and` : sql``;
    const unbound = sql`alter table ${table} drop constraint if exists events_bounds`;
    const check = sql`check (${from} seq < ${sql.lit(to)})`;
    const bind = sql`alter table ${table} add constraint events_bounds ${check} not valid`;
    await this.#inTransaction([lockTimeout, unbound, bind]);
    try {
      const validate = sql`alter table ${table} validate constraint events_bounds`;
      await this.#inTransaction([sql`set local statement_timeout = 0`, validate]);
      await this.#inTransaction([lockTimeout, ...(part ? closing(part, to) : dividing(to))]);
    } catch (error) {
      // Left behind, it would refuse events once the log comes to its end.
      await this.#persist([lockTimeout, unbound]);
      throw error;
    }
    this.#log.info({ partition: part?.name ?? first, to }, 'a partition of events was closed');
  }

  /** Tries again while others hold the table. */
  async #persist(statements: readonly RawBuilder<unknown>[]): Promise<void> {
    for (let left = 20; ; left -= 1) {
      try {
        return await this.#inTransaction(statements);
      } catch (error) {
        if (left === 0) throw error;
        await pause(retryMs);
      }
    }
  }

  #inTransaction(statements: readonly RawBuilder<unknown>[]): Promise<void> {
    return this.#database.kysely.transaction().execute(async (db: Executor) => {
      for (const statement of statements) await statement.execute(db);
    });
  }
}

/** Makes the table of events the first partition. Its indexes become those of the whole, and are not built anew. */
function dividing(to: number): readonly RawBuilder<unknown>[] {
  const table = sql.table(first);
  return [
    sql`lock table events in access exclusive mode`,
    sql`alter table events rename to ${table}`,
    sql`create table event_log (like ${table}) partition by range (seq)`,
    sql`alter table event_log add primary key (seq)`,
    sql`create index on event_log (family, entity_id, seq)`,
    sql`create index on event_log (endpoint_id, seq)`,
    sql`alter table event_log attach partition ${table} for values from (minvalue) to (${sql.lit(to)})`,
    ...opening(first, to),
    sql`create view events as select * from event_log
      where seq > (select pruned from log_head where id = 1)`,
  ];
}

function closing({ name, from }: Part, to: number): readonly RawBuilder<unknown>[] {
  const table = sql.table(name);
  return [
    sql`lock table event_log in access exclusive mode`,
    sql`alter table event_log detach partition ${table}`,
    sql`alter table event_log attach partition ${table} for values from (${sql.lit(from)}) to (${sql.lit(to)})`,
    ...opening(name, to),
  ];
}

/** The next partition, which has no end yet. */
function opening(closed: string, from: number): readonly RawBuilder<unknown>[] {
  return [
    sql`alter table ${sql.table(closed)} drop constraint events_bounds`,
    sql`create table ${sql.table(`events_${from}`)} partition of event_log
      for values from (${sql.lit(from)}) to (maxvalue)`,
  ];
}
