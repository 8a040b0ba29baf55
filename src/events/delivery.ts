/** A verified webhook, parsed. */
export interface Delivery {
  /** The family of webhooks, for example `shipments`; one of those that the log has a fold for. */
  readonly family: string;
  readonly endpointId: string;
  /** The sender's id of the event, free text: what tells a repetition from a new event, within the family. */
  readonly eventId: string;
  readonly type: string;
  readonly apiVersion: string | null;
  /** The raw body, valid UTF-8. */
  readonly body: string;
  /** An ISO date-time in UTC with milliseconds, as `Date.toISOString` writes it. */
  readonly receivedAt: string;
  /** Null for an event that is kept and skipped. */
  readonly known: Known | null;
}

/** What a domain knows of an event. */
interface Known {
  readonly entityId: string;
  /** As JSON. */
  readonly event: unknown;
  /** Whether it tells no time that can be read, so that that of its receipt counts. */
  readonly undated?: boolean;
}
