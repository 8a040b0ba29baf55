import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import { OperationTooComplex } from '../errors.js';
import { createLimiter } from '../limiter.js';
import type { Signal } from '../signal.js';

/** Where a row is, and how many octets its texts have. */
export interface Sized {
  readonly octets: number;
}

const mebibyte = 1024 * 1024;
const usualMebibytes = 64;
/** Octets of texts in one statement: where the database is embedded, nothing else is done while they are read. */
const mostAtOnce = 4 * mebibyte;

/**
 * What one operation reads of the database: one statement after another, each in a turn of the event loop of its own so
 * that others are served in between, and no more than one operation may.
 */
export class Reads {
  private readonly signal: Signal;
  private readonly mostMebibytes: number;
  private readonly inTurn = createLimiter(1);
  private begun = false;
  private octets = 0;

  /** What is not begun when `signal` is aborted is left. */
  constructor(signal: Signal, mostMebibytes = usualMebibytes) {
    this.signal = signal;
    this.mostMebibytes = mostMebibytes;
  }

  /** Runs a statement once those before it are done; rejects where nothing more may be read. */
  next<T>(read: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      if (this.begun) await turn();
      this.begun = true;
      this.check();
      return read();
    });
  }

  /** Counts texts of so many octets, or characters; rejects the operation where that is too much. */
  take(octets: number): void {
    this.octets += octets;
    this.check();
  }

  /** Reads what has long texts, some rows at a time, if the operation may have all of it. */
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
    if (this.octets > this.mostMebibytes * mebibyte)
      throw new OperationTooComplex(tooMuch(this.mostMebibytes));
    if (this.signal.aborted) throw new OperationTooComplex(tooLate);
  }
}

const tooLate = 'The operation took too long to read all that it asks for: ask for less.';

function tooMuch(mebibytes: number): string {
  return `One operation reads no more than about ${mebibytes} MiB of what is stored here: ask for smaller pages.`;
}

/** How many octets each of so many rows may have for all of them to be read at once. */
export function shareOf(rows: number): number {
  return Math.floor(mostAtOnce / Math.max(rows, 1));
}

/** Selects the texts in these columns; they are null in a row where together they have more octets than `share`. */
export function shortTexts<Column extends string>(share: number, ...columns: readonly Column[]) {
  const octets = lengthOf(columns);
  return columns.map((column) => {
    const text = sql<string | null>`case when ${octets} <= ${share} then ${sql.raw(`"${column}"`)} end`;
    return text.as(column);
  });
}

/** Selects how many octets the texts in these columns have together. */
export function octetsOf(...columns: readonly string[]) {
  return lengthOf(columns).as('octets');
}

/** As it is written, since it is built anew for each read. */
function lengthOf(columns: readonly string[]) {
  return sql.raw<number>(columns.map((column) => `octet_length("${column}")`).join(' + '));
}

/** In stretches that are each read at once; what is too long for that is one by itself. */
function portions<Place extends Sized>(places: readonly Place[]): readonly (readonly Place[])[] {
  const all: Place[][] = [];
  let octets = Infinity;
  for (const place of places) {
    octets += place.octets;
    if (octets > mostAtOnce) {
      all.push([]);
      ({ octets } = place);
    }
    all.at(-1)!.push(place);
  }
  return all;
}
