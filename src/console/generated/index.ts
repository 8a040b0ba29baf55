/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Which appointments to include; all conditions must match. */
export type AppointmentFilter = {
  /** Only appointments that start at this time or later. */
  readonly from?: string | null | undefined;
  /** Only appointments with this participant, for example `Patient/42`. */
  readonly participant?: string | null | undefined;
  /** Only appointments with this status. */
  readonly status?: AppointmentStatus | null | undefined;
  /** Only appointments that start before this time. */
  readonly to?: string | null | undefined;
};

/** A participant of a new appointment. */
export type AppointmentParticipantInput = {
  /** Who it is. */
  readonly actor: ReferenceInput;
  /** Whether they take part. */
  readonly status: ParticipantStatus;
};

/** The states of an appointment. */
export type AppointmentStatus =
  /** It is scheduled. */
  | 'BOOKED'
  /** It was cancelled. */
  | 'CANCELLED'
  /** It took place. */
  | 'FULFILLED'
  /** The patient did not come. */
  | 'NOSHOW';

/** Whether the appointment service is known to have accepted the booking. */
export type BookingConfirmation =
  /** The service confirmed that it is booked. */
  | 'CONFIRMED'
  /** The outcome of the call is unknown, or not known yet: it may or may not be booked. */
  | 'UNCONFIRMED';

/** The input of `createAppointment`. */
export type CreateAppointmentInput = {
  /** When it ends: an ISO 8601 date-time with an offset, not before the start, passed on as written. */
  readonly end: string;
  /**
   * A key of the caller's choice, of 1 to 255 characters. However often the same key is sent with the same input, the
   * appointment is booked once.
   */
  readonly idempotencyKey?: string | null | undefined;
  /** Who takes part: at least one `Patient/<id>`. */
  readonly participants: ReadonlyArray<AppointmentParticipantInput>;
  /** When it starts: an ISO 8601 date-time with an offset, passed on as written. */
  readonly start: string;
  /** The appointment's status. */
  readonly status: AppointmentStatus;
};

/** The input of `createNote`. */
export type CreateNoteInput = {
  /** The text, at most 10,000 characters. */
  readonly content: string;
  /** Whether to pin the note; false if absent. */
  readonly isPinned?: boolean | null | undefined;
  /** The tags; none if absent. */
  readonly tags?: ReadonlyArray<string> | null | undefined;
  /** The title. */
  readonly title: string;
};

/** The input of `deleteNote`. */
export type DeleteNoteInput = {
  /** The note's global id. */
  readonly id: string;
};

/** Which notes to include; all conditions must match. */
export type NoteFilter = {
  /** True: only pinned notes. False: only notes that are not pinned. */
  readonly pinned?: boolean | null | undefined;
  /** Only notes with this tag; case-insensitive. */
  readonly tag?: string | null | undefined;
};

/** Whether a participant takes part; not the status of the appointment. */
export type ParticipantStatus =
  /** Takes part. */
  | 'ACCEPTED'
  /** Does not take part. */
  | 'DECLINED'
  /** Has not answered yet. */
  | 'NEEDS_ACTION'
  /** May take part. */
  | 'TENTATIVE';

/** Which payments to include, by exact match; all conditions must match. */
export type PaymentFilter = {
  /** Only payments in this currency. */
  readonly currency?: string | null | undefined;
  /** True: only payments with real money. False: only those without. */
  readonly livemode?: boolean | null | undefined;
  /** Only payments with this status. */
  readonly status?: string | null | undefined;
};

/** A reference to a record of the appointment service. */
export type ReferenceInput = {
  /** The reference: `<ResourceType>/<id>`. */
  readonly reference: string;
};

/** The input of `rotatePaymentWebhookSecret`. */
export type RotatePaymentWebhookSecretInput = {
  /** The payment service's own id of the endpoint: its `endpointId`, and not its `id`. */
  readonly endpointId: string;
};

/** The input of `shareNote`. */
export type ShareNoteInput = {
  /** The e-mail address of the person to share with. */
  readonly email: string;
  /** The note's global id. */
  readonly id: string;
  /** What that person may do. */
  readonly permission: SharePermission;
};

/** What a person with whom a note is shared may do. */
export type SharePermission =
  /** Read the note and comment on it. */
  | 'COMMENT'
  /** Read and change the note. */
  | 'EDIT'
  /** Read the note. */
  | 'READ';

