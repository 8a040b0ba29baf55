import { useEffect, useMemo, useRef, type ReactElement } from 'react';
import UPlot from 'uplot';
import { minuteOf, shownMinutes, type LiveState } from '../../data/live-log.js';
import { useLiveState } from '../../data/use-live.js';
import { useNow } from '../../parts/clock.js';
import { number } from '../../parts/words.js';
import { plotOptions } from './plot-options.js';
import { allSeries, seriesNames } from './series.js';

const height = 220;

/** Events a minute over the last hour, stacked by what became of them. */
export function MinutePlot(): ReactElement {
  const { minutes } = useLiveState();
  const current = minuteOf(useNow());
  const columns = useMemo(() => columnsOf(minutes, current), [minutes, current]);
  const box = usePlot(columns);
  const totals = allSeries.map((series) => ({ series, total: totalOf(minutes, series) }));
  const shown = totals.filter(
    ({ series, total }) => total > 0 || series === 'shipments' || series === 'payments',
  );
  return (
    <figure className="plot" aria-labelledby="plot-title">
      <figcaption id="plot-title">
        <h2>Events a minute, last hour</h2>
        <ul className="legend">
          {shown.map(({ series, total }) => (
            <li key={series}>
              <i className="dot" data-series={series} aria-hidden="true" />
              {seriesNames[series]} <b className="figure">{number(total)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      {/* The totals above say in words what the picture shows. */}
      <div className="plot-canvas" ref={box} aria-hidden="true" />
    </figure>
  );
}

/** Time in seconds, then for each series the height to which it is stacked, the topmost first. */
type Columns = readonly (readonly number[])[];

/** Draws the columns, at the width that there is and in the theme's colors. */
function usePlot(columns: Columns) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot>(undefined);
  const newest = useRef(columns);
  useEffect(() => {
    newest.current = columns;
    plot.current?.setData(columns as UPlot.AlignedData);
  }, [columns]);
  useEffect(() => {
    const target = box.current;
    if (!target) return undefined;
    const draw = (): void => {
      plot.current?.destroy();
      const size = { width: target.clientWidth, height };
      plot.current = new UPlot(plotOptions(target, size), newest.current as UPlot.AlignedData, target);
    };
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: target.clientWidth, height }));
    const theme = matchMedia('(prefers-color-scheme: dark)');
    draw();
    resize.observe(target);
    theme.addEventListener('change', draw);
    return () => {
      resize.disconnect();
      theme.removeEventListener('change', draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, []);
  return box;
}

function columnsOf(minutes: LiveState['minutes'], current: number): Columns {
  const shown = Array.from({ length: shownMinutes }, (_, index) => current - shownMinutes + 1 + index);
  let heights = shown.map(() => 0);
  const stacked = allSeries.map((series) => {
    heights = heights.map((base, index) => base + (minutes.get(shown[index]!)?.[series] ?? 0));
    return heights;
  });
  return [shown.map((minute) => minute * 60), ...stacked.toReversed()];
}

function totalOf(minutes: LiveState['minutes'], series: (typeof allSeries)[number]): number {
  return [...minutes.values()].reduce((sum, counts) => sum + (counts[series] ?? 0), 0);
}
