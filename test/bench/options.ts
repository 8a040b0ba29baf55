import { closeSync, openSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** What a run of the benchmarks is asked for. */
export interface Options {
  /** The suites to run, in order. */
  readonly suites: readonly string[];
  readonly short: boolean;
  readonly only: string | undefined;
  readonly rounds: number | undefined;
  readonly who: readonly string[] | undefined;
  /** Write what the documentation shows, even of a short run. */
  readonly report: boolean;
  /** Files for the results, which can be written. */
  readonly json: string | undefined;
  readonly markdown: string | undefined;
}

/** A suite whose measurements have these names, which `--only` can choose. */
interface Named {
  readonly names: readonly string[];
}

/** Reads the arguments; throws what to tell the user. */
export function readOptions(args: readonly string[], all: Readonly<Record<string, Named>>): Options {
  const known = Object.keys(all);
  const usage = `npm run bench -- [${known.join('|')}] [--only NAME] [--short] [--rounds N] [--who A,B] [--report] [--json FILE] [--markdown FILE]`;
  const { values, positionals } = parse(args, usage);
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`There is no suite ${unknown.join(', ')}.\n${usage}`);
  const named = positionals.length > 0 ? positionals : known;

  const { short, only, report, json, markdown } = values;
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(rounds >= 1)) throw new Error(`--rounds takes a number.\n${usage}`);
  const suites = only === undefined ? named : named.filter((name) => all[name]!.names.includes(only));
  if (suites.length === 0) {
    const names = named.map((name) => `${name}: ${all[name]!.names.join(', ') || 'none'}`);
    throw new Error(`There is no measurement ${only}. Their names:\n${names.join('\n')}`);
  }
  for (const path of [json, markdown]) if (path !== undefined) checkWritable(path);
  return { suites, short, only, rounds, who: values.who?.split(','), report, json, markdown };
}

function parse(args: readonly string[], usage: string) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        short: { type: 'boolean', default: false },
        only: { type: 'string' },
        rounds: { type: 'string' },
        who: { type: 'string' },
        report: { type: 'boolean', default: false },
        json: { type: 'string' },
        markdown: { type: 'string' },
      },
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}

/** Throws unless the file can be written; what it contains remains, as the run may fail. */
function checkWritable(path: string): void {
  try {
    closeSync(openSync(path, 'a'));
  } catch (error) {
    throw new Error(`The results cannot be written to a file: ${(error as Error).message}`, { cause: error });
  }
}
