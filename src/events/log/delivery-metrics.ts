import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Outcome } from './commit.js';
import type { Delivery } from '../webhooks/delivery.js';

/** Returns a function that counts the outcome of a delivery, and logs what an operator should know. */
export function createReport({ log, metrics }: Telemetry): (delivery: Delivery, outcome: Outcome) => void {
  return (delivery, outcome) => {
    const { family, known } = delivery;
    const isSkipped = outcome === 'stored' && !known;
    metrics.webhooks.of(family, isSkipped ? 'skipped' : outcome).value += 1;
    if (outcome === 'altered') log.warn(about(delivery), 'a duplicate of an event has a different body');
    if (outcome !== 'stored') return;
    if (known?.undated)
      log.warn(about(delivery), 'an event has no readable timestamp: its time of receipt is used');
    if (!known) log.info(about(delivery), 'an event of an unknown kind was stored but not processed');
  };
}

function about({ family, endpointId, eventId, type, apiVersion }: Delivery) {
  return { family, endpointId, eventId, type: brief(type), apiVersion: brief(apiVersion) };
}

/** Cuts a sender's free text, which may be as long as a body, to fit a log line. */
function brief(text: string | null): string | null {
  return text === null ? null : text.slice(0, 200);
}
