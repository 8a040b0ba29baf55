/** A booking made through this gateway (`apis/appointments.md` §2). */
export interface Appointment {
  readonly kind: 'Appointment';
  /** Our own id, a UUID: the service's own may never be known. */
  readonly bookingId: string;
  readonly upstreamId: string | null;
  readonly status: 'BOOKED' | 'CANCELLED' | 'FULFILLED' | 'NOSHOW';
  readonly start: string;
  readonly end: string;
  readonly participants: readonly Participant[];
  readonly bookedAt: string;
  readonly bookedBy: string;
  readonly confirmation: 'CONFIRMED' | 'UNCONFIRMED';
}

/** A participant; `reference` is `<ResourceType>/<id>`. */
export interface Participant {
  readonly actor: { readonly reference: string };
  readonly status: 'ACCEPTED' | 'DECLINED' | 'TENTATIVE' | 'NEEDS_ACTION';
}
