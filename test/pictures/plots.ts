import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFigures, type Figures, type Table } from '../bench/figures.js';

const colours: Readonly<Record<string, string>> = {
  trivium: '#3d6fe0',
  'trivium by sse': '#8fb2ff',
  'raw ws': '#8a93a6',
  apollo: '#e0873d',
  mercurius: '#3aa675',
  yoga: '#b05fc9',
  hive: '#d1b13b',
  'graphql-ws': '#e05c6e',
};

const style = `svg { --text: #1d2129; --soft: #586072; --line: #d5d9e2; font: 13px system-ui, sans-serif; }
  @media (prefers-color-scheme: dark) { svg { --text: #e3e6ec; --soft: #9aa3b5; --line: #3a4150; } }
  text { fill: var(--text); } .soft { fill: var(--soft); } .line { stroke: var(--line); } .base { stroke: var(--soft); stroke-dasharray: 4 3; } .spread { stroke: var(--text); }`;

const row = 15;
const gap = 14;
const left = 145;
const width = 760;

/** Bars for each row and server, on a logarithmic scale, in which 1 is the base; a line shows how far rounds differ. */
function plot(
  title: string,
  { servers, rows }: Table,
  shown: readonly string[],
  [least, most]: readonly [number, number],
): string {
  const at = (value: number) =>
    left + ((Math.log(value) - Math.log(least)) / (Math.log(most) - Math.log(least))) * (width - left - 60);
  const parts: string[] = [];
  let y = 62;
  for (const [name, figures] of Object.entries(rows)) {
    const bars = shown.flatMap((server) => {
      const bar = figures[servers.indexOf(server)];
      return bar ? [{ server, bar }] : [];
    });
    parts.push(
      `<text x="${left - 10}" y="${y + (bars.length * row) / 2 + 4}" text-anchor="end">${name}</text>`,
    );
    for (const { server, bar } of bars) {
      const [value, low, high] = bar.map((one) => Math.min(Math.max(one, least), most)) as [
        number,
        number,
        number,
      ];
      const [end, middle] = [at(value), y + (row - 3) / 2];
      parts.push(
        `<rect x="${left}" y="${y}" width="${(end - left).toFixed(1)}" height="${row - 3}" rx="2" fill="${colours[server]}"/>`,
        `<line class="spread" x1="${at(low).toFixed(1)}" x2="${at(high).toFixed(1)}" y1="${middle}" y2="${middle}"/>`,
        `<text class="soft" x="${(Math.max(end, at(high)) + 5).toFixed(1)}" y="${y + 10}" font-size="11">${bar[0]!.toFixed(2)}</text>`,
      );
      y += row;
    }
    y += gap;
  }
  const ticks = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20].filter((tick) => tick >= least && tick <= most);
  const axis = ticks.map(
    (tick) =>
      `<line class="${tick === 1 ? 'base' : 'line'}" x1="${at(tick).toFixed(1)}" x2="${at(tick).toFixed(1)}" y1="52" y2="${y - gap + 4}"/><text class="soft" x="${at(tick).toFixed(1)}" y="${y + 6}" text-anchor="middle" font-size="11">${tick}</text>`,
  );
  const legend = shown.map(
    (server, index) =>
      `<rect x="${left + index * 100}" y="30" width="11" height="11" rx="2" fill="${colours[server]}"/><text class="soft" x="${left + 16 + index * 100}" y="40" font-size="12">${server}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 16}" role="img" aria-label="${title}">
<style>${style}</style>
<text x="${left}" y="16" font-weight="600">${title}</text>
${[...legend, ...axis, ...parts].join('\n')}
</svg>
`;
}

/** The rows whose names begin with one of these words. */
function only({ servers, rows }: Table, ...words: readonly string[]): Table {
  const kept = Object.entries(rows).filter(([name]) => words.some((word) => name.startsWith(word)));
  return { servers, rows: Object.fromEntries(kept) };
}

/** What a file of plots would hold, by its name: a pure function of the figures. */
export function plotsOf({
  suites: { queries, fanout, everyday },
}: Figures): Readonly<Record<string, string>> {
  const live = ['trivium', 'raw ws', 'graphql-ws', 'mercurius', 'yoga'];
  return {
    'bench-queries.svg': plot(
      'Queries: 1 is hand-written code, more is faster',
      queries,
      ['trivium', 'apollo', 'mercurius', 'yoga', 'hive'],
      [0.08, 2],
    ),
    'bench-everyday.svg': plot(
      'What people do: 1 is hand-written code, more is faster',
      everyday,
      live,
      [0.08, 20],
    ),
    'bench-burst-storm.svg': plot(
      'Live updates in bursts and storms: 1 is hand-written code, more is faster',
      only(fanout, 'burst', 'storm'),
      live,
      [0.08, 20],
    ),
    'bench-paced.svg': plot(
      'Live updates at ten events a second: 1 is hand-written code, more is faster',
      only(fanout, 'paced'),
      live,
      [0.05, 20],
    ),
    'bench-memory.svg': plot(
      'Memory of a subscriber: 1 is hand-written code, less is better',
      only(fanout, 'memory'),
      [...live, 'trivium by sse'],
      [0.2, 20],
    ),
  };
}

/** Draws the plots of the benchmarks into this folder. */
export function makePlots(folder: string): void {
  for (const [name, svg] of Object.entries(plotsOf(readFigures()))) writeFileSync(join(folder, name), svg);
}
