/** The stages, in the order of the enum: of events at the same time, the one with the later stage wins. */
export const stages = ['CREATED', 'IN_TRANSIT', 'OUT_FOR_DELIVERY', 'DELIVERY_FAILED', 'DELIVERED'] as const;

/** How far a shipment has come, as the type of its newest event says (`apis/webhooks.md` §6). */
export type Stage = (typeof stages)[number];

/** A shipment as folded from its events; what no event has told yet is null. */
export interface Shipment {
  readonly kind: 'Shipment';
  readonly shipmentId: string;
  readonly status: string | null;
  readonly carrier: string | null;
  readonly trackingNumber: string | null;
  readonly stage: Stage;
  readonly updatedAt: string;
  /** Grows with each event folded in: the number in the log of the last one. */
  readonly revision: number;
}

/** One shipment event (`apis/webhooks.md` §2). */
export interface ShipmentEvent {
  readonly kind: 'ShipmentEvent';
  readonly eventId: string;
  readonly type: string;
  readonly stage: Stage;
  /** A timestamp that `looseInstant` reads. */
  readonly occurredAt: string;
  readonly receivedAt: string;
  readonly shipmentId: string;
  readonly status: string | null;
  readonly carrier: string | null;
  readonly trackingNumber: string | null;
}

/** What a subscriber of `shipmentUpdates` gets for each event. */
export interface ShipmentUpdate {
  readonly cursor: string;
  readonly replayed: boolean;
  readonly event: ShipmentEvent;
  readonly shipment: Shipment;
}
