import type { Telemetry } from '../telemetry.js';
import type { Outcome } from './commit.js';
import type { Delivery } from './delivery.js';

/** Returns a function that counts the outcome of a delivery, and logs what an operator should know. */
export function createReport({ log, counter }: Telemetry): (delivery: Delivery, outcome: Outcome) => void {
  const stored = counter('webhook_stored', 'family');
  const skipped = counter('webhook_skipped', 'family');
  const duplicate = counter('webhook_duplicate', 'family');
  const altered = counter('webhook_altered_duplicate', 'family');

  return (delivery, outcome) => {
    const { family, known } = delivery;
    if (outcome === 'duplicate') return duplicate(family);
    if (outcome === 'altered') {
      log.warn(about(delivery), 'a duplicate of an event has a different body');
      return altered(family);
    }
    stored(family);
    if (known?.undated)
      log.warn(about(delivery), 'an event has no readable timestamp: its time of receipt is used');
    if (known) return;
    skipped(family);
    log.info(about(delivery), 'an event of an unknown kind was stored but not processed');
  };
}

function about({ family, endpointId, eventId, type, apiVersion }: Delivery) {
  return { family, endpointId, eventId, type: brief(type), apiVersion: brief(apiVersion) };
}

/** Cuts a sender's free text, which may be as long as a body, to fit a log line. */
function brief(text: string | null): string | null {
  return text === null ? null : text.slice(0, 200);
}
