import { createWarnings } from '../../lib/telemetry/rate-limited-log.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Outcome } from './commit.js';
import type { Delivery } from '../webhooks/delivery.js';

/** How many types that are not known are remembered, so that each is told once. */
const maxTypes = 100;

/**
 * Returns a function that counts the outcome of a delivery, and logs what an operator should know: of a type that is not
 * known the first event, and the others at `debug`; of what an endpoint may send again and again a line a second.
 */
export function createDeliveryMetrics(telemetry: Telemetry): (delivery: Delivery, outcome: Outcome) => void {
  const { log, metrics } = telemetry;
  const warn = createWarnings(telemetry);
  const told = new Set<string>();

  function tellSkipped(delivery: Delivery): void {
    const type = `${delivery.family} ${brief(delivery.type)}`;
    const isNew = !told.has(type) && told.size < maxTypes;
    if (isNew) told.add(type);
    log[isNew ? 'info' : 'debug'](
      about(delivery),
      'an event of an unknown type was stored but not processed',
    );
  }

  return (delivery, outcome) => {
    const { family, endpointId, known } = delivery;
    const tell = (message: string) =>
      warn(message, () => about(delivery), `${message} ${family} ${endpointId}`);
    const isSkipped = outcome === 'stored' && !known;
    const shown = outcome === 'unkept' ? 'altered' : outcome;
    metrics.webhooks.of(family, isSkipped ? 'skipped' : shown).value += 1;
    if (shown === 'altered') tell('a duplicate of an event has a different body');
    if (outcome !== 'stored') return;
    if (known?.undated) tell('an event has no readable timestamp: its time of receipt is used');
    if (delivery.unnamed)
      tell('an event of a known type was stored but not processed: it lacks the id of what it is about');
    else if (!known) tellSkipped(delivery);
  };
}

function about({ family, endpointId, eventId, type, apiVersion }: Delivery) {
  return { family, endpointId, eventId, type: brief(type), apiVersion: brief(apiVersion) };
}

/** Cuts a sender's free text, which may be as long as a body, to fit a log line. */
function brief(text: string | null): string | null {
  return text === null ? null : text.slice(0, 200);
}
