import { useEffect, useMemo, useRef, type ReactElement } from 'react';
import UPlot from 'uplot';
import {
  families,
  minuteOf,
  shownMinutes,
  type Family,
  type LiveState,
  type Series,
} from '../../data/live-log.js';
import { useLiveState } from '../../data/use-live.js';
import { useNow } from '../../parts/clock.js';
import { Disclosure } from '../../parts/disclosure.js';
import { useGrant } from '../../parts/no-grant.js';
import { Moment } from '../../parts/times.js';
import { number } from '../../parts/words.js';
import { plotOptions, toClock } from './plot-options.js';
import { allSeries, seriesNames } from './series.js';

const height = 220;

/** Events a minute over the last hour, stacked by what became of them. */
export function MinutePlot(): ReactElement {
  const { minutes, read, missingBefore } = useLiveState();
  const granted = { shipments: useGrant('SHIPMENTS_READ'), payments: useGrant('PAYMENTS_READ') };
  const current = minuteOf(useNow());
  const hour = useMemo(() => hourOf(minutes, current), [minutes, current]);
  const columns = useMemo(() => columnsOf(hour), [hour]);
  const box = usePlot(columns);
  const totals = allSeries.map((series) => ({ series, total: sumOf(hour, series) }));
  const shown = totals.filter(({ series, total }) => total > 0 || (isFamily(series) && granted[series]));
  const isRead = (series: Series) => read.has(isFamily(series) ? series : 'deliveries');
  const isCut = missingBefore !== undefined && minuteOf(missingBefore) > current - shownMinutes;
  return (
    <figure className="plot" aria-labelledby="plot-title">
      <figcaption id="plot-title">
        <h2>Events a minute, last hour</h2>
        <ul className="legend">
          {shown.map(({ series, total }) => (
            <li key={series}>
              <i className="dot" data-series={series} aria-hidden="true" />
              {seriesNames[series]} <b className="figure">{isRead(series) ? number(total) : '…'}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      {/* The table below says the same in words. */}
      <div className="plot-canvas" ref={box} aria-hidden="true" />
      {isCut && (
        <p className="quiet small">
          There were too many to count all of those before{' '}
          <Moment at={new Date(missingBefore).toISOString()} form="clock" />.
        </p>
      )}
      <MinuteTable
        hour={hour}
        series={shown.map(({ series }) => series)}
        isRead={shown.every(({ series }) => isRead(series))}
      />
    </figure>
  );
}

function isFamily(series: Series): series is Family {
  return families.some((family) => family === series);
}

interface MinuteTableProps {
  readonly hour: Hour;
  readonly series: readonly Series[];
  /** Whether it has all of the hour. */
  readonly isRead: boolean;
}

/** What the plot shows, for whoever does not see it: the minutes in which something came, the newest first. */
function MinuteTable({ hour, series, isRead }: MinuteTableProps): ReactElement {
  const busy = hour.filter(({ counts }) => Object.keys(counts).length > 0).toReversed();
  return (
    <Disclosure className="data plot-table" summary="As a table" beginsOpen={false}>
      {() =>
        busy.length === 0 ? (
          <p className="quiet">{isRead ? 'Nothing came in the last hour.' : 'Reading the last hour …'}</p>
        ) : (
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Minute</th>
                {series.map((one) => (
                  <th scope="col" key={one}>
                    {seriesNames[one]}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {busy.map(({ minute, counts }) => (
                <tr key={minute}>
                  <th scope="row">{toClock(minute * 60)}</th>
                  {series.map((one) => (
                    <td className="figure" key={one}>
                      {number(counts[one] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Disclosure>
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

/** The minutes that are shown, the oldest first. */
type Hour = readonly {
  readonly minute: number;
  readonly counts: Readonly<Partial<Record<Series, number>>>;
}[];

function hourOf(minutes: LiveState['minutes'], current: number): Hour {
  const shown = Array.from({ length: shownMinutes }, (_, index) => current - shownMinutes + 1 + index);
  return shown.map((minute) => ({ minute, counts: minutes.get(minute) ?? {} }));
}

function columnsOf(hour: Hour): Columns {
  let heights = hour.map(() => 0);
  const stacked = allSeries.map((series) => {
    heights = heights.map((base, index) => base + (hour[index]?.counts[series] ?? 0));
    return heights;
  });
  return [hour.map(({ minute }) => minute * 60), ...stacked.toReversed()];
}

function sumOf(hour: Hour, series: Series): number {
  return hour.reduce((sum, { counts }) => sum + (counts[series] ?? 0), 0);
}
