/** A payment as folded from its events; what no event has told yet is null, `livemode` false. */
export interface Payment {
  readonly kind: 'Payment';
  readonly paymentId: string;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly status: string | null;
  readonly livemode: boolean;
  readonly updatedAt: string;
  /** Grows with each event folded in: the number in the log of the last one. */
  readonly revision: number;
}

/** One payment event (`apis/webhooks.md` §2); `amount` and `created` are the service's raw numbers. */
export interface PaymentEvent {
  readonly kind: 'PaymentEvent';
  readonly eventId: string;
  readonly type: string;
  readonly apiVersion: string | null;
  readonly created: number;
  /** Null if the event does not say; it is then shown as that of the payment just after it. */
  readonly livemode: boolean | null;
  readonly receivedAt: string;
  readonly paymentId: string;
  readonly amount: number | null;
  readonly currency: string | null;
  readonly status: string | null;
  /** As it was sent, or `LaterJson`. The last member, so that the event can be read without it. */
  readonly data: unknown;
}

/** What a subscriber of `paymentUpdates` gets for each event. */
export interface PaymentUpdate {
  readonly cursor: string;
  readonly replayed: boolean;
  readonly event: PaymentEvent;
  readonly payment: Payment;
}
