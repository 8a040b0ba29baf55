import UPlot from 'uplot';
import { allSeries } from './series.js';

/** How the plot is drawn, in the colors that the style sheet gives `target`. */
export function plotOptions(target: HTMLElement, size: { width: number; height: number }): UPlot.Options {
  const style = getComputedStyle(target);
  const color = (name: string): string => style.getPropertyValue(`--plot-${name}`).trim();
  const axis = {
    stroke: color('text'),
    font: `12px ${style.fontFamily}`,
    grid: { stroke: color('grid'), width: 1 },
    ticks: { show: false },
  };
  return {
    ...size,
    cursor: { show: false },
    legend: { show: false },
    padding: [8, 18, 0, 0],
    scales: {
      x: { time: true, range: (_, min, max) => [min - 30, max + 30] },
      y: { range: (_, __, max) => [0, Math.max(4, Math.ceil(max * 1.1))] },
    },
    axes: [
      { ...axis, size: 26, space: 70, values: (_, times) => times.map(toClock), grid: { show: false } },
      {
        ...axis,
        size: 36,
        space: 36,
        values: (_, values) => values.map((value) => (value % 1 ? '' : `${value}`)),
      },
    ],
    series: [
      {},
      // Drawn from the topmost down: each covers what is below it.
      ...allSeries.toReversed().map((series) => ({
        fill: color(series),
        stroke: color(series),
        width: 0,
        points: { show: false },
        ...(UPlot.paths.bars && { paths: UPlot.paths.bars({ size: [0.72, 40], align: 0, radius: 0.15 }) }),
      })),
    ],
  };
}

/** A time in seconds as hours and minutes. */
export function toClock(seconds: number): string {
  return new Date(seconds * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}
