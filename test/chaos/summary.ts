import { faults } from './faults.js';
import type { Tally } from './monkey.js';
import type { Report } from './report.js';

const shownFindings = 5;

const acts: Readonly<Record<keyof Tally, string>> = {
  kills: 'kills (SIGKILL)',
  drains: 'drains (SIGTERM)',
  freezes: 'freezes (SIGSTOP)',
  cuts: 'cut sockets',
  databaseRestarts: 'database restarts',
  databaseFreezes: 'database freezes',
  failovers: 'failovers',
  natsKills: 'kills of NATS servers',
  natsFreezes: 'freezes of the NATS cluster',
};

/** A table of the reports side by side, with sums, followed by the findings, if any. */
export function summarize(reports: readonly Report[]): string {
  const rows = [
    ['', ...reports.map(({ engine }) => engine), 'in all'],
    ['seed', ...reports.map(({ seed }) => seed), ''],
    ...transposed(reports.map(numbersOf)),
  ];
  const [first, ...others] = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map(([name, ...cells]) =>
    [name!.padEnd(first!), ...cells.map((cell, at) => cell.padStart(others[at]!))].join('  '),
  );
  return [...lines, ...reports.flatMap(remarks)].join('\n');
}

/** The named figures of a report: the monkey's acts, the traffic, and the number of findings for each fault. */
function numbersOf({
  tally,
  partitions,
  traffic,
  seconds,
  interruptions,
  findings,
}: Report): [string, number][] {
  return [
    ...Object.entries(acts).map(([act, name]): [string, number] => [name, tally[act as keyof Tally]]),
    ['partitions of the log', partitions],
    ...Object.entries(traffic),
    ['operations ended', sum([...interruptions.values()])],
    ['seconds', seconds],
    ...faults.map((fault): [string, number] => [
      fault,
      findings.filter((finding) => finding.fault === fault).length,
    ]),
  ];
}

function transposed(columns: readonly (readonly (readonly [string, number])[])[]): string[][] {
  return (columns[0] ?? []).map(([name], row) => {
    const numbers = columns.map((column) => column[row]![1]);
    return [name, ...[...numbers, sum(numbers)].map(String)];
  });
}

function remarks({ engine, interruptions, loggedErrors, findings }: Report): string[] {
  const counted = (title: string, counts: ReadonlyMap<string, number>) =>
    [...counts].map(([what, count]) => `${engine}: ${title}: ${what} (${count})`);
  const found = faults.flatMap((fault) =>
    findings
      .filter((finding) => finding.fault === fault)
      .slice(0, shownFindings)
      .map(({ what }) => `${engine}: ${fault}: ${what}`),
  );
  return [
    ...counted('operations ended by the gateway', interruptions),
    ...counted('errors in the log', loggedErrors),
    ...found,
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0);
}
