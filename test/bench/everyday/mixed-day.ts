import { allTold, openAudience, ownShipments as following, type Target } from '../audience.js';
import { byHand, durablePeers, gateway } from '../contestants.js';
import { drive, keepAwake, post, quantile, type Asker } from '../load.js';
import { bearer, queries, signIn } from '../operations.js';
import type { Found, Measurement, Started } from './everyday.js';
import { checkPage, fillPages, pageRequest, pageSize } from './shipments-page.js';

/** Until V8 has compiled what recurs: the gateway takes about 15 seconds, hand-written code less than 5. */
const usual = { warmings: 4, warmMs: 5_000, ms: 5_000 };
const brief: typeof usual = { warmings: 1, warmMs: 1_000, ms: 2_000 };
const connections = 32;
const customers = 500;

/** A day as it comes: of twenty requests sixteen are queries, one is a booking, and three are deliveries that somebody follows. */
export const mixedDay: Measurement = {
  name: 'mixed day',
  contestants: () => [byHand, gateway, ...durablePeers().filter(({ who }) => who === 'mercurius')],
  run: measure,
};

const half = ['Q1', 'page', 'Q2', 'Q1', 'live', 'Q1', 'page', 'Q2', 'Q1'];
const day = [...half, 'Q5', ...half, 'live'];

async function measure(target: Target, { short }: Started): Promise<Found> {
  const { warmings, warmMs, ms } = short ? brief : usual;
  const { server } = target;
  await fillPages(server.url);
  const audience = await openAudience(target, customers, customers, following);
  let group = 0;

  /** A customer, who does in turn what a day consists of. */
  async function openAsker(_: unknown, first: number): Promise<Asker> {
    const { url } = server;
    const session = bearer(await signIn(url));
    const requests = new Map(queries.map(({ name, body }) => [name, post(`${url}/graphql`, body, session)]));
    requests.set('page', pageRequest(url, session));
    let at = first;
    return {
      next() {
        const name = day[(at += 1) % day.length]!;
        return requests.get(name) ?? audience.deliver((group += 1) % customers);
      },
      check(answer) {
        if (day[at % day.length] === 'page') return checkPage(answer, pageSize); // new shipments have one
        if (answer.status !== 200 || answer.body.includes('"errors":[{'))
          throw new Error(`An answer was ${answer.status}: ${answer.body.toString().slice(0, 500)}`);
      },
    };
  }

  try {
    const openAskers = () => Promise.all(Array.from({ length: connections }, openAsker));
    // Each with new sessions, since the notes service takes only so many calls of one.
    for (let at = 0; at < warmings; at += 1) await drive(server.url, await openAskers(), warmMs);
    await allTold(audience);
    audience.reset(true);
    const askers = await openAskers();
    const before = await server.read({ watch: true });
    const { rate, p50, p99, answers } = await keepAwake(() => drive(server.url, askers, ms));
    await allTold(audience);
    const after = await server.read();
    const took = audience.took.toSorted((a, b) => a - b);
    return {
      score: rate,
      figures: {
        perSecond: rate,
        p50ms: p50,
        p99ms: p99,
        liveP99ms: quantile(took, 0.99),
        cpuUs: ((after.cpuMs - before.cpuMs) * 1_000) / answers,
        lagP99ms: after.lagP99,
      },
    };
  } finally {
    await audience.stop();
  }
}
