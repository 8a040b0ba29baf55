/** The stages in the order in which equal times are settled (`CONTRACT`: the enum's own order). */
export const stages = ['CREATED', 'IN_TRANSIT', 'OUT_FOR_DELIVERY', 'DELIVERY_FAILED', 'DELIVERED'] as const;

/** How far a shipment has come. */
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
}

/** One shipment event (`apis/webhooks.md` §2). */
export interface ShipmentEvent {
  readonly kind: 'ShipmentEvent';
  readonly eventId: string;
  readonly type: string;
  readonly stage: Stage;
  /** A date-time that `instant` reads. */
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
