import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { everydayNames, runEveryday } from './everyday/everyday.js';
import { fanoutNames, runFanout } from './fanout.js';
import { toGoalLines } from './goals.js';
import { herdNames, runHerd } from './herd.js';
import { runIngest } from './ingest.js';
import { queries } from './operations.js';
import { readOptions, type Options } from './options.js';
import { partitionNames, runPartitions } from './partitions.js';
import { pinLoad } from './process.js';
import { runQueries } from './queries.js';
import { runScale, scaleNames } from './scale.js';
import { reported, writeReport } from './report.js';
import { say } from './say.js';
import { toSummary } from './summary.js';
import { runTraces, traceNames } from './traces.js';
import { toTable, type Row, type SuiteOptions } from './table.js';

interface Suite {
  /** The names of its measurements. */
  readonly names: readonly string[];
  run(options: SuiteOptions): Promise<readonly Row[]>;
}

const suites: Readonly<Record<string, Suite>> = {
  queries: { names: queries.map(({ name }) => name), run: runQueries },
  fanout: { names: fanoutNames, run: runFanout },
  everyday: { names: everydayNames, run: runEveryday },
  ingest: { names: [], run: runIngest },
  scale: { names: scaleNames, run: runScale },
  herd: { names: herdNames, run: runHerd },
  partitions: { names: partitionNames, run: runPartitions },
  traces: { names: traceNames, run: runTraces },
};

/** Runs the chosen suites and prints the results; being slow is not a failure. */
async function run(chosen: Options): Promise<void> {
  execFileSync(process.execPath, ['.ci/build.js', '--if-stale'], { stdio: 'inherit' });
  say(pinLoad());
  const rows: Row[] = [];
  const lastReported = chosen.suites.findLast((name) => reported.some((one) => one === name));
  try {
    for (const name of chosen.suites) {
      rows.push(...(await suites[name]!.run(chosen)));
      write(rows, chosen);
      // Not only once all is measured: the others take as long again.
      if (name === lastReported && isReported(chosen)) await writeReport(rows, chosen);
    }
  } finally {
    for (const name of new Set(rows.map(({ suite }) => suite)))
      say(`\n${name}\n${toTable(rows.filter(({ suite }) => suite === name))}`);
    say(`\ngoals\n${toGoalLines(rows)}`);
  }
}

/** Whether all that the documentation shows is measured; a short run does not replace it unless that is asked for. */
function isReported({ suites: named, short, only, who, report }: Options): boolean {
  const isWhole = only === undefined && who === undefined && reported.every((name) => named.includes(name));
  return isWhole && (report || !short);
}

/** Writes the rows so far, which remain if a later suite fails. */
function write(rows: readonly Row[], { json, markdown }: Options): void {
  if (markdown !== undefined) writeFileSync(markdown, toSummary(rows));
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(rows, undefined, 2)}\n`);
}

function optionsIn(args: readonly string[]): Options | undefined {
  try {
    return readOptions(args, suites);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

const options = optionsIn(process.argv.slice(2));
if (options) await run(options);
