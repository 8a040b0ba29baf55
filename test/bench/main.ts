import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runFanout } from './fanout.js';
import { toGoalLines } from './goals.js';
import { runIngest } from './ingest.js';
import { pinLoad } from './process.js';
import { runQueries } from './queries.js';
import { runScale } from './scale.js';
import { say } from './say.js';
import { toSummary } from './summary.js';
import { toTable, type Row, type SuiteOptions } from './table.js';

type Suite = (options: SuiteOptions) => Promise<readonly Row[]>;

const suites: Readonly<Record<string, Suite>> = {
  queries: runQueries,
  fanout: runFanout,
  ingest: runIngest,
  scale: runScale,
};

const usage = `npm run bench -- [${Object.keys(suites).join('|')}] [--only NAME] [--short] [--json FILE] [--markdown FILE]`;

/** Runs the named suites, or all, and prints the results; being slow is not a failure. */
async function run(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      short: { type: 'boolean', default: false },
      only: { type: 'string' },
      json: { type: 'string' },
      markdown: { type: 'string' },
    },
  });
  const names = positionals.length > 0 ? positionals : Object.keys(suites);
  const unknown = names.filter((name) => !Object.hasOwn(suites, name));
  if (unknown.length > 0) throw new Error(`There is no suite ${unknown.join(', ')}. ${usage}`);

  execFileSync(process.execPath, ['.ci/build.js', '--if-stale'], { stdio: 'inherit' });
  say(pinLoad());
  const rows: Row[] = [];
  for (const name of names) rows.push(...(await suites[name]!(values)));
  for (const name of names) say(`\n${name}\n${toTable(rows.filter(({ suite }) => suite === name))}`);
  say(`\ngoals\n${toGoalLines(rows)}`);
  if (values.markdown !== undefined) writeFileSync(values.markdown, toSummary(rows));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, undefined, 2)}\n`);
}

await run();
