import type { Reads } from './reads.js';

/** How many rows one statement looks at: an embedded database blocks the main thread meanwhile, for some milliseconds. */
export const rowsPerStep = 2_000;

/** An index in the order of the page, along which its rows are looked for. */
export interface Scan<Place, Row> {
  /** Of the next `rowsPerStep` rows after `from`, or from where the page starts, the matching ones, at most `limit`. */
  match(from: Place | undefined, limit: number): Promise<readonly Row[]>;
  /** The place of the last of these rows; undefined if there are none after them. */
  end(from: Place | undefined): Promise<Place | undefined>;
}

/** The page to be read. */
interface Page<Row> {
  readonly limit: number;
  /** What tells one row from another. */
  keyOf(row: Row): string;
}

/**
 * Reads a page of rows that no index finds directly, however few they are, in steps: others are served in between, and
 * no statement runs longer in a larger table. Which index leads to them soonest is not known, so a step is made along
 * each in turn, until one has found the whole page or ends.
 */
export async function readInSteps<Place, Row>(
  reads: Pick<Reads, 'next'>,
  scans: readonly Scan<Place, Row>[],
  { limit, keyOf }: Page<Row>,
): Promise<readonly Row[]> {
  const walks = scans.map((scan) => ({
    scan,
    from: undefined as Place | undefined,
    found: new Map<string, Row>(),
  }));
  for (;;)
    for (const walk of walks) {
      const { scan, found, from } = walk;
      const rows = await reads.next(() => scan.match(from, limit - found.size));
      for (const row of rows) {
        found.delete(keyOf(row)); // it has moved on in the meantime, and is found again
        found.set(keyOf(row), row);
      }
      if (found.size === limit) return [...found.values()];
      walk.from = await reads.next(() => scan.end(from));
      if (walk.from === undefined) return [...found.values()];
    }
}
