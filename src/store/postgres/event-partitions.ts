import { sql, type RawBuilder } from 'kysely';
import type { Logger } from 'pino';
import { retry } from '../../lib/async/retry.js';
import type { Database } from '../database.js';
import { isTurn, tryLease } from '../leases.js';
import type { Executor } from '../store.js';
import { indexTimeoutMs } from './time-limits.js';

/** When the log is divided; tests divide smaller ones. */
interface PartitionSizes {
  /** As many events as a log must have before it is divided, and a part before it is closed. */
  readonly least: number;
  /** How many events further on a part ends, at least, than the log does as it is closed: what may come meanwhile. */
  readonly margin: number;
  /**
   * And at least so many as come in this time, in milliseconds: until then somebody may read the table, as `pg_dump` does,
   * so that the bounds can neither be used nor taken away.
   */
  readonly heldMs: number;
}

/** A part of the log: the events from one number on, up to where the next begins. */
interface Part {
  readonly name: string;
  readonly from: number;
  /** The number of the first event of the next part; undefined for the last one. */
  readonly to: number | undefined;
}

/** What to close, and the first number of what comes after it; without a part, the whole table. */
interface Due {
  readonly part: Part | undefined;
  readonly to: number;
}

/**
 * To drop a part takes as long as deleting its files. So up to ten million events, and where no more than `margin` come in
 * half a day, all parts have the same size.
 */
const usualSizes: PartitionSizes = { least: 200_000, margin: 400_000, heldMs: 12 * 3_600_000 };
/** A query for the history of one entity plans for each part. So a larger log, once it grows no more, has so many. */
const usualParts = 25;
/** Checking the bounds of a large part takes minutes. */
const lease = { ttlMs: 20_000, maxWorkMs: indexTimeoutMs };
/** Whoever waits for a table makes all who come later wait, too. A vacuum in the way is given up after a second. */
const lockTimeout = sql`set local lock_timeout = '2s'`;
const retryMs = 1_000;
/** The code of the error of a lock timeout. */
const lockNotAvailable = '55P03';
const first = 'events_0';
/** The check that a table has while it is closed. */
const boundsCheck = 'events_bounds';
const stuck = `the check ${boundsCheck} could not be removed: end what holds the table before the log comes to its bound`;

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

  /**
   * Divides the log if it is large enough, and closes the last partition if it is. Ends what another attempt has left half
   * done. One replica does it at a time, and others do not wait for it; the signal interrupts it. Whoever uses the table may
   * have to wait for an attempt, so for `pauseMs` none is made after another, by whichever replica.
   */
  async divide(signal: AbortSignal = new AbortController().signal, pauseMs = 0): Promise<void> {
    if (!(await this.#due()) && !(await this.#leftBehind())) return;
    await tryLease(this.#database, 'event-partitions', lease, async () => {
      if (!(await isTurn(this.#database, 'event-partitions turn', pauseMs))) return;
      await this.#unbind(signal);
      const due = await this.#due();
      if (due) await this.#close(due, signal);
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

  /** Undefined if nothing is to be closed now. */
  async #due(): Promise<Due | undefined> {
    const { seq: head, pruned } = await this.#bounds();
    const part = (await this.list()).at(-1);
    const length = head - (part?.from ?? pruned);
    const share = Math.floor((head - pruned) / usualParts / 2); // it ends as far on again
    const { least, margin } = this.#sizes;
    if (length < Math.max(least, part ? share : 0)) return undefined;
    return { part, to: head + Math.max(margin, share, await this.#growth(head, pruned)) };
  }

  /** How many events come in `heldMs` at the pace of the newest, but not more than there are: a burst may soon be over. */
  async #growth(head: number, pruned: number): Promise<number> {
    const { least, heldMs } = this.#sizes;
    const count = Math.min(least, head - pruned);
    const { rows } = await sql<{ ms: number | null }>`select max(received_at) - min(received_at) as ms
      from events where seq in (${sql.lit(head - count + 1)}, ${sql.lit(head)})`.execute(
      this.#database.kysely,
    );
    return Math.min(head - pruned, Math.ceil((count * heldMs) / (rows[0]?.ms || 1)));
  }

  /** The table with a check that another process has begun with. */
  async #leftBehind(): Promise<string | undefined> {
    const { rows } = await sql<{ name: string }>`select relname as name from pg_constraint
      join pg_class on pg_class.oid = conrelid
      where conname = ${boundsCheck} and pg_table_is_visible(conrelid)`.execute(this.#database.kysely);
    return rows[0]?.name;
  }

  /** Closes a part before the event `to`; without a part, makes one of the whole table. */
  async #close({ part, to }: Due, signal: AbortSignal): Promise<void> {
    const name = part?.name ?? 'events';
    const from = part && part.from > 0 ? sql`seq >= ${sql.lit(part.from)} and` : sql``;
    const check = sql`check (${from} seq < ${sql.lit(to)})`;
    await this.#inTransaction([
      lockTimeout,
      sql`alter table ${sql.table(name)} add constraint ${sql.ref(boundsCheck)} ${check} not valid`,
    ]);
    try {
      await this.#validate(name, signal);
      await this.#inTransaction([lockTimeout, ...(part ? closing(part, to) : dividing(to))]);
    } catch (error) {
      await this.#unbind(signal);
      throw error;
    }
    this.#log.info({ partition: part?.name ?? first, to }, 'a partition of events was closed');
  }

  /** Checks all rows of a table while others go on using it. */
  #validate(name: string, signal: AbortSignal): Promise<void> {
    return this.#database.kysely.transaction().execute(async (db: Executor) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db);
      const cancel = () => {
        const cancelling = sql`values (pg_cancel_backend(${sql.lit(rows[0]!.pid)}))`;
        cancelling.execute(this.#database.kysely).catch(() => undefined); // it goes on, and is cut off
      };
      signal.addEventListener('abort', cancel, { once: true });
      try {
        signal.throwIfAborted();
        await sql`set local statement_timeout = 0`.execute(db);
        await sql`alter table ${sql.table(name)} validate constraint ${sql.ref(boundsCheck)}`.execute(db);
      } finally {
        signal.removeEventListener('abort', cancel);
      }
    });
  }

  /**
   * Takes the check away from the table that has one: left behind, it would refuse events once the log comes to its end.
   * None has it if what seemed to fail was committed all the same, or another replica has gone on meanwhile. Goes on while
   * the database cannot be reached, but not while somebody holds the table.
   */
  #unbind(signal: AbortSignal): Promise<void> {
    const unbindOnce = async () => {
      const name = await this.#leftBehind();
      if (name === undefined) return;
      const unbind = sql`alter table ${sql.table(name)} drop constraint if exists ${sql.ref(boundsCheck)}`;
      await this.#inTransaction([lockTimeout, unbind]);
    };
    return retry(unbindOnce, {
      pauseMs: (_, error) => {
        if ((error as { code?: unknown }).code !== lockNotAvailable) return retryMs;
        this.#log.error(stuck);
        return undefined;
      },
      isWanted: () => !signal.aborted,
    });
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
    sql`alter table ${sql.table(closed)} drop constraint ${sql.ref(boundsCheck)}`,
    sql`create table ${sql.table(`events_${from}`)} partition of event_log
      for values from (${sql.lit(from)}) to (maxvalue)`,
  ];
}
