// `npm run chaos [-- --seed N] [--kills M] [--engine sqlite|postgres|standby|pooler|relay] [--variant NAME]`: minutes of
// chaos, on each of them by default, with M kills in all: an embedded database, one Postgres, a primary with a standby,
// the same through PgBouncer, and NATS beside one Postgres. Exits with 1 if it finds a fault.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres-server.js';
import type { Report } from './report.js';
import { runChaos, type RunOptions } from './run.js';
import { summarize } from './summary.js';
import { surroundings } from './surroundings.js';
import { optionsFor } from './variants.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
    kills: { type: 'string', default: '120' },
    engine: { type: 'string' },
    variant: { type: 'string' },
  },
});
const all = ['sqlite', 'postgres', 'standby', 'pooler', 'relay'] as const;
const chosen = all.filter((name) => values.engine === undefined || values.engine === name);
const kills = Math.ceil(Number(values.kills) / chosen.length);
if (chosen.length === 0 || !(kills >= 0))
  throw new Error(`--engine is one of ${all.join(', ')}, --kills a number.`);

const say = (text: string) => void process.stdout.write(`${text}\n`);

async function run(name: (typeof all)[number]): Promise<Report> {
  const engine = name === 'sqlite' ? name : 'postgres';
  const around = name === 'sqlite' || name === 'postgres' ? undefined : await surroundings[name]();
  const postgres = engine === 'postgres' && !around?.database ? await startPostgres() : undefined;
  const nodeOptions = optionsFor(values.variant);
  const options: RunOptions = {
    name,
    engine,
    around,
    seed: values.seed,
    kills,
    nodeOptions,
    ...(postgres && { postgres }),
  };
  try {
    return await runChaos(options);
  } finally {
    await postgres?.stop();
    await around?.stop();
  }
}

const reports: Report[] = [];
for (const name of chosen) {
  say(`${name}: npm run chaos -- --engine ${name} --seed ${values.seed} --kills ${kills}`);
  const report = await run(name);
  reports.push(report);
  say(`${name}: ${report.findings.length} faults in ${report.seconds} s`);
}
say(`\n${summarize(reports)}`);
process.exit(reports.some(({ findings }) => findings.length > 0) ? 1 : 0);
