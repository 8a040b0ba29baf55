/** The names that `WebhookOutcome` has in the schema. */
export type WebhookOutcome = 'STORED' | 'SKIPPED' | 'DUPLICATE' | 'ALTERED' | 'REFUSED';

/** A configured webhook endpoint, with what may be told of its secrets. Times are milliseconds since the epoch. */
export interface WebhookEndpoint {
  readonly kind: 'WebhookEndpoint';
  /** As in the route `/webhooks/<family>/:id`. */
  readonly family: string;
  readonly endpointId: string;
  readonly secretSince: number;
  /** Null if only the current secret is accepted. */
  readonly previousSecretValidUntil: number | null;
}

/**
 * The place of a delivery among all others: the number of the last event in the log when it came, then when it was
 * received and what tells it apart. An event of the log is at `[its number, 0, '']`.
 */
export type DeliveryPosition = readonly [seq: number, receivedAt: number, tie: string];

/** A body that is not in the log, as far as it is kept. */
export interface KeptBody {
  readonly text: string | null;
  readonly truncated: boolean;
}

/** A delivery, and what became of it. Times are milliseconds since the epoch. */
export interface WebhookDelivery {
  readonly position: DeliveryPosition;
  readonly family: string;
  readonly endpointId: string;
  readonly eventId: string | null;
  readonly type: string | null;
  /** Of a new event; of one that is delivered again, the log has it. */
  readonly entityId: string | null;
  readonly receivedAt: number;
  readonly signedAt: number | null;
  readonly outcome: WebhookOutcome;
  readonly reason: string | null;
  readonly message: string | null;
  /** Null if the log has the body. */
  readonly kept: KeptBody | null;
}