/** Which shipments to include, by exact match; all conditions must match. */
export type ShipmentFilter = {
  /** Only shipments of this carrier. */
  readonly carrier?: string | null | undefined;
  /** Only shipments at this stage. */
  readonly stage?: ShipmentStage | null | undefined;
  /** Only shipments with this tracking number. */
  readonly trackingNumber?: string | null | undefined;
};

/** How far a shipment has come, in the order of the lifecycle. */
export type ShipmentStage =
  /** `shipment.created`: it was created. */
  | 'CREATED'
  /** `shipment.delivered`: it arrived. */
  | 'DELIVERED'
  /** `shipment.delivery_failed`: an attempt to deliver it failed. */
  | 'DELIVERY_FAILED'
  /** `shipment.in_transit`: it is on its way. */
  | 'IN_TRANSIT'
  /** `shipment.out_for_delivery`: it is on its last leg. */
  | 'OUT_FOR_DELIVERY';

/** The input of `updateNote`: fields that are absent stay unchanged; null is `INVALID`. */
export type UpdateNoteInput = {
  /** The new text, at most 10,000 characters. */
  readonly content?: string | null | undefined;
  /** The note's global id. */
  readonly id: string;
  /** Whether the note is pinned. */
  readonly isPinned?: boolean | null | undefined;
  /** The new tags, replacing the old ones. */
  readonly tags?: ReadonlyArray<string> | null | undefined;
  /** The new title. */
  readonly title?: string | null | undefined;
};

/** The kinds of `UserError`. */
export type UserErrorCode =
  /** The idempotency key was already used with a different input, or the note is already shared with this person. */
  | 'CONFLICT'
  /** A value does not have the required form, or the service refused it. */
  | 'INVALID'
  /**
   * The object does not exist or is not the caller's, or nobody has the e-mail address to share with. The path is empty if
   * the gateway cannot tell which.
   */
  | 'NOT_FOUND'
  /**
   * A required text is empty, or no participant is a `Patient/<id>`. The title and content of a note may be empty or blank,
   * unless the notes service refuses them.
   */
  | 'REQUIRED'
  /** A text is longer than the service accepts. */
  | 'TOO_LONG'
  /** The user already has 50 pinned notes. */
  | 'TOO_MANY_PINNED'
  /** The e-mail address or the password is wrong. */
  | 'WRONG_CREDENTIALS';

/**
 * Which deliveries to include. All conditions must match. A list matches if one of its values does; an empty list matches
 * nothing.
 */
export type WebhookDeliveryFilter = {
  /** Only those to these subscriptions or endpoints, by the service's own ids; at most 100. */
  readonly endpointIds?: ReadonlyArray<string> | null | undefined;
  /** Only those of this family. */
  readonly family?: WebhookFamily | null | undefined;
  /** Only those with these outcomes. */
  readonly outcomes?: ReadonlyArray<WebhookOutcome> | null | undefined;
  /** Only those of events of these types; at most 100. */
  readonly types?: ReadonlyArray<string> | null | undefined;
};

/** A family of webhooks. */
export type WebhookFamily =
  /** Events of payments. */
  | 'PAYMENTS'
  /** Events of shipments; the endpoint is a subscription of the shipment service. */
  | 'SHIPMENTS';

/** What became of a delivery. */
export type WebhookOutcome =
  /** The event was stored before with another body, for example in another `api_version`: the first one counts. */
  | 'ALTERED'
  /** The same event was stored before. Senders deliver at least once, so this is normal. */
  | 'DUPLICATE'
  /** It was not accepted; `reason` and `message` say why. */
  | 'REFUSED'
  /** It was a new event, but of an unknown type, or without the id of its shipment or payment. It is only in the log. */
  | 'SKIPPED'
  /** It was a new event. It is in the log and in the state of its shipment or payment, and was sent to subscribers. */
  | 'STORED';

export type PlaceQueryVariables = Exact<{ [key: string]: never; }>;


export type PlaceQuery = { readonly liveCursor: string };

export type ShipmentRowFragment = { readonly id: string, readonly shipmentId: string, readonly stage: ShipmentStage, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null, readonly updatedAt: string, readonly revision: number };

export type ShipmentEventPartsFragment = { readonly id: string, readonly eventId: string, readonly type: string, readonly stage: ShipmentStage, readonly occurredAt: string, readonly receivedAt: string, readonly shipmentId: string, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null };

export type ShipmentsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: ShipmentFilter | null | undefined;
}>;


export type ShipmentsQuery = { readonly shipments: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly shipmentId: string, readonly stage: ShipmentStage, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null, readonly updatedAt: string, readonly revision: number }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type ShipmentQueryVariables = Exact<{
  shipmentId: string;
  after?: string | null | undefined;
}>;


