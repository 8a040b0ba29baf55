import type { Series } from '../../data/live-log.js';

/** Each series in words, in the order in which they are stacked. */
export const seriesNames: Readonly<Record<Series, string>> = {
  shipments: 'Shipments',
  payments: 'Payments',
  skipped: 'Skipped',
  duplicate: 'Duplicates',
  refused: 'Refused',
};

/** The names of the series. */
export const allSeries = Object.keys(seriesNames) as readonly Series[];
