import { setTimeout as sleep } from 'node:timers/promises';
import { allTold, openAudience, updateFields, type Target } from '../audience.js';
import { begin, byHand, durablePeers, gateway } from '../contestants.js';
import { quantile } from '../load.js';
import { openSenders } from '../senders.js';
import { openSubscribers } from '../subscribers.js';
import { shipmentDelivery } from '../webhooks.js';
import { liveCursor } from '../scale.js';
import { ours } from '../table.js';
import type { Found, Measurement, Started } from './everyday.js';

const usual = { clients: 1_000, missed: 500 };
const brief: typeof usual = { clients: 500, missed: 200 };
const others = 100;
const eachMs = 50;
const senders = 64;
const carrier = 'the carrier of those who come back';

/** After a restart, many clients come back at once, each of which has missed many events; some are there already. */
export const comingBack: Measurement = {
  name: 'coming back',
  contestants: () => [byHand, gateway, ...durablePeers()],
  run: measure,
};

const document = `subscription Back($carrier: String!, $after: String!) {
  shipmentUpdates(filter: { carriers: [$carrier] }, after: $after) ${updateFields}
}`;

async function measure(first: Target, { contestant, environment, database, short }: Started): Promise<Found> {
  const { clients, missed } = short ? brief : usual;
  // The store of the others begins at 0.
  const after = contestant.who === ours ? await liveCursor(first.server.url) : '0';
  await miss(first.server.url, missed);
  await first.server.stop();
  const target = await begin(contestant, environment, { database });
  const audience = await openAudience(target, others, 1);
  let isOver = false;
  const meanwhile = tellOthers();
  const { cpuMs } = await target.server.read({ watch: true });
  const began = performance.now();
  const back = await openSubscribers({
    url: target.server.url,
    count: clients,
    transport: 'websocket',
    init: () => target.init,
    subscribe: () => ({ query: document, variables: { carrier, after } }),
    hear: () => undefined,
  });
  try {
    while (back.total() < clients * missed) await sleep(1);
    const allMs = performance.now() - began;
    const reading = await target.server.read();
    isOver = true;
    await meanwhile;
    const p99 = quantile(
      audience.took.toSorted((a, b) => a - b),
      0.99,
    );
    const figures = { allMs, p99ms: p99, cpuMs: reading.cpuMs - cpuMs, lagP99ms: reading.lagP99 };
    return { score: 1 / allMs, figures };
  } finally {
    back.stop();
    await audience.stop();
    await target.server.stop();
  }

  async function tellOthers(): Promise<void> {
    audience.reset(true);
    const sent: Promise<void>[] = [];
    for (; !isOver; await sleep(eachMs)) sent.push(audience.tell(0));
    await Promise.all(sent);
    await allTold(audience);
  }
}

/** Sends the events that the clients have missed. */
async function miss(url: string, count: number): Promise<void> {
  const { send, stop } = await openSenders(url, senders);
  const events = Array.from({ length: count }, (_, at) => ({
    eventId: `evt_missed_${at}`,
    shipmentId: `shp_${at % 100}`,
    carrier,
  }));
  await Promise.all(events.map((event) => send(shipmentDelivery(url, event))));
  stop();
}