export type ShipmentQuery = { readonly shipment: { readonly id: string, readonly shipmentId: string, readonly stage: ShipmentStage, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null, readonly updatedAt: string, readonly revision: number, readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly eventId: string, readonly type: string, readonly stage: ShipmentStage, readonly occurredAt: string, readonly receivedAt: string, readonly shipmentId: string, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } } | null };

export type ShipmentUpdatesSubscriptionVariables = Exact<{
  after?: string | null | undefined;
}>;


export type ShipmentUpdatesSubscription = { readonly shipmentUpdates: { readonly cursor: string, readonly replayed: boolean, readonly event: { readonly id: string, readonly eventId: string, readonly type: string, readonly stage: ShipmentStage, readonly occurredAt: string, readonly receivedAt: string, readonly shipmentId: string, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null }, readonly shipment: { readonly id: string, readonly shipmentId: string, readonly stage: ShipmentStage, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null, readonly updatedAt: string, readonly revision: number } } };

export type PaymentRowFragment = { readonly id: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null, readonly livemode: boolean, readonly updatedAt: string, readonly revision: number };

export type PaymentEventPartsFragment = { readonly id: string, readonly eventId: string, readonly type: string, readonly apiVersion: string | null, readonly created: number, readonly livemode: boolean, readonly receivedAt: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null };

export type PaymentsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: PaymentFilter | null | undefined;
}>;


export type PaymentsQuery = { readonly payments: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null, readonly livemode: boolean, readonly updatedAt: string, readonly revision: number }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type PaymentQueryVariables = Exact<{
  paymentId: string;
  after?: string | null | undefined;
}>;


export type PaymentQuery = { readonly payment: { readonly id: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null, readonly livemode: boolean, readonly updatedAt: string, readonly revision: number, readonly events: { readonly nodes: ReadonlyArray<{ readonly data: unknown, readonly id: string, readonly eventId: string, readonly type: string, readonly apiVersion: string | null, readonly created: number, readonly livemode: boolean, readonly receivedAt: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } } | null };

export type PaymentUpdatesSubscriptionVariables = Exact<{
  after?: string | null | undefined;
}>;


export type PaymentUpdatesSubscription = { readonly paymentUpdates: { readonly cursor: string, readonly replayed: boolean, readonly event: { readonly id: string, readonly eventId: string, readonly type: string, readonly apiVersion: string | null, readonly created: number, readonly livemode: boolean, readonly receivedAt: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null }, readonly payment: { readonly id: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null, readonly livemode: boolean, readonly updatedAt: string, readonly revision: number } } };

export type RecentShipmentEventsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type RecentShipmentEventsQuery = { readonly shipments: { readonly nodes: ReadonlyArray<{ readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly eventId: string, readonly type: string, readonly stage: ShipmentStage, readonly occurredAt: string, readonly receivedAt: string, readonly shipmentId: string, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean } } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type RecentPaymentEventsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type RecentPaymentEventsQuery = { readonly payments: { readonly nodes: ReadonlyArray<{ readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly eventId: string, readonly type: string, readonly apiVersion: string | null, readonly created: number, readonly livemode: boolean, readonly receivedAt: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null }>, readonly pageInfo: { readonly hasNextPage: boolean } } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type ErrorPartsFragment = { readonly code: UserErrorCode, readonly message: string, readonly path: ReadonlyArray<string> };

export type NoteRowFragment = { readonly id: string, readonly title: string, readonly content: string, readonly isPinned: boolean, readonly createdAt: string, readonly updatedAt: string, readonly tags: ReadonlyArray<{ readonly id: string, readonly name: string }> };

export type NotesQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: NoteFilter | null | undefined;
}>;


export type NotesQuery = { readonly notes: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly title: string, readonly content: string, readonly isPinned: boolean, readonly createdAt: string, readonly updatedAt: string, readonly tags: ReadonlyArray<{ readonly id: string, readonly name: string }> }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type NoteByIdQueryVariables = Exact<{
  id: string;
}>;


export type NoteByIdQuery = { readonly node:
    | { readonly id: string, readonly title: string, readonly content: string, readonly isPinned: boolean, readonly createdAt: string, readonly updatedAt: string, readonly tags: ReadonlyArray<{ readonly id: string, readonly name: string }> }
    | Record<PropertyKey, never>
   | null };

export type TagsQueryVariables = Exact<{ [key: string]: never; }>;


export type TagsQuery = { readonly tags: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly name: string, readonly count: number }> } };

