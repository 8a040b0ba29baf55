import { benchmarkTables } from './benchmarks.js';
import { errorTables } from './errors.js';
import { limitTables } from './limits.js';
import { metricTables } from './metrics.js';
import { settingTables } from './settings.js';
import type { MadeTable } from './table.js';

/** All tables that are made from the code. */
export async function madeTables(): Promise<readonly MadeTable[]> {
  return [
    ...benchmarkTables(),
    ...errorTables(),
    ...limitTables(),
    ...settingTables(),
    ...(await metricTables()),
  ];
}
