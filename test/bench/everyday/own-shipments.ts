import { setTimeout as sleep } from 'node:timers/promises';
import { allTold, openAudience, ownShipments as following, type Audience, type Target } from '../audience.js';
import { byHand, byStream, durablePeers, gateway, rawSockets } from '../contestants.js';
import { keepAwake, quantile } from '../load.js';
import type { Found, Measurement, Started } from './everyday.js';

const usual = { subscribers: 5_000, warmMs: 10_000, ms: 10_000 };
const brief: typeof usual = { subscribers: 1_000, warmMs: 3_000, ms: 4_000 };
const eachMs = 5;

/** Each of many customers follows some shipments of their own, of which there are 200 events a second. */
export const ownShipments: Measurement = {
  name: 'own shipments',
  contestants: () => [byHand, rawSockets, gateway, ...durablePeers()],
  run: measure,
};

/** The same by server-sent events. */
export const ownShipmentsByStream: Measurement = {
  name: 'own shipments, sse',
  contestants: () => [byHand, gateway].map((one) => ({ ...byStream(one), who: one.who })),
  run: measure,
};

/** Sends an event to one group after the other at this pace, for so long; then waits until all have arrived. */
async function sendPaced(audience: Audience, ms: number, pauseMs: number): Promise<void> {
  const began = performance.now();
  const sent: Promise<void>[] = [];
  for (let at = 0; at * pauseMs < ms; at += 1) {
    const early = began + at * pauseMs - performance.now();
    if (early > 0) await sleep(early);
    sent.push(audience.tell((at * 7) % audience.due.length));
  }
  await Promise.all(sent);
  await allTold(audience);
}

async function measure(target: Target, { short }: Started): Promise<Found> {
  const { subscribers, warmMs, ms } = short ? brief : usual;
  const audience = await openAudience(target, subscribers, subscribers, following);
  try {
    await sendPaced(audience, warmMs, eachMs);
    audience.reset(true);
    const before = await target.server.read({ watch: true });
    await keepAwake(() => sendPaced(audience, ms, eachMs));
    const after = await target.server.read();
    const took = audience.took.toSorted((a, b) => a - b);
    const p99 = quantile(took, 0.99);
    return {
      score: 1 / p99,
      figures: {
        p50ms: quantile(took, 0.5),
        p99ms: p99,
        cpuUs: ((after.cpuMs - before.cpuMs) * 1_000) / took.length,
        lagP99ms: after.lagP99,
      },
    };
  } finally {
    await audience.stop();
  }
}
