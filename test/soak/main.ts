/**
 * `npm run soak [-- --minutes 60] [--users 200] [--engine sqlite|postgres] [--attack <part of a name>] [--seed N]`:
 * ordinary users, with the attacks of `npm run attacks` beside them at random, on both engines, half of the time each.
 * Exits with 1 if an event was lost or doubled, a gateway ended, something it holds grew, or its ordinary users waited
 * for more than three times as long as when it is quiet.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { attacks, crumbling } from '../attacks/attacks.js';
import { collectable } from '../chaos/replica.js';
import { runChaos } from '../chaos/run.js';
import { summarize } from '../chaos/summary.js';
import { startPostgres } from '../support/postgres-server.js';
import { startCrowd, type Crowd } from './crowd.js';
import { findGrowth } from './held.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    users: { type: 'string', default: '200' },
    engine: { type: 'string' },
    attack: { type: 'string', default: '' },
    seed: { type: 'string', default: String(randomInt(1_000_000)) },
  },
});
const all = ['sqlite', 'postgres'] as const;
const engines = all.filter((engine) => values.engine === undefined || values.engine === engine);
const minutes = Number(values.minutes) / engines.length;
const users = Number(values.users);
/** All but the one that needs another notes service, which would be that of the ordinary users, too. */
const chosen = Object.keys(attacks).filter((name) => name !== crumbling && name.includes(values.attack));
if (!(minutes > 0 && users > 0 && chosen.length > 0))
  throw new Error(
    '--engine is sqlite or postgres, --attack is part of a name, --minutes and --users are numbers.',
  );

/** How many events a second. */
const rate = 10;
const say = (text: string) => void process.stdout.write(`${text}\n`);
/** How many times as long as when it is quiet an ordinary user may wait, at the 99th percentile. */
const mostTimes = 3;

/** What is wrong with what the crowd saw. */
function findFaults({ phases, before, after }: Crowd): readonly string[] {
  const quiet = phases[0]?.p99 ?? 0;
  const slow = phases
    .slice(1)
    .filter(({ p99 }) => p99 > quiet * mostTimes)
    .map(({ name, p99 }) => `p99 of the ordinary users was ${p99} ms, ${quiet} ms when quiet: ${name}`);
  return [...slow, ...(before && after ? findGrowth(before, after) : ['what is held was not read'])];
}

let isBroken = false;
for (const engine of engines) {
  say(`${engine}: npm run soak -- --engine ${engine} --seed ${values.seed} --minutes ${minutes}`);
  const postgres = engine === 'postgres' ? await startPostgres() : undefined;
  let crowd: Crowd | undefined;
  try {
    const report = await runChaos({
      engine,
      seed: values.seed,
      kills: 0,
      rate,
      // A log has no more than some 25 parts, which statements read one by one.
      partEvents: Math.ceil((minutes * 60 * rate) / 20),
      settleMs: 60_000,
      delays: { probability: 0, maxMs: 0 },
      nodeOptions: ['--max-old-space-size=512', ...collectable],
      company: async (cluster, random) =>
        (crowd = await startCrowd(cluster, random, { users, ms: minutes * 60_000, attacks: chosen, say })),
      ...(postgres && { postgres }),
    });
    const faults = crowd ? findFaults(crowd) : ['nobody came'];
    say(`\n${summarize([report])}\n`);
    say(`${engine}: held before ${JSON.stringify(crowd?.before)}, after ${JSON.stringify(crowd?.after)}`);
    say(faults.length === 0 ? `${engine}: held` : faults.map((it) => `${engine}: BROKEN ${it}`).join('\n'));
    isBroken ||= faults.length > 0 || report.findings.length > 0;
  } finally {
    await postgres?.stop();
  }
}
process.exit(isBroken ? 1 : 0);
