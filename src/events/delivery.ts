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
  /** What the domain knows of the event, as JSON; null for an event that is kept and skipped. */
  readonly known: null | { readonly entityId: string; readonly event: unknown };
}
