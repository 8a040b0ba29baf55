/** Every table. Times are milliseconds since the epoch unless a name says `instant` (see `src/lib/iso-instant.ts`). */
export interface Tables {
  readonly keyv: KeyvTable;
  readonly leases: LeaseTable;
  readonly sessions: SessionTable;
  readonly webhook_secrets: WebhookSecretTable;
  readonly bookings: BookingTable;
  readonly booking_participants: BookingParticipantTable;
  readonly log_head: LogHeadTable;
  readonly event_ids: EventIdTable;
  readonly events: EventTable;
  readonly event_renderings: EventRenderingTable;
  readonly shipments: ShipmentTable;
  readonly payments: PaymentTable;
}

/** Values by key, sealed and bound to it. */
export interface KeyvTable {
  readonly key: string;
  readonly value: string;
  readonly expires_at: number | null;
}

/** Leases: which holder, among all replicas, may work under a key, and until when. */
export interface LeaseTable {
  readonly key: string;
  readonly holder: string;
  readonly expires_at: number;
}

/** Sessions by the SHA-256 of their token; the notes token is sealed. */
export interface SessionTable {
  readonly id: string;
  readonly user_id: string;
  readonly email: string;
  readonly notes_token: string;
  readonly created_at: number;
  readonly expires_at: number;
}

/** The signing secrets of a webhook subscription or endpoint, sealed. */
export interface WebhookSecretTable {
  readonly family: string;
  readonly endpoint_id: string;
  readonly current: string;
  /** Sealed: the replaced secrets as JSON, each with its expiry; or a single one as it is, as version 0.1.0 reads it. */
  readonly previous: string | null;
  /** When a single one expires; null where the expiry is inside. */
  readonly previous_until: number | null;
  /** A sealed copy of the value configured at the last start, to notice when the operator changes it. */
  readonly configured: string;
  readonly changed_at: number;
}

/** A booking: its row is written before the call of the service, and settled after it. */
export interface BookingTable {
  readonly id: string;
  readonly user_id: string;
  readonly email: string;
  readonly idempotency_key: string | null;
  readonly input_digest: string;
  readonly state: 'PENDING' | 'CONFIRMED' | 'UNCONFIRMED';
  /** After this time, by the database's clock, a pending row reads as unconfirmed. */
  readonly pending_until: number;
  readonly upstream_id: string | null;
  readonly status: string;
  readonly start_text: string;
  readonly start_instant: string;
  readonly end_text: string;
  /** JSON. */
  readonly participants: string;
  readonly booked_at: number;
}

/** Who takes part in which booking, for the filter. */
export interface BookingParticipantTable {
  readonly booking_id: string;
  readonly reference: string;
}

/** A single row: where the log ends. Every commit moves it, so commits happen in the order of `seq`. */
export interface LogHeadTable {
  readonly id: number;
  readonly log_id: string;
  readonly seq: number;
  /** Events up to this one, inclusive, are deleted (retention). */
  readonly pruned: number;
}

/** The ids of all events ever stored; never deleted. */
export interface EventIdTable {
  readonly family: string;
  readonly event_id: string;
  readonly seq: number;
  readonly body_digest: string;
}

/** The log of events. */
export interface EventTable {
  readonly seq: number;
  readonly family: string;
  readonly event_id: string;
  readonly endpoint_id: string;
  readonly type: string;
  readonly api_version: string | null;
  readonly entity_id: string | null;
  readonly received_at: number;
  readonly body: string;
  /** JSON of the domain's event; null where it was skipped. */
  readonly event: string | null;
  /** JSON of the entity as folded just after this event; null where it was skipped. */
  readonly entity: string | null;
  /** When the delivery was signed, by its sender's clock; null if that is unknown. */
  readonly signed_at: number | null;
}

/** An altered body: a later delivery of an event with another body, kept beside the first. The table has an older name. */
export interface EventRenderingTable {
  readonly family: string;
  readonly event_id: string;
  readonly body_digest: string;
  readonly api_version: string | null;
  readonly received_at: number;
  readonly body: string;
  /** The number that the log ended with when it was delivered. */
  readonly after_seq: number;
  readonly endpoint_id: string;
  readonly type: string;
  readonly signed_at: number | null;
}

/** The tables of entities as folded. */
export type EntityTableName = 'shipments' | 'payments';

/** What the tables of entities have in common; their other columns, except the id, serve filters. */
interface EntityTable {
  /** The instant of the newest event. */
  readonly updated_instant: string;
  /** JSON. */
  readonly state: string;
}

/** The shipments as folded. */
export interface ShipmentTable extends EntityTable {
  readonly shipment_id: string;
  readonly stage: string;
  readonly carrier: string | null;
  readonly tracking_number: string | null;
}

/** The payments as folded. */
export interface PaymentTable extends EntityTable {
  readonly payment_id: string;
  readonly status: string | null;
  readonly currency: string | null;
  /** 0 or 1. */
  readonly livemode: number;
}
