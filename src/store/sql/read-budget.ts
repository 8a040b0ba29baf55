import { setImmediate as turn } from 'node:timers/promises';
import { sql, type RawBuilder } from 'kysely';
import { OperationTooComplex, Overloaded } from '../../graphql/errors.js';
import { createConcurrencyLimit } from '../../lib/async/concurrency-limit.js';
import { countWithin } from '../../lib/count-within.js';
import type { Signal } from '../../lib/async/abort.js';

/** A row to be read, by how many octets its texts have together. */
export interface Sized {
  readonly octets: number;
}

const mebibyte = 1024 * 1024;
/** How many mebibytes of texts one operation may read from the database. */
export const defaultMebibytes = 64;
/** Octets of texts that one statement reads: an embedded database blocks the main thread meanwhile. */
const maxStatementOctets = 4 * mebibyte;

/**
 * The reads of one operation: one statement after another, each in its own turn of the event loop so that others are
 * served in between, and no more in all than an operation may read.
 */
export class Reads {
  private readonly signal: Signal;
  private readonly maxMebibytes: number;
  private readonly inTurn = createConcurrencyLimit(1);
  private begun = false;
  private octets = 0;

  /** Statements that have not begun when `signal` is aborted are not run. */
  constructor(signal: Signal, maxMebibytes = defaultMebibytes) {
    this.signal = signal;
    this.maxMebibytes = maxMebibytes;
  }

  /** Runs a statement once those before it are done. Rejects as `take` throws, without running it. */
  next<T>(read: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      if (this.begun) await turn();
      this.begun = true;
      this.check();
      return read();
    });
  }

  /**
   * Counts texts of so many octets (or characters). Throws `OperationTooComplex` if that is too many, or nobody waits;
   * `Overloaded` if there is no memory for them.
   */
  take(octets: number): void {
    this.octets += octets;
    this.check();
    if (this.signal.memory?.keep(octets) === false) throw new Overloaded();
  }

  /** Reads rows with long texts, some at a time; rejects as `take` throws, before the first, if all are too many. */
  async long<Place extends Sized, T>(
    places: readonly Place[],
    read: (some: readonly Place[]) => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    this.take(places.reduce((sum, { octets }) => sum + octets, 0));
    const found: T[] = [];
    for (const some of portions(places)) found.push(...(await this.next(() => read(some))));
    return found;
  }

  private check(): void {
    if (this.octets > this.maxMebibytes * mebibyte) throw new OperationTooComplex(tooMuch(this.maxMebibytes));
    if (this.signal.aborted) throw new OperationTooComplex(tooLate);
  }
}

const tooLate = 'The operation took too long to read what it requests: request less, or try again later.';

function tooMuch(mebibytes: number): string {
  return `One operation may read no more than about ${mebibytes} MiB from the database: request smaller pages.`;
}

/** How many octets each of so many rows may have for one statement to read all of them. */
export function shareOf(rows: number): number {
  return Math.floor(maxStatementOctets / Math.max(rows, 1));
}

/** Selects these text columns, as null in a row where together they have more octets than `share`. */
export function shortTexts<Column extends string>(
  share: number | RawBuilder<number>,
  ...columns: readonly Column[]
) {
  const octets = lengthOf(columns);
  return columns.map((column) => {
    const text = sql<string | null>`case when ${octets} <= ${share} then ${sql.raw(`"${column}"`)} end`;
    return text.as(column);
  });
}

/** Selects how many octets these text columns have together. */
export function octetsOf(...columns: readonly string[]) {
  return lengthOf(columns).as('octets');
}

/** As raw SQL, which is quick to build: it is built anew for each read. */
function lengthOf(columns: readonly string[]) {
  return sql.raw<number>(columns.map((column) => `octet_length("${column}")`).join(' + '));
}

/** Portions that one statement can read; a row that is too long for that is a portion by itself. */
function portions<Place extends Sized>(places: readonly Place[]): readonly (readonly Place[])[] {
  const all: (readonly Place[])[] = [];
  let rest = places;
  while (rest.length > 0) {
    const count = countWithin(rest, ({ octets }) => octets, maxStatementOctets);
    all.push(rest.slice(0, count));
    rest = rest.slice(count);
  }
  return all;
}
