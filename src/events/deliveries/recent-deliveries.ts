import type { WebhookDelivery } from '../../models/webhook.js';

/** Bounds of the memory. */
interface Limits {
  /** How many deliveries of one kind are kept. */
  readonly perKind: number;
  /** How many characters in all. */
  readonly weight: number;
}

/** What deliveries of one kind weigh together. */
interface Kind {
  readonly deliveries: WebhookDelivery[];
  weight: number;
}

const defaultLimits: Limits = { perKind: 50, weight: 16_000_000 };
/** For a delivery besides its texts. */
const baseWeight = 500;

/**
 * The deliveries that this process has received and the log does not keep, the newest of each kind. If they are too
 * many in all, the oldest of whichever kind takes up most goes first, so that a flood of one kind leaves the others.
 */
export class RecentDeliveries {
  readonly #kinds = new Map<string, Kind>();
  readonly #limits: Limits;
  #weight = 0;

  constructor(limits: Limits = defaultLimits) {
    this.#limits = limits;
  }

  /** `kind` must have few values, whatever is sent. */
  add(kind: string, delivery: WebhookDelivery): void {
    const alike = this.#kinds.get(kind) ?? { deliveries: [], weight: 0 };
    this.#kinds.set(kind, alike);
    alike.deliveries.push(delivery);
    this.#count(alike, weightOf(delivery));
    if (alike.deliveries.length > this.#limits.perKind) this.#dropOldest(alike);
    while (this.#weight > this.#limits.weight) this.#dropOldest(this.#heaviest());
  }

  /** All that are kept, in no order. */
  all(): readonly WebhookDelivery[] {
    return Array.from(this.#kinds.values(), ({ deliveries }) => deliveries).flat();
  }

  #heaviest(): Kind {
    return [...this.#kinds.values()].reduce((most, kind) => (kind.weight > most.weight ? kind : most));
  }

  #dropOldest(kind: Kind): void {
    this.#count(kind, -weightOf(kind.deliveries.shift()!));
  }

  #count(kind: Kind, weight: number): void {
    kind.weight += weight;
    this.#weight += weight;
  }
}

function weightOf({ kept, eventId, type, message, endpointId }: WebhookDelivery): number {
  const texts = [kept?.text, eventId, type, message, endpointId];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), baseWeight);
}
