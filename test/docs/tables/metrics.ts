import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTestbed } from '../../support/testbed.js';
import type { MadeTable } from './table.js';

/** The table of `docs/metrics.md`: the gateway's own metrics, as a running one has registered them. */
export async function metricTables(): Promise<readonly MadeTable[]> {
  // Its database is not one that only tests can copy: `npm run docs:tables` is none.
  const folder = await mkdtemp(join(tmpdir(), 'trivium-tables-'));
  const testbed = await startTestbed({ folder });
  try {
    const rows = testbed.telemetry.metrics
      .described()
      .map(({ name, type, labels, help }) => [
        `\`${name}${labels.length > 0 ? `{${labels.join()}}` : ''}\``,
        type,
        help,
      ]);
    return [{ page: 'docs/metrics.md', name: 'metrics', rows: [['metric', 'type', 'what'], ...rows] }];
  } finally {
    await testbed.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
