import type { Target } from '../audience.js';
import type { HttpAnswer } from '../http-answers.js';
import { byHand, durablePeers, gateway } from '../contestants.js';
import { drive, keepAwake, post, type Asker } from '../load.js';
import { bearer, signIn } from '../operations.js';
import { openSenders } from '../senders.js';
import { shipmentDelivery } from '../webhooks.js';
import type { Found, Measurement, Started } from './everyday.js';

const usual = { warmMs: 3_000, ms: 3_000 };
const brief: typeof usual = { warmMs: 1_000, ms: 1_500 };
const shipments = 200;
const eventsEach = 5;
export const pageSize = 20;
const connections = 32;

/** A page of shipments, with the last events of each: of the servers that one would take, Mercurius answers queries, too. */
export const shipmentsPage: Measurement = {
  name: 'page with events',
  contestants: () => [byHand, gateway, ...durablePeers().filter(({ who }) => who === 'mercurius')],
  run: measure,
};

const body = JSON.stringify({
  operationName: 'Shipments',
  query: `query Shipments($first: Int!, $events: Int!) {
    shipments(first: $first) {
      nodes { shipmentId stage status updatedAt events(first: $events) { nodes { eventId type occurredAt } } }
    }
  }`,
  variables: { first: pageSize, events: eventsEach },
});

/** The request for the page. */
export const pageRequest = (url: string, headers: Readonly<Record<string, string>>): Buffer =>
  post(`${url}/graphql`, body, headers);

/** Throws if an answer is not a page with at least so many events. */
export function checkPage({ status, body: answer }: HttpAnswer, least: number): void {
  const text = answer.toString();
  const events = text.split('"evt_').length - 1;
  if (status !== 200 || events < least)
    throw new Error(`A page of ${events} events was answered ${status}: ${text.slice(0, 500)}`);
}

/** Sends the events that pages show. */
export async function fillPages(url: string): Promise<void> {
  const { send, stop } = await openSenders(url, 64);
  const at = Date.now() - 60_000;
  for (let stage = 0; stage < eventsEach; stage += 1) {
    const events = Array.from({ length: shipments }, (_, index) => ({
      eventId: `evt_page_${index}_${stage}`,
      shipmentId: `shp_page_${index}`,
      stage: Math.min(3, stage),
      at: at + stage * 1_000 + index,
    }));
    await Promise.all(events.map((event) => send(shipmentDelivery(url, event))));
  }
  stop();
}

async function measure({ server }: Target, { short }: Started): Promise<Found> {
  const { warmMs, ms } = short ? brief : usual;
  await fillPages(server.url);
  const sessions = await Promise.all(Array.from({ length: connections }, () => signIn(server.url)));
  const askers = sessions.map((session): Asker => {
    const request = pageRequest(server.url, bearer(session));
    return { next: () => request, check: (answer) => checkPage(answer, pageSize * eventsEach) };
  });
  await drive(server.url, askers, warmMs);
  const before = await server.read({ watch: true });
  const { rate, p50, p99, answers } = await keepAwake(() => drive(server.url, askers, ms));
  const after = await server.read();
  return {
    score: rate,
    figures: {
      perSecond: rate,
      p50ms: p50,
      p99ms: p99,
      cpuUs: ((after.cpuMs - before.cpuMs) * 1_000) / answers,
      lagP99ms: after.lagP99,
    },
  };
}
