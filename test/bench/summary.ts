import type { Row } from './table.js';

/** The ratios of each suite as a table in Markdown: a row for each measurement, a column for each server. */
export function toSummary(rows: readonly Row[]): string {
  const suites = [...new Set(rows.map(({ suite }) => suite))];
  return suites.map((suite) => summarize(rows.filter((row) => row.suite === suite))).join('\n');
}

function summarize(rows: readonly Row[]): string {
  const slopes = rows.flatMap(({ name, slope, ratio }) =>
    typeof slope === 'number' ? [[name, slope, ratio]] : [],
  );
  const [{ suite }] = rows as [Row];
  if (slopes.length > 0) return toMarkdown([[suite, 'slope', 'greatest to least'], ...slopes]);
  const columns = [...new Set(rows.map(({ who }) => who))];
  const names = [...new Set(rows.map(({ name }) => name))];
  const ratioOf = (name: string, who: string) =>
    rows.find((row) => row.name === name && row.who === who)?.ratio ?? '';
  const lines = names.map((name) => [name, ...columns.map((who) => ratioOf(name, who))]);
  return toMarkdown([[suite, ...columns], ...lines]);
}

type Cell = string | number | undefined;

function toMarkdown([head = [], ...lines]: readonly (readonly Cell[])[]): string {
  const rule = head.map((_, index) => (index === 0 ? '---' : '--:'));
  return `${[head, rule, ...lines].map((line) => `| ${line.map(show).join(' | ')} |`).join('\n')}\n`;
}

function show(cell: Cell): string {
  return typeof cell === 'number' ? cell.toFixed(2) : (cell ?? '');
}
