import { setTimeout as sleep } from 'node:timers/promises';
import { sendBursts } from './fanout.js';
import { openAudience } from './audience.js';
import { interleave, type Outcome } from './interleave.js';
import { drive, post, type Asker } from './load.js';
import { ask, bearer, signIn, type Session } from './operations.js';
import { startPostgres } from './postgres.js';
import type { Server } from './process.js';
import { say } from './say.js';
import { createSender, eventsEach, type Sender } from './sender.js';
import { openSenders } from './senders.js';
import { prepareSessions } from './sessions.js';
import { withEnvironment, type Environment } from './environment.js';
import { openSubscribers } from './subscribers.js';
import { ours, type Row, type SuiteOptions } from './table.js';

/** Something measured at several sizes: each run returns how much it did a second. */
interface Series {
  readonly name: string;
  readonly ways: readonly { readonly size: number; run(): Promise<number> }[];
}

export type Measure = (series: Series) => Promise<void>;

const connections = 16;

/** The names of the measurements. */
export const scaleNames = ['log', 'subscribers', 'pages', 'replicas'] as const;
type ScaleName = (typeof scaleNames)[number];

/** How cost grows with the size of the log, the number of subscribers, the depth of paging and the replicas. */
export function runScale({ short, only, rounds = short ? 3 : 5 }: SuiteOptions): Promise<readonly Row[]> {
  const ms = short ? 300 : 1500;
  return withEnvironment(async (environment) => {
    const rows: Row[] = [];
    const measure = measureInto(rows, 'scale', rounds);
    const parts: Readonly<Record<ScaleName, () => Promise<void>>> = {
      log: () => growLog(environment, measure, short ? [1e3, 1e4] : [1e3, 1e4, 1e5, 1e6], ms),
      subscribers: () => growAudience(environment, measure, short ? [100, 1000] : [100, 1000, 10_000], ms),
      pages: () => goDeep(environment, measure, [1, 10, 100], ms),
      replicas: () => addReplicas(environment, measure, ms),
    };
    for (const name of scaleNames) if (name === (only ?? name)) await parts[name]();
    return rows;
  });
}

/** Measures all sizes of a series in turn, and adds its rows. */
export function measureInto(rows: Row[], suite: string, rounds: number): Measure {
  return async ({ name, ways }) => {
    say(`${suite}: ${name} …`);
    const turns = ways.map(({ size, run }) => ({ who: String(size), run, score: (rate: number) => rate }));
    rows.push(...toRows(suite, name, await interleave(turns, rounds)));
  };
}

/** A gateway whose log has `size` events, and a cursor from before the first of them. */
export interface Grown {
  readonly size: number;
  /** As `GatewayStart.database`. */
  readonly database: string;
  readonly server: Server;
  readonly session: Session;
  readonly sender: Sender;
  readonly cursor: string;
}

async function grow(environment: Environment, size: number): Promise<Grown> {
  say(`scale: a log of ${size} events …`);
  const database = `log-${size}.db`;
  const first = await environment.startGateway({ database });
  const cursor = await liveCursor(first.url);
  const sender = createSender();
  await append(first.url, sender, size);
  await first.stop();
  const server = await environment.startGateway({ database });
  return { size, database, server, session: await signIn(server.url), sender, cursor };
}

/** Where the log of a gateway ends. */
export async function liveCursor(url: string): Promise<string> {
  const query = JSON.stringify({ query: '{ liveCursor }' });
  const { liveCursor: cursor } = (await ask(url, query, await signIn(url))) as { liveCursor: string };
  return cursor;
}

/** Sends so many new events, 64 at a time, and returns how many were accepted a second. */
export async function append(url: string, sender: Sender, count: number): Promise<number> {
  const senders = await openSenders(url, 64);
  const until = sender.distinct() + count;
  const began = performance.now();
  const sendOn = async () => {
    while (sender.distinct() < until) await senders.send(sender.next(url));
  };
  await Promise.all(Array.from({ length: 64 }, sendOn));
  senders.stop();
  return (count / (performance.now() - began)) * 1000;
}

