import { faults } from './check.js';
import type { Report } from './run.js';

const shownFindings = 5;

/** The reports side by side, with their sums; then what was found, if anything. */
export function summarize(reports: readonly Report[]): string {
  const numbers: readonly (readonly [string, (report: Report) => number])[] = [
    ['kills (SIGKILL)', ({ kills }) => kills],
    ['drains (SIGTERM)', ({ drains }) => drains],
    ['freezes', ({ freezes }) => freezes],
    ['database restarts', ({ databaseRestarts }) => databaseRestarts],
    ['cut sockets', ({ cuts }) => cuts],
    ['events', ({ events }) => events],
    ['deliveries', ({ deliveries }) => deliveries],
    ['acknowledged', ({ acknowledged }) => acknowledged],
    ['stored', ({ stored }) => stored],
    ['updates seen', ({ updates }) => updates],
    ['operations ended', ({ interruptions }) => sum([...interruptions.values()])],
    ['seconds', ({ seconds }) => seconds],
    ...faults.map(
      (fault) =>
        [fault, ({ findings }: Report) => findings.filter((it) => it.fault === fault).length] as const,
    ),
  ];
  const rows = [
    ['', ...reports.map(({ engine }) => engine), 'in all'],
    ['seed', ...reports.map(({ seed }) => seed), ''],
    ...numbers.map(([name, count]) => [name, ...reports.map(count), sum(reports.map(count))].map(String)),
  ];
  const [first, ...others] = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map(([name, ...cells]) =>
    [name!.padEnd(first!), ...cells.map((cell, at) => cell.padStart(others[at]!))].join('  '),
  );
  return [...lines, ...reports.flatMap(remarks)].join('\n');
}

function remarks({ engine, interruptions, complaints, findings }: Report): string[] {
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
    ...counted('errors in the log', complaints),
    ...found,
  ];
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0);
}
