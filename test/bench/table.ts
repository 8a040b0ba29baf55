/** One row of the results: the file given by `--json` is a list of these. */
export interface Row {
  readonly suite: string;
  /** What was measured, such as `Q1`. */
  readonly name: string;
  /** The server that was measured. */
  readonly who: string;
  /** The ratio to the base in the same run. */
  readonly ratio: number;
  /** The least and the greatest ratio in any round. */
  readonly low?: number;
  readonly high?: number;
  /** The ratio in each round. */
  readonly rounds?: readonly number[];
  /** Figures of this machine at this time, which mean nothing elsewhere. */
  readonly [figure: string]: string | number | readonly number[] | undefined;
}

/** How a suite is to be run. */
export interface SuiteOptions {
  /** Run briefly: enough to see that it works, too little for reliable figures. */
  readonly short: boolean;
  /** Run only the measurement with this name. */
  readonly only?: string | undefined;
  /** Run so many rounds, instead of as many as the suite finds right. */
  readonly rounds?: number | undefined;
  /** Leave out the servers whose names have none of these words; the base is never left out. */
  readonly who?: readonly string[] | undefined;
}

/** The gateway's name in a row. */
export const ours = 'trivium';

/** The members of a row that are not shown in a table. */
const hidden: readonly string[] = ['suite', 'rounds'];

/** Rows as an aligned table with a column for every other member that a row has. */
export function toTable(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) => !hidden.includes(name),
  );
  const cells = [columns, ...rows.map((row) => columns.map((column) => show(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]!.length)));
  return cells.map((line) => toLine(line, widths)).join('\n');
}

function toLine(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, index) =>
    index < 2 ? cell.padEnd(widths[index]!) : cell.padStart(widths[index]!),
  );
  return padded.join('  ').trimEnd();
}

function show(value: Row[string]): string {
  if (typeof value !== 'number') return value === undefined ? '' : String(value);
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(2);
}