async function growLog(
  environment: Environment,
  measure: Measure,
  sizes: readonly number[],
  ms: number,
): Promise<void> {
  const logs: Grown[] = [];
  for (const size of sizes) logs.push(await grow(environment, size));
  await measureLogs(environment, measure, logs, ms);
}

/** Appends, resumes, reads and starts, with logs of several sizes. */
export async function measureLogs(
  environment: Environment,
  measure: Measure,
  logs: readonly Grown[],
  ms: number,
): Promise<void> {
  const series = (name: string, run: (grown: Grown) => Promise<number>): Series => ({
    name,
    ways: logs.map((grown) => ({ size: grown.size, run: () => run(grown) })),
  });
  const query = (source: string, variables: () => object) => (grown: Grown) =>
    askAll(grown, source, variables, ms);

  await measure(series('append', ({ server, sender }) => append(server.url, sender, 250)));
  await measure(series('resume from the far end', resume));
  await measure(
    series(
      'first page of shipments',
      query('{ shipments { nodes { shipmentId stage updatedAt } } }', () => ({})),
    ),
  );
  await measure(
    series('look a shipment up', (grown) => {
      const entities = grown.size / eventsEach;
      const id = () => `shp_${2 * Math.floor((Math.random() * entities) / 2)}`; // odd ones are payments
      return query('query ($id: String!) { shipment(shipmentId: $id) { stage } }', () => ({ id: id() }))(
        grown,
      );
    }),
  );
  await measure(series('start', (grown) => restart(environment, grown)));
}

/** Restarts the gateway, up to the first answered query; returns starts a second. */
async function restart({ startGateway }: Environment, grown: Grown): Promise<number> {
  await grown.server.stop();
  const began = performance.now();
  const server = await startGateway({ database: grown.database });
  await ask(server.url, JSON.stringify({ query: '{ __typename }' }), grown.session);
  const took = performance.now() - began;
  await server.stop();
  return 1000 / took;
}

/** Sends a query over several connections, and returns answers a second; every answer must have data. */
async function askAll(
  { server, session }: Pick<Grown, 'server' | 'session'>,
  query: string,
  variables: () => object,
  ms: number,
): Promise<number> {
  const check: Asker['check'] = ({ status, body }) => {
    if (status !== 200 || body.includes('"errors"') || body.includes(':null'))
      throw new Error(`${query} was answered ${status}: ${body.toString().slice(0, 500)}`);
  };
  const next = () =>
    post(`${server.url}/graphql`, JSON.stringify({ query, variables: variables() }), bearer(session));
  const askers = Array.from({ length: connections }, () => ({ next, check }));
  return (await drive(server.url, askers, ms)).rate;
}

const resumed = 250;

/** Resumes from before the first event; returns how many events arrive a second. */
async function resume({ server, session, cursor }: Grown): Promise<number> {
  const heard = new Set<string>();
  const began = performance.now();
  const subscribers = await openSubscribers({
    url: server.url,
    count: 1,
    transport: 'websocket',
    init: () => bearer(session),
    subscribe: () => ({
      query: `subscription ($after: String!) {
        shipmentUpdates(after: $after) { cursor event { eventId type stage occurredAt shipmentId carrier } }
      }`,
      variables: { after: cursor },
    }),
    hear: (eventId) => void heard.add(eventId),
  });
  while (subscribers.total() < resumed) await sleep(0);
  const took = performance.now() - began;
  subscribers.stop();
  if (heard.size < resumed || !heard.has('evt_1'))
    throw new Error('The resumed events are not the first ones.');
  return (resumed / took) * 1000;
}

