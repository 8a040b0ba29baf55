import { begin, chosen, type Contestant } from '../contestants.js';
import type { Target } from '../audience.js';
import { withEnvironment, type Environment } from '../environment.js';
import { interleave, median } from '../interleave.js';
import { say } from '../say.js';
import type { Row, SuiteOptions } from '../table.js';
import { comingBack } from './coming-back.js';
import { mixedDay } from './mixed-day.js';
import { ownShipments, ownShipmentsByStream } from './own-shipments.js';
import { shipmentsPage } from './shipments-page.js';

/** What was found in one round. */
export interface Found {
  /** What the ratio is made of: more is better. */
  readonly score: number;
  readonly figures: Readonly<Record<string, number>>;
}

/** Something that people do with such a server. */
export interface Measurement {
  readonly name: string;
  /** Who can do it, the base first. */
  contestants(): readonly Contestant[];
  /** Measures a server that has just started, as `name` in its environment. */
  run(target: Target, started: Started): Promise<Found>;
}

/** How a server was started, so that it can be started again. */
export interface Started {
  readonly contestant: Contestant;
  readonly environment: Environment;
  readonly database: string;
  readonly short: boolean;
}

const measurements: readonly Measurement[] = [
  ownShipments,
  ownShipmentsByStream,
  comingBack,
  shipmentsPage,
  mixedDay,
];
const fullRounds = 5;

/** The names of the measurements. */
export const everydayNames = measurements.map(({ name }) => name);

/** What people do, compared with a server written by hand for the same, and with others; all are started anew in each round. */
export function runEveryday(options: SuiteOptions): Promise<readonly Row[]> {
  return withEnvironment(async (environment) => {
    const rows: Row[] = [];
    for (const measurement of measurements)
      if (measurement.name === (options.only ?? measurement.name))
        rows.push(...(await measure(measurement, environment, options)));
    return rows;
  });
}

async function measure(
  { name, contestants, run }: Measurement,
  environment: Environment,
  { short, rounds = short ? 1 : fullRounds, who }: SuiteOptions,
): Promise<readonly Row[]> {
  let started = 0;
  const turns = chosen(contestants(), who).map((contestant) => ({
    who: contestant.who,
    score: ({ score }: Found) => score,
    async run() {
      say(`everyday: ${name}, ${contestant.who} …`);
      const database = `${name} ${contestant.who} ${(started += 1)}.db`;
      const target = await begin(contestant, environment, { database });
      const found = await run(target, { contestant, environment, database, short });
      await target.server.stop();
      return found;
    },
  }));
  return (await interleave(turns, rounds, 0)).map(({ outcomes, ratio, low, high, rounds: all, who: one }) => {
    const columns = Object.keys(outcomes[0]!.figures);
    const figures = columns.map((column) => [
      column,
      median(outcomes.map((found) => found.figures[column]!)),
    ]);
    return {
      suite: 'everyday',
      name,
      who: one,
      ratio,
      low,
      high,
      rounds: all,
      ...Object.fromEntries(figures),
    };
  });
}