export type CreateNoteMutationVariables = Exact<{
  input: CreateNoteInput;
}>;


export type CreateNoteMutation = { readonly createNote: { readonly note: { readonly id: string, readonly title: string, readonly content: string, readonly isPinned: boolean, readonly createdAt: string, readonly updatedAt: string, readonly tags: ReadonlyArray<{ readonly id: string, readonly name: string }> } | null, readonly errors: ReadonlyArray<{ readonly code: UserErrorCode, readonly message: string, readonly path: ReadonlyArray<string> }> } };

export type UpdateNoteMutationVariables = Exact<{
  input: UpdateNoteInput;
}>;


export type UpdateNoteMutation = { readonly updateNote: { readonly note: { readonly id: string, readonly title: string, readonly content: string, readonly isPinned: boolean, readonly createdAt: string, readonly updatedAt: string, readonly tags: ReadonlyArray<{ readonly id: string, readonly name: string }> } | null, readonly errors: ReadonlyArray<{ readonly code: UserErrorCode, readonly message: string, readonly path: ReadonlyArray<string> }> } };

export type DeleteNoteMutationVariables = Exact<{
  input: DeleteNoteInput;
}>;


export type DeleteNoteMutation = { readonly deleteNote: { readonly deletedNoteId: string | null, readonly errors: ReadonlyArray<{ readonly code: UserErrorCode, readonly message: string, readonly path: ReadonlyArray<string> }> } };

export type ShareNoteMutationVariables = Exact<{
  input: ShareNoteInput;
}>;


export type ShareNoteMutation = { readonly shareNote: { readonly sharedNoteId: string | null, readonly errors: ReadonlyArray<{ readonly code: UserErrorCode, readonly message: string, readonly path: ReadonlyArray<string> }> } };

export type AppointmentRowFragment = { readonly id: string, readonly upstreamId: string | null, readonly status: AppointmentStatus, readonly start: string, readonly end: string, readonly bookedAt: string, readonly bookedBy: string, readonly confirmation: BookingConfirmation, readonly participants: ReadonlyArray<{ readonly status: ParticipantStatus, readonly actor: { readonly reference: string } }> };

export type AppointmentsQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: AppointmentFilter | null | undefined;
}>;


export type AppointmentsQuery = { readonly appointments: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly upstreamId: string | null, readonly status: AppointmentStatus, readonly start: string, readonly end: string, readonly bookedAt: string, readonly bookedBy: string, readonly confirmation: BookingConfirmation, readonly participants: ReadonlyArray<{ readonly status: ParticipantStatus, readonly actor: { readonly reference: string } }> }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type CreateAppointmentMutationVariables = Exact<{
  input: CreateAppointmentInput;
}>;


export type CreateAppointmentMutation = { readonly createAppointment: { readonly appointment: { readonly id: string, readonly upstreamId: string | null, readonly status: AppointmentStatus, readonly start: string, readonly end: string, readonly bookedAt: string, readonly bookedBy: string, readonly confirmation: BookingConfirmation, readonly participants: ReadonlyArray<{ readonly status: ParticipantStatus, readonly actor: { readonly reference: string } }> } | null, readonly errors: ReadonlyArray<{ readonly code: UserErrorCode, readonly message: string, readonly path: ReadonlyArray<string> }> } };

export type WebhookEndpointsQueryVariables = Exact<{ [key: string]: never; }>;


export type WebhookEndpointsQuery = { readonly webhookEndpoints: ReadonlyArray<{ readonly id: string, readonly endpointId: string, readonly family: WebhookFamily, readonly url: string, readonly secretSince: string, readonly previousSecretValidUntil: string | null, readonly lastDeliveryAt: string | null }> };

export type DeliverySummaryFragment = { readonly family: WebhookFamily, readonly eventId: string | null, readonly type: string | null, readonly receivedAt: string, readonly outcome: WebhookOutcome, readonly reason: string | null, readonly message: string | null, readonly endpoint: { readonly id: string, readonly endpointId: string } | null };

export type DeliveryPartsFragment = { readonly entityId: string | null, readonly signedAt: string | null, readonly body: string | null, readonly truncated: boolean, readonly family: WebhookFamily, readonly eventId: string | null, readonly type: string | null, readonly receivedAt: string, readonly outcome: WebhookOutcome, readonly reason: string | null, readonly message: string | null, readonly endpoint: { readonly id: string, readonly endpointId: string } | null };

