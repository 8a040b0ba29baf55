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
  /** Figures of this machine at this time, which mean nothing elsewhere. */
  readonly [figure: string]: string | number | undefined;
}

/** How a suite is to be run. */
export interface SuiteOptions {
  /** Run briefly: enough to see that it works, too little for reliable figures. */
  readonly short: boolean;
  /** Run only the measurement with this name. */
  readonly only?: string | undefined;
}

/** The gateway's name in a row. */
export const ours = 'trivium';

/** Rows as an aligned table with a column for every member that a row has. */
export function toTable(rows: readonly Row[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((name) => name !== 'suite');
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

function show(value: string | number | undefined): string {
  if (typeof value !== 'number') return value ?? '';
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(2);
}
