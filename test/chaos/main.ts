// `npm run chaos [-- --seed N] [--kills M] [--engine sqlite|postgres] [--variant NAME]`: minutes of chaos, on both
// engines by default, with M kills in all. Exits with 1 if it finds a fault.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres-server.js';
import type { Report } from './report.js';
import { runChaos } from './run.js';
import { summarize } from './summary.js';
import { optionsFor } from './variants.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    kills: { type: 'string', default: '120' },
    engine: { type: 'string' },
    variant: { type: 'string' },
  },
});
const all = ['sqlite', 'postgres'] as const;
const engines = all.filter((engine) => values.engine === undefined || values.engine === engine);
const kills = Math.ceil(Number(values.kills) / engines.length);
if (engines.length === 0 || !(kills >= 0))
  throw new Error('--engine is sqlite or postgres, --kills a number.');

const say = (text: string) => void process.stdout.write(`${text}\n`);
const reports: Report[] = [];
for (const engine of engines) {
  say(`${engine}: npm run chaos -- --engine ${engine} --seed ${values.seed} --kills ${kills}`);
  const postgres = engine === 'postgres' ? await startPostgres() : undefined;
  try {
    const nodeOptions = optionsFor(values.variant);
    reports.push(
      await runChaos({ engine, seed: values.seed, kills, nodeOptions, ...(postgres && { postgres }) }),
    );
  } finally {
    await postgres?.stop();
  }
}
say(`\n${summarize(reports)}`);
process.exit(reports.some(({ findings }) => findings.length > 0) ? 1 : 0);
