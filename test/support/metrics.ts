import type { Metrics } from '../../src/lib/telemetry/metrics.js';

/** The value of a series as it is scraped, such as `trivium_webhooks_total{family="shipments",outcome="stored"}`; or 0. */
export async function scrape(metrics: Metrics, series: string): Promise<number> {
  return seriesIn(await metrics.text()).get(series) ?? 0;
}

/** Every series of a scraped text, with its value. */
export function seriesIn(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}