async function growAudience(
  environment: Environment,
  measure: Measure,
  sizes: readonly number[],
  ms: number,
): Promise<void> {
  const server = await environment.startGateway({ database: 'audience.db' });
  const init = bearer(await signIn(server.url));
  const run = async (size: number) => {
    const audience = await openAudience({ who: ours, server, init }, size, 1);
    try {
      audience.reset(false);
      const began = performance.now();
      await sendBursts(audience, began + ms);
      return (audience.subscribers.total() / (performance.now() - began)) * 1000;
    } finally {
      await audience.stop();
    }
  };
  await measure({
    name: 'a message to subscribers',
    ways: sizes.map((size) => ({ size, run: () => run(size) })),
  });
}

const pageQuery = `query ($after: String) {
  notes(first: 20, after: $after) { nodes { id title } pageInfo { endCursor } }
}`;

async function goDeep(
  environment: Environment,
  measure: Measure,
  depths: readonly number[],
  ms: number,
): Promise<void> {
  const server = await environment.startGateway({ database: 'pages.db' });
  const session = await signIn(server.url);
  const starts: (string | null)[] = [null];
  for (let depth = 1; depth < depths.at(-1)!; depth += 1) {
    const body = JSON.stringify({ query: pageQuery, variables: { after: starts.at(-1) } });
    const { notes } = (await ask(server.url, body, session)) as {
      notes: { pageInfo: { endCursor: string } };
    };
    starts.push(notes.pageInfo.endCursor);
  }
  const run = async (depth: number) => {
    const sessionOf = await prepareSessions(server.url, connections, {
      sharing: 'own',
      calls: 1,
      answers: ms * 20,
      user: session.user, // whose cursors they are
    });
    const body = JSON.stringify({ query: pageQuery, variables: { after: starts[depth - 1] } });
    const first = `"Note ${(depth - 1) * 20}: `;
    const askers = Array.from({ length: connections }, (_, connection): Asker => ({
      next: () => post(`${server.url}/graphql`, body, bearer(sessionOf(connection))),
      check(answer) {
        if (!answer.body.includes(first))
          throw new Error(`Page ${depth} is another: ${answer.body.toString()}`);
      },
    }));
    return (await drive(server.url, askers, ms)).rate;
  };
  await measure({ name: 'a page of notes', ways: depths.map((size) => ({ size, run: () => run(size) })) });
}

async function addReplicas({ startGateway }: Environment, measure: Measure, ms: number): Promise<void> {
  const postgres = await startPostgres();
  if (!postgres) return;
  try {
    const database = await postgres.createDatabase();
    const servers: Server[] = [];
    for (const cores of [3, 3, 3]) servers.push(await startGateway({ database, cores }));
    const sender = createSender();
    const run = async (size: number) => {
      const check: Asker['check'] = ({ status }) => {
        if (status !== 200) throw new Error(`A delivery was answered ${status}.`);
      };
      const slices = servers.slice(0, size).map(({ url }) => {
        const asker = { next: () => sender.next(url), check };
        return drive(
          url,
          Array.from({ length: 64 }, () => asker),
          ms,
        );
      });
      return (await Promise.all(slices)).reduce((sum, { rate }) => sum + rate, 0);
    };
    await measure({
      name: 'append with replicas',
      ways: [1, 2, 3].map((size) => ({ size, run: () => run(size) })),
    });
    for (const server of servers) await server.stop();
  } finally {
    await postgres.stop();
  }
}

/** A row for each size, and one for the series, with the power of the size by which cost grows; 0 is flat. */
function toRows(suite: string, name: string, outcomes: readonly Outcome<number>[]): Row[] {
  const sizes = outcomes.map(({ who }) => Number(who));
  const rows = outcomes.map(({ who: size, ratio, low, high, score }) => ({
    suite,
    name: `${name}: ${size}`,
    who: ours,
    ratio,
    low,
    high,
    perSecond: score,
  }));
  const { ratio } = outcomes.at(-1)!;
  const slope = -Math.log(ratio) / Math.log(sizes.at(-1)! / sizes[0]!);
  return [...rows, { suite, name, who: ours, ratio, slope }];
}
