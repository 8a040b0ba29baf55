/** A verified webhook, parsed by its family; the log stores it once for each `eventId`. */
export interface Delivery {
  /** The family of webhooks, for example `shipments`; the log has a fold for it. */
  readonly family: string;
  readonly endpointId: string;
  /** The sender's id of the event, free text; within the family, a repeated id means a duplicate. */
  readonly eventId: string;
  readonly type: string;
  readonly apiVersion: string | null;
  /** The raw body, valid UTF-8. */
  readonly body: string;
  /** An ISO date-time in UTC with milliseconds, as `Date.toISOString` writes it. */
  readonly receivedAt: string;
  /** When it was signed, as its header says: milliseconds since the epoch; absent if that is no time. */
  readonly signedAt?: number | undefined;
  /** Null for an event that is stored but skipped: it changes no state, and no subscriber gets it. */
  readonly known: Known | null;
  /** Whether it is skipped only because it lacks the id of what it is about: its type is known. */
  readonly unnamed?: boolean;
}

/** What a domain knows of an event. */
interface Known {
  readonly entityId: string;
  /** Whatever its family's fold takes; it can be written as JSON. */
  readonly event: unknown;
  /** The event as JSON, if `event` lacks what only readers need: to hand a large one on as text takes less time. */
  readonly text?: string;
  /** Whether it has no readable time of its own, so that the time of its receipt counts. */
  readonly undated?: boolean;
}
