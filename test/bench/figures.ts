import { readFileSync } from 'node:fs';

/** A ratio, with the least and the greatest in any round; or, of what grows, its slope and the ratio at the greatest size. */
export type Bar = readonly number[];

/** For each row, a bar or none for each server. */
export interface Table {
  readonly servers: readonly string[];
  readonly rows: Readonly<Record<string, readonly (Bar | null)[]>>;
}

/** What the customers of a server get, and what each event costs it. */
export interface Customers {
  readonly name: string;
  readonly who: string;
  readonly p50ms: number;
  readonly p99ms: number;
  readonly cpuUs: number;
  readonly lagP99ms: number;
}

/** What the documentation shows of one run of the benchmarks. */
export interface Figures {
  /** Where and when it was measured, and of what. */
  readonly measured: Readonly<Record<string, string>>;
  readonly customers: readonly Customers[];
  readonly suites: Readonly<Record<'queries' | 'fanout' | 'everyday' | 'ingest' | 'scale', Table>>;
}

/** Where `npm run bench` writes them. */
export const figuresFile = 'docs/benchmarks.json';

/** The figures of the last full run. */
export const readFigures = (): Figures => JSON.parse(readFileSync(figuresFile, 'utf8')) as Figures;