export type RecentDeliveriesQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type RecentDeliveriesQuery = { readonly webhookDeliveries: { readonly nodes: ReadonlyArray<{ readonly family: WebhookFamily, readonly eventId: string | null, readonly type: string | null, readonly receivedAt: string, readonly outcome: WebhookOutcome, readonly reason: string | null, readonly message: string | null, readonly endpoint: { readonly id: string, readonly endpointId: string } | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type WebhookDeliveriesQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  filter?: WebhookDeliveryFilter | null | undefined;
}>;


export type WebhookDeliveriesQuery = { readonly webhookDeliveries: { readonly nodes: ReadonlyArray<{ readonly entityId: string | null, readonly signedAt: string | null, readonly body: string | null, readonly truncated: boolean, readonly family: WebhookFamily, readonly eventId: string | null, readonly type: string | null, readonly receivedAt: string, readonly outcome: WebhookOutcome, readonly reason: string | null, readonly message: string | null, readonly endpoint: { readonly id: string, readonly endpointId: string } | null }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } };

export type WebhookDeliveryUpdatesSubscriptionVariables = Exact<{ [key: string]: never; }>;


export type WebhookDeliveryUpdatesSubscription = { readonly webhookDeliveryUpdates: { readonly delivery: { readonly entityId: string | null, readonly signedAt: string | null, readonly body: string | null, readonly truncated: boolean, readonly family: WebhookFamily, readonly eventId: string | null, readonly type: string | null, readonly receivedAt: string, readonly outcome: WebhookOutcome, readonly reason: string | null, readonly message: string | null, readonly endpoint: { readonly id: string, readonly endpointId: string } | null } } };

export type RotateSecretMutationVariables = Exact<{
  input: RotatePaymentWebhookSecretInput;
}>;


export type RotateSecretMutation = { readonly rotatePaymentWebhookSecret: { readonly rotatedAt: string | null, readonly previousSecretValidUntil: string | null, readonly errors: ReadonlyArray<{ readonly code: UserErrorCode, readonly message: string, readonly path: ReadonlyArray<string> }> } };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const ShipmentRowFragmentDoc = new TypedDocumentString(`
    fragment ShipmentRow on Shipment {
  id
  shipmentId
  stage
  status
  carrier
  trackingNumber
  updatedAt
  revision
}
    `, {"fragmentName":"ShipmentRow"}) as unknown as TypedDocumentString<ShipmentRowFragment, unknown>;
export const ShipmentEventPartsFragmentDoc = new TypedDocumentString(`
    fragment ShipmentEventParts on ShipmentEvent {
  id
  eventId
  type
  stage
  occurredAt
  receivedAt
  shipmentId
  status
  carrier
  trackingNumber
}
    `, {"fragmentName":"ShipmentEventParts"}) as unknown as TypedDocumentString<ShipmentEventPartsFragment, unknown>;
export const PaymentRowFragmentDoc = new TypedDocumentString(`
    fragment PaymentRow on Payment {
  id
  paymentId
  amount
  currency
  status
  livemode
  updatedAt
  revision
}
    `, {"fragmentName":"PaymentRow"}) as unknown as TypedDocumentString<PaymentRowFragment, unknown>;
export const PaymentEventPartsFragmentDoc = new TypedDocumentString(`
    fragment PaymentEventParts on PaymentEvent {
  id
  eventId
  type
  apiVersion
  created
  livemode
  receivedAt
  paymentId
  amount
  currency
  status
}
    `, {"fragmentName":"PaymentEventParts"}) as unknown as TypedDocumentString<PaymentEventPartsFragment, unknown>;
export const ErrorPartsFragmentDoc = new TypedDocumentString(`
    fragment ErrorParts on UserError {
  code
  message
  path
}
    `, {"fragmentName":"ErrorParts"}) as unknown as TypedDocumentString<ErrorPartsFragment, unknown>;
export const NoteRowFragmentDoc = new TypedDocumentString(`
    fragment NoteRow on Note {
  id
  title
  content
  isPinned
  createdAt
  updatedAt
  tags {
    id
    name
  }
}
    `, {"fragmentName":"NoteRow"}) as unknown as TypedDocumentString<NoteRowFragment, unknown>;
export const AppointmentRowFragmentDoc = new TypedDocumentString(`
    fragment AppointmentRow on Appointment {
  id
  upstreamId
  status
  start
  end
  bookedAt
  bookedBy
  confirmation
  participants {
    actor {
      reference
    }
    status
  }
}
    `, {"fragmentName":"AppointmentRow"}) as unknown as TypedDocumentString<AppointmentRowFragment, unknown>;
export const DeliverySummaryFragmentDoc = new TypedDocumentString(`
    fragment DeliverySummary on WebhookDelivery {
  endpoint {
    id
    endpointId
  }
  family
  eventId
  type
  receivedAt
  outcome
  reason
  message
}
    `, {"fragmentName":"DeliverySummary"}) as unknown as TypedDocumentString<DeliverySummaryFragment, unknown>;
export const DeliveryPartsFragmentDoc = new TypedDocumentString(`
    fragment DeliveryParts on WebhookDelivery {
  ...DeliverySummary
  entityId
  signedAt
  body
  truncated
}
    fragment DeliverySummary on WebhookDelivery {
  endpoint {
    id
    endpointId
  }
  family
  eventId
  type
  receivedAt
  outcome
  reason
  message
}`, {"fragmentName":"DeliveryParts"}) as unknown as TypedDocumentString<DeliveryPartsFragment, unknown>;
export const PlaceDocument = new TypedDocumentString(`
    query Place {
  liveCursor
}
    `) as unknown as TypedDocumentString<PlaceQuery, PlaceQueryVariables>;
export const ShipmentsDocument = new TypedDocumentString(`
    query Shipments($first: Int, $after: String, $filter: ShipmentFilter) {
  shipments(first: $first, after: $after, filter: $filter) {
    nodes {
      ...ShipmentRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment ShipmentRow on Shipment {
  id
  shipmentId
  stage
  status
  carrier
  trackingNumber
  updatedAt
  revision
}`) as unknown as TypedDocumentString<ShipmentsQuery, ShipmentsQueryVariables>;
export const ShipmentDocument = new TypedDocumentString(`
    query Shipment($shipmentId: String!, $after: String) {
  shipment(shipmentId: $shipmentId) {
    ...ShipmentRow
    events(first: 100, after: $after) {
      nodes {
        ...ShipmentEventParts
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment ShipmentRow on Shipment {
  id
  shipmentId
  stage
  status
  carrier
  trackingNumber
  updatedAt
  revision
}
fragment ShipmentEventParts on ShipmentEvent {
  id
  eventId
  type
  stage
  occurredAt
  receivedAt
  shipmentId
  status
  carrier
  trackingNumber
}`) as unknown as TypedDocumentString<ShipmentQuery, ShipmentQueryVariables>;
export const ShipmentUpdatesDocument = new TypedDocumentString(`
    subscription ShipmentUpdates($after: String) {
  shipmentUpdates(after: $after) {
    cursor
    replayed
    event {
      ...ShipmentEventParts
    }
    shipment {
      ...ShipmentRow
    }
  }
}
    fragment ShipmentRow on Shipment {
  id
  shipmentId
  stage
  status
  carrier
  trackingNumber
  updatedAt
  revision
}
fragment ShipmentEventParts on ShipmentEvent {
  id
  eventId
  type
  stage
  occurredAt
  receivedAt
  shipmentId
  status
  carrier
  trackingNumber
}`) as unknown as TypedDocumentString<ShipmentUpdatesSubscription, ShipmentUpdatesSubscriptionVariables>;
export const PaymentsDocument = new TypedDocumentString(`
    query Payments($first: Int, $after: String, $filter: PaymentFilter) {
  payments(first: $first, after: $after, filter: $filter) {
    nodes {
      ...PaymentRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment PaymentRow on Payment {
  id
  paymentId
  amount
  currency
  status
  livemode
  updatedAt
  revision
}`) as unknown as TypedDocumentString<PaymentsQuery, PaymentsQueryVariables>;
export const PaymentDocument = new TypedDocumentString(`
    query Payment($paymentId: String!, $after: String) {
  payment(paymentId: $paymentId) {
    ...PaymentRow
    events(first: 20, after: $after) {
      nodes {
        ...PaymentEventParts
        data
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    fragment PaymentRow on Payment {
  id
  paymentId
  amount
  currency
  status
  livemode
  updatedAt
  revision
}
fragment PaymentEventParts on PaymentEvent {
  id
  eventId
  type
  apiVersion
  created
  livemode
  receivedAt
  paymentId
  amount
  currency
  status
}`) as unknown as TypedDocumentString<PaymentQuery, PaymentQueryVariables>;
export const PaymentUpdatesDocument = new TypedDocumentString(`
    subscription PaymentUpdates($after: String) {
  paymentUpdates(after: $after) {
    cursor
    replayed
    event {
      ...PaymentEventParts
    }
    payment {
      ...PaymentRow
    }
  }
}
    fragment PaymentRow on Payment {
  id
  paymentId
  amount
  currency
  status
  livemode
  updatedAt
  revision
}
fragment PaymentEventParts on PaymentEvent {
  id
  eventId
  type
  apiVersion
  created
  livemode
  receivedAt
  paymentId
  amount
  currency
  status
}`) as unknown as TypedDocumentString<PaymentUpdatesSubscription, PaymentUpdatesSubscriptionVariables>;
export const RecentShipmentEventsDocument = new TypedDocumentString(`
    query RecentShipmentEvents($after: String) {
  shipments(first: 50, after: $after) {
    nodes {
      events(first: 20) {
        nodes {
          ...ShipmentEventParts
        }
        pageInfo {
          hasNextPage
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment ShipmentEventParts on ShipmentEvent {
  id
  eventId
  type
  stage
  occurredAt
  receivedAt
  shipmentId
  status
  carrier
  trackingNumber
}`) as unknown as TypedDocumentString<RecentShipmentEventsQuery, RecentShipmentEventsQueryVariables>;
export const RecentPaymentEventsDocument = new TypedDocumentString(`
    query RecentPaymentEvents($after: String) {
  payments(first: 50, after: $after) {
    nodes {
      events(first: 20) {
        nodes {
          ...PaymentEventParts
        }
        pageInfo {
          hasNextPage
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment PaymentEventParts on PaymentEvent {
  id
  eventId
  type
  apiVersion
  created
  livemode
  receivedAt
  paymentId
  amount
  currency
  status
}`) as unknown as TypedDocumentString<RecentPaymentEventsQuery, RecentPaymentEventsQueryVariables>;
export const NotesDocument = new TypedDocumentString(`
    query Notes($first: Int, $after: String, $filter: NoteFilter) {
  notes(first: $first, after: $after, filter: $filter) {
    nodes {
      ...NoteRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment NoteRow on Note {
  id
  title
  content
  isPinned
  createdAt
  updatedAt
  tags {
    id
    name
  }
}`) as unknown as TypedDocumentString<NotesQuery, NotesQueryVariables>;
export const NoteByIdDocument = new TypedDocumentString(`
    query NoteById($id: ID!) {
  node(id: $id) {
    ... on Note {
      ...NoteRow
    }
  }
}
    fragment NoteRow on Note {
  id
  title
  content
  isPinned
  createdAt
  updatedAt
  tags {
    id
    name
  }
}`) as unknown as TypedDocumentString<NoteByIdQuery, NoteByIdQueryVariables>;
export const TagsDocument = new TypedDocumentString(`
    query Tags {
  tags(first: 100) {
    nodes {
      id
      name
      count
    }
  }
}
    `) as unknown as TypedDocumentString<TagsQuery, TagsQueryVariables>;
export const CreateNoteDocument = new TypedDocumentString(`
    mutation CreateNote($input: CreateNoteInput!) {
  createNote(input: $input) {
    note {
      ...NoteRow
    }
    errors {
      ...ErrorParts
    }
  }
}
    fragment ErrorParts on UserError {
  code
  message
  path
}
fragment NoteRow on Note {
  id
  title
  content
  isPinned
  createdAt
  updatedAt
  tags {
    id
    name
  }
}`) as unknown as TypedDocumentString<CreateNoteMutation, CreateNoteMutationVariables>;
export const UpdateNoteDocument = new TypedDocumentString(`
    mutation UpdateNote($input: UpdateNoteInput!) {
  updateNote(input: $input) {
    note {
      ...NoteRow
    }
    errors {
      ...ErrorParts
    }
  }
}
    fragment ErrorParts on UserError {
  code
  message
  path
}
fragment NoteRow on Note {
  id
  title
  content
  isPinned
  createdAt
  updatedAt
  tags {
    id
    name
  }
}`) as unknown as TypedDocumentString<UpdateNoteMutation, UpdateNoteMutationVariables>;
export const DeleteNoteDocument = new TypedDocumentString(`
    mutation DeleteNote($input: DeleteNoteInput!) {
  deleteNote(input: $input) {
    deletedNoteId
    errors {
      ...ErrorParts
    }
  }
}
    fragment ErrorParts on UserError {
  code
  message
  path
}`) as unknown as TypedDocumentString<DeleteNoteMutation, DeleteNoteMutationVariables>;
export const ShareNoteDocument = new TypedDocumentString(`
    mutation ShareNote($input: ShareNoteInput!) {
  shareNote(input: $input) {
    sharedNoteId
    errors {
      ...ErrorParts
    }
  }
}
    fragment ErrorParts on UserError {
  code
  message
  path
}`) as unknown as TypedDocumentString<ShareNoteMutation, ShareNoteMutationVariables>;
export const AppointmentsDocument = new TypedDocumentString(`
    query Appointments($first: Int, $after: String, $filter: AppointmentFilter) {
  appointments(first: $first, after: $after, filter: $filter) {
    nodes {
      ...AppointmentRow
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment AppointmentRow on Appointment {
  id
  upstreamId
  status
  start
  end
  bookedAt
  bookedBy
  confirmation
  participants {
    actor {
      reference
    }
    status
  }
}`) as unknown as TypedDocumentString<AppointmentsQuery, AppointmentsQueryVariables>;
export const CreateAppointmentDocument = new TypedDocumentString(`
    mutation CreateAppointment($input: CreateAppointmentInput!) {
  createAppointment(input: $input) {
    appointment {
      ...AppointmentRow
    }
    errors {
      ...ErrorParts
    }
  }
}
    fragment ErrorParts on UserError {
  code
  message
  path
}
fragment AppointmentRow on Appointment {
  id
  upstreamId
  status
  start
  end
  bookedAt
  bookedBy
  confirmation
  participants {
    actor {
      reference
    }
    status
  }
}`) as unknown as TypedDocumentString<CreateAppointmentMutation, CreateAppointmentMutationVariables>;
export const WebhookEndpointsDocument = new TypedDocumentString(`
    query WebhookEndpoints {
  webhookEndpoints {
    id
    endpointId
    family
    url
    secretSince
    previousSecretValidUntil
    lastDeliveryAt
  }
}
    `) as unknown as TypedDocumentString<WebhookEndpointsQuery, WebhookEndpointsQueryVariables>;
export const RecentDeliveriesDocument = new TypedDocumentString(`
    query RecentDeliveries($after: String) {
  webhookDeliveries(
    first: 100
    after: $after
    filter: {outcomes: [SKIPPED, DUPLICATE, ALTERED, REFUSED]}
  ) {
    nodes {
      ...DeliverySummary
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment DeliverySummary on WebhookDelivery {
  endpoint {
    id
    endpointId
  }
  family
  eventId
  type
  receivedAt
  outcome
  reason
  message
}`) as unknown as TypedDocumentString<RecentDeliveriesQuery, RecentDeliveriesQueryVariables>;
export const WebhookDeliveriesDocument = new TypedDocumentString(`
    query WebhookDeliveries($first: Int, $after: String, $filter: WebhookDeliveryFilter) {
  webhookDeliveries(first: $first, after: $after, filter: $filter) {
    nodes {
      ...DeliveryParts
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment DeliverySummary on WebhookDelivery {
  endpoint {
    id
    endpointId
  }
  family
  eventId
  type
  receivedAt
  outcome
  reason
  message
}
fragment DeliveryParts on WebhookDelivery {
  ...DeliverySummary
  entityId
  signedAt
  body
  truncated
}`) as unknown as TypedDocumentString<WebhookDeliveriesQuery, WebhookDeliveriesQueryVariables>;
export const WebhookDeliveryUpdatesDocument = new TypedDocumentString(`
    subscription WebhookDeliveryUpdates {
  webhookDeliveryUpdates {
    delivery {
      ...DeliveryParts
    }
  }
}
    fragment DeliverySummary on WebhookDelivery {
  endpoint {
    id
    endpointId
  }
  family
  eventId
  type
  receivedAt
  outcome
  reason
  message
}
fragment DeliveryParts on WebhookDelivery {
  ...DeliverySummary
  entityId
  signedAt
  body
  truncated
}`) as unknown as TypedDocumentString<WebhookDeliveryUpdatesSubscription, WebhookDeliveryUpdatesSubscriptionVariables>;
export const RotateSecretDocument = new TypedDocumentString(`
    mutation RotateSecret($input: RotatePaymentWebhookSecretInput!) {
  rotatePaymentWebhookSecret(input: $input) {
    rotatedAt
    previousSecretValidUntil
    errors {
      ...ErrorParts
    }
  }
}
    fragment ErrorParts on UserError {
  code
  message
  path
}`) as unknown as TypedDocumentString<RotateSecretMutation, RotateSecretMutationVariables>;