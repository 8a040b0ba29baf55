import { Pace } from '../../lib/async/pace.js';
import type { Reads } from './read-budget.js';
import type { Engine } from '../store.js';

/**
 * How many rows a step looks at. An embedded database blocks the main thread meanwhile, for a few milliseconds; of
 * Postgres's own time, a few large steps take less.
 */
export const rowsPerStep: Readonly<Record<Engine, number>> = { sqlite: 2_000, postgres: 100_000 };

/** A limit that keeps a database from looking for a subquery's rows along another index, which may have many more. */
export const unlimited = Number.MAX_SAFE_INTEGER;

/** An index in the order of the page, along which its rows are looked for. */
export interface Scan<Key, Row> {
  /** The place at which a step from here ends; undefined if fewer rows are left than it looks at. */
  end(from: Key | undefined): Promise<Key | undefined>;
  /** The first `limit` matching rows after `from`, or from where the page starts, up to `to`, or as far as there are. */
  match(from: Key | undefined, to: Key | undefined, limit: number): Promise<readonly Row[]>;
}

/** The page to be read. */
interface Page<Row> {
  readonly limit: number;
  /** What tells one row from another. */
  keyOf(row: Row): string;
}

/** The event loop has one step in each turn, however many pages are looked for. */
const pace = new Pace(1);

/**
 * Reads a page of rows that no index finds directly, however few they are, in steps: others are served in between, and
 * no step takes longer in a larger table. Which index leads to them soonest is not known, so a step is made along each
 * in turn, until one has found the whole page or ends.
 */
export async function readInSteps<Key, Row>(
  reads: Pick<Reads, 'next'>,
  scans: readonly Scan<Key, Row>[],
  page: Page<Row>,
): Promise<readonly Row[]> {
  const walks = scans.map((scan) => new Walk(reads, scan, page));
  for (;;)
    for (const walk of walks) {
      await walk.step();
      if (walk.isOver() && (await walk.settle())) return walk.rows();
      await pace.turn();
    }
}

/** What one scan has found. Rows may move while it goes on: each counts where it was seen last. */
class Walk<Key, Row> {
  readonly #reads: Pick<Reads, 'next'>;
  readonly #scan: Scan<Key, Row>;
  readonly #page: Page<Row>;
  #steps = 0;
  /** Where the first step ended, and the last one. */
  #firstEnd: Key | undefined;
  #end: Key | undefined;
  #first: readonly Row[] = [];
  readonly #later = new Map<string, Row>();

  constructor(reads: Pick<Reads, 'next'>, scan: Scan<Key, Row>, page: Page<Row>) {
    this.#reads = reads;
    this.#scan = scan;
    this.#page = page;
  }

  async step(): Promise<void> {
    const from = this.#end;
    const end = await this.#reads.next(() => this.#scan.end(from));
    const rows = await this.#match(from, end);
    if (this.#steps === 0) [this.#first, this.#firstEnd] = [rows, end];
    else for (const row of rows) this.#add(row);
    this.#end = end;
    this.#steps += 1;
  }

  isOver(): boolean {
    return this.#end === undefined || this.rows().length === this.#page.limit;
  }

  /** Rows that have moved to the start meanwhile belong there: looks again. Returns whether the page is still found. */
  async settle(): Promise<boolean> {
    if (this.#steps > 1) this.#first = await this.#match(undefined, this.#firstEnd);
    return this.isOver();
  }

  rows(): readonly Row[] {
    const { limit, keyOf } = this.#page;
    const first = new Set(this.#first.map(keyOf));
    const later = [...this.#later].filter(([key]) => !first.has(key));
    return [...this.#first, ...later.map(([, row]) => row)].slice(0, limit);
  }

  #add(row: Row): void {
    const key = this.#page.keyOf(row);
    this.#later.delete(key);
    this.#later.set(key, row);
  }

  #match(from: Key | undefined, to: Key | undefined): Promise<readonly Row[]> {
    return this.#reads.next(() => this.#scan.match(from, to, this.#page.limit));
  }
}
