import type { GraphQLResolveInfo, GraphQLScalarType, GraphQLScalarTypeConfig } from 'graphql';
import type { User as UserModel } from '../models/user.js';
import type { Note as NoteModel, Tag as TagModel } from '../models/note.js';
import type { Appointment as AppointmentModel, Participant as ParticipantModel } from '../models/appointment.js';
import type { Shipment as ShipmentModel, ShipmentEvent as ShipmentEventModel, ShipmentUpdate as ShipmentUpdateModel } from '../models/shipment.js';
import type { Payment as PaymentModel, PaymentEvent as PaymentEventModel, PaymentUpdate as PaymentUpdateModel } from '../models/payment.js';
import type { WebhookEndpoint as WebhookEndpointModel, WebhookDelivery as WebhookDeliveryModel } from '../models/webhook.js';
export type Maybe<T> = T | null;
export type InputMaybe<T> = Maybe<T>;
export type Omit<T, K extends keyof T> = Pick<T, Exclude<keyof T, K>>;
export type RequireFields<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: NonNullable<T[P]> };
/** All built-in and custom scalars, mapped to their actual values */
export type Scalars = {
  ID: { input: string; output: string; }
  String: { input: string; output: string; }
  Boolean: { input: boolean; output: boolean; }
  Int: { input: number; output: number; }
  Float: { input: number; output: number; }
  /**
   * A date and time in ISO 8601 form, exactly as it was written, for example `2026-11-21T09:30:00.125+01:00`. It may have any
   * fraction of a second and any offset. Input needs at least the date, hours, minutes and offset.
   * Services may send other forms: without the time or parts of it; without an offset, which means UTC; in the basic format
   * (`20261121T093000Z`); with the week (`2026-W47-6`) or the number of the day (`2026-325`); with a fraction of a minute or
   * hour (`T09:30.5Z`); with a space instead of the `T` or before the offset. `new Date` rejects some of these, which are not
   * all RFC 3339, and reads others as a different time.
   */
  DateTime: { input: string; output: string; }
  /** Any JSON value. */
  JSON: { input: unknown; output: unknown; }
  /** An integer between -(2^53 - 1) and 2^53 - 1: larger than `Int` allows, and exact in JavaScript. */
  SafeInt: { input: number; output: number; }
  /** A representation of an entity, as a router of a supergraph sends it: an object with `__typename` and the fields of a key. */
  _Any: { input: unknown; output: unknown; }
};

/** An appointment booked through this gateway. */
export type Appointment = Node & {
  readonly __typename?: 'Appointment';
  /** When it was booked through this gateway. */
  readonly bookedAt: Scalars['DateTime']['output'];
  /** The e-mail address of the person who booked it. */
  readonly bookedBy: Scalars['String']['output'];
  /** Whether the appointment service is known to have accepted it. */
  readonly confirmation: BookingConfirmation;
  /** When it ends, exactly as it was submitted. */
  readonly end: Scalars['DateTime']['output'];
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /** Who takes part: the patient and any others. */
  readonly participants: ReadonlyArray<AppointmentParticipant>;
  /** When it starts, exactly as it was submitted. */
  readonly start: Scalars['DateTime']['output'];
  /** The appointment's status when it was booked. */
  readonly status: AppointmentStatus;
  /** The appointment service's own id; null if its response contained none or is unknown. */
  readonly upstreamId?: Maybe<Scalars['String']['output']>;
};

/** A page of appointments. */
export type AppointmentConnection = {
  readonly __typename?: 'AppointmentConnection';
  /** The appointments of this page, each with its cursor. */
  readonly edges: ReadonlyArray<AppointmentEdge>;
  /** The appointments of this page. */
  readonly nodes: ReadonlyArray<Appointment>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** An appointment in a connection. */
export type AppointmentEdge = {
  readonly __typename?: 'AppointmentEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The appointment. */
  readonly node: Appointment;
};

/** Which appointments to include; all conditions must match. */
export type AppointmentFilter = {
  /** Only appointments that start at this time or later. */
  readonly from?: InputMaybe<Scalars['DateTime']['input']>;
  /** Only appointments with this participant, for example `Patient/42`. */
  readonly participant?: InputMaybe<Scalars['String']['input']>;
  /** Only appointments with this status. */
  readonly status?: InputMaybe<AppointmentStatus>;
  /** Only appointments that start before this time. */
  readonly to?: InputMaybe<Scalars['DateTime']['input']>;
};

/** A participant in an appointment. */
export type AppointmentParticipant = {
  readonly __typename?: 'AppointmentParticipant';
  /** Who it is. */
  readonly actor: Reference;
  /** Whether they take part. */
  readonly status: ParticipantStatus;
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
  readonly end: Scalars['String']['input'];
  /**
   * A key of the caller's choice, of 1 to 255 characters. However often the same key is sent with the same input, the
   * appointment is booked once.
   */
  readonly idempotencyKey?: InputMaybe<Scalars['String']['input']>;
  /** Who takes part: at least one `Patient/<id>`. */
  readonly participants: ReadonlyArray<AppointmentParticipantInput>;
  /** When it starts: an ISO 8601 date-time with an offset, passed on as written. */
  readonly start: Scalars['String']['input'];
  /** The appointment's status. */
  readonly status: AppointmentStatus;
};

/** The payload of `createAppointment`. */
export type CreateAppointmentPayload = {
  readonly __typename?: 'CreateAppointmentPayload';
  /** The booking; null if there are errors. */
  readonly appointment?: Maybe<Appointment>;
  /** The booking as an edge of `appointments`, for updating a client-side cache; null if there are errors. */
  readonly appointmentEdge?: Maybe<AppointmentEdge>;
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
};

/** The input of `createNote`. */
export type CreateNoteInput = {
  /** The text, at most 10,000 characters. */
  readonly content: Scalars['String']['input'];
  /** Whether to pin the note; false if absent. */
  readonly isPinned?: InputMaybe<Scalars['Boolean']['input']>;
  /** The tags; none if absent. */
  readonly tags?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** The title. */
  readonly title: Scalars['String']['input'];
};

/** The payload of `createNote`. */
export type CreateNotePayload = {
  readonly __typename?: 'CreateNotePayload';
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
  /** The new note; null if there are errors. */
  readonly note?: Maybe<Note>;
  /** The new note as an edge of `notes`, for updating a client-side cache; null if there are errors. */
  readonly noteEdge?: Maybe<NoteEdge>;
};

/** The input of `deleteNote`. */
export type DeleteNoteInput = {
  /** The note's global id. */
  readonly id: Scalars['ID']['input'];
};

/** The payload of `deleteNote`. */
export type DeleteNotePayload = {
  readonly __typename?: 'DeleteNotePayload';
  /** The global id of the note that was deleted; null if there are errors. */
  readonly deletedNoteId?: Maybe<Scalars['ID']['output']>;
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
};

/** What a user may do beyond working with their own notes and seeing their own bookings. */
export type Grant =
  /** `appointments:read`: see everybody's bookings. */
  | 'APPOINTMENTS_READ'
  /** `appointments:write`: book appointments. */
  | 'APPOINTMENTS_WRITE'
  /** `payments:read`: see payments and their live updates. */
  | 'PAYMENTS_READ'
  /** `shipments:read`: see shipments and their live updates. */
  | 'SHIPMENTS_READ'
  /** `webhooks:read`: see the webhook endpoints, and each delivery with its body and its outcome. */
  | 'WEBHOOKS_READ'
  /** `webhooks:rotate`: rotate the signing secret of a payment webhook endpoint. */
  | 'WEBHOOKS_ROTATE';

/** The entry points for writing. */
export type Mutation = {
  readonly __typename?: 'Mutation';
  /**
   * Book an appointment. The booking is sent to the appointment service once; if the outcome stays unknown, it is
   * `UNCONFIRMED`. Requires the grant `APPOINTMENTS_WRITE`.
   */
  readonly createAppointment: CreateAppointmentPayload;
  /** Create a note. */
  readonly createNote: CreateNotePayload;
  /** Delete a note. The notes service keeps it, marked as deleted, for 30 days. */
  readonly deleteNote: DeleteNotePayload;
  /**
   * Have the payment service create a new signing secret for a webhook endpoint, and start to use it. The secret
   * itself is never shown. Requires the grant `WEBHOOKS_ROTATE`.
   */
  readonly rotatePaymentWebhookSecret: RotatePaymentWebhookSecretPayload;
  /** Share a note with another person. */
  readonly shareNote: ShareNotePayload;
  /**
   * Sign in with an e-mail address and password to open a session. Programs send its token as
   * `Authorization: Bearer <token>`; browsers also get it as a cookie.
   */
  readonly signIn: SignInPayload;
  /** End the caller's session with this gateway and close its websockets. */
  readonly signOut: SignOutPayload;
  /** Change a note; fields that are absent stay unchanged. */
  readonly updateNote: UpdateNotePayload;
};


/** The entry points for writing. */
export type MutationCreateAppointmentArgs = {
  input: CreateAppointmentInput;
};


/** The entry points for writing. */
export type MutationCreateNoteArgs = {
  input: CreateNoteInput;
};


/** The entry points for writing. */
export type MutationDeleteNoteArgs = {
  input: DeleteNoteInput;
};


/** The entry points for writing. */
export type MutationRotatePaymentWebhookSecretArgs = {
  input: RotatePaymentWebhookSecretInput;
};


/** The entry points for writing. */
export type MutationShareNoteArgs = {
  input: ShareNoteInput;
};


/** The entry points for writing. */
export type MutationSignInArgs = {
  input: SignInInput;
};


/** The entry points for writing. */
export type MutationUpdateNoteArgs = {
  input: UpdateNoteInput;
};

/** Any object with an id that is unique across all types (Relay's Object Identification). */
export type Node = {
  /** The global id: opaque, for use with `node` and `nodes`. */
  readonly id: Scalars['ID']['output'];
};

/** A note of the signed-in user. */
export type Note = Node & {
  readonly __typename?: 'Note';
  /** The text, at most 10,000 characters. */
  readonly content: Scalars['String']['output'];
  /** When the note was created. */
  readonly createdAt: Scalars['DateTime']['output'];
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /** Whether the note is pinned; a user may have at most 50 pinned notes. */
  readonly isPinned: Scalars['Boolean']['output'];
  /** The note's tags. Selecting their `count` costs one more call to the service, however many notes there are. */
  readonly tags: ReadonlyArray<Tag>;
  /** The title. */
  readonly title: Scalars['String']['output'];
  /** When the note was last changed. */
  readonly updatedAt: Scalars['DateTime']['output'];
  /** The notes service's own id. */
  readonly upstreamId: Scalars['String']['output'];
};

/**
 * A page of notes. The service pages forward only. When it says that there is a next page, that page may still be empty.
 * After a cursor `hasPreviousPage` is always true, even if the earlier notes no longer exist. `first: 0` does not call the
 * service; `hasNextPage` is then true, since there may be more.
 */
export type NoteConnection = {
  readonly __typename?: 'NoteConnection';
  /** The notes of this page, each with its cursor. */
  readonly edges: ReadonlyArray<NoteEdge>;
  /** The notes of this page. */
  readonly nodes: ReadonlyArray<Note>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** A note in a connection. */
export type NoteEdge = {
  readonly __typename?: 'NoteEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The note. */
  readonly node: Note;
};

/** Which notes to include; all conditions must match. */
export type NoteFilter = {
  /** True: only pinned notes. False: only notes that are not pinned. */
  readonly pinned?: InputMaybe<Scalars['Boolean']['input']>;
  /** Only notes with this tag; case-insensitive. */
  readonly tag?: InputMaybe<Scalars['String']['input']>;
};

/** Information about a page of a connection (Relay Cursor Connections). */
export type PageInfo = {
  readonly __typename?: 'PageInfo';
  /** The cursor of the last edge; null if the page is empty. */
  readonly endCursor?: Maybe<Scalars['String']['output']>;
  /** Whether there are edges after this page. With `first`, those from the `before` cursor on do not count. */
  readonly hasNextPage: Scalars['Boolean']['output'];
  /** Whether there are edges before this page. With `last`, those up to the `after` cursor do not count. */
  readonly hasPreviousPage: Scalars['Boolean']['output'];
  /** The cursor of the first edge; null if the page is empty. */
  readonly startCursor?: Maybe<Scalars['String']['output']>;
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

/** A payment, as its events report it. A field that no event has reported is null. */
export type Payment = Node & {
  readonly __typename?: 'Payment';
  /** The service's own number, in the service's own unit. A value that is not a `SafeInt` counts as missing. */
  readonly amount?: Maybe<Scalars['SafeInt']['output']>;
  /** The currency, as the service writes it. */
  readonly currency?: Maybe<Scalars['String']['output']>;
  /** The payment's events that are still kept, the last one in the log first. */
  readonly events: PaymentEventConnection;
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /** Whether it involves real money; false if no event has said so. */
  readonly livemode: Scalars['Boolean']['output'];
  /** The payment service's own id. */
  readonly paymentId: Scalars['String']['output'];
  /**
   * Grows with each event of the payment, also with late ones, and is the same wherever the payment is read. Of two copies, a
   * cache keeps the one with the greater `revision`. The number has no other meaning.
   */
  readonly revision: Scalars['SafeInt']['output'];
  /** The status in the service's own words: free text, passed through. */
  readonly status?: Maybe<Scalars['String']['output']>;
  /**
   * The time of the newest event: its `created`, as a date-time in UTC. If that is outside the years 0 to 9999, when this
   * gateway received the event.
   */
  readonly updatedAt: Scalars['DateTime']['output'];
};


/** A payment, as its events report it. A field that no event has reported is null. */
export type PaymentEventsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};

/** A page of payments. */
export type PaymentConnection = {
  readonly __typename?: 'PaymentConnection';
  /** The payments of this page, each with its cursor. */
  readonly edges: ReadonlyArray<PaymentEdge>;
  /** The payments of this page. */
  readonly nodes: ReadonlyArray<Payment>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** A payment in a connection. */
export type PaymentEdge = {
  readonly __typename?: 'PaymentEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The payment. */
  readonly node: Payment;
};

/** One event of a payment, as the webhook reported it. A field that is missing there, or has the wrong type, is null. */
export type PaymentEvent = Node & {
  readonly __typename?: 'PaymentEvent';
  /** The service's own number in this event; null if there is none, or if it is not a `SafeInt`. */
  readonly amount?: Maybe<Scalars['SafeInt']['output']>;
  /** The version of the service's schema that the event has, for example `2026-01-01`. */
  readonly apiVersion?: Maybe<Scalars['String']['output']>;
  /**
   * The service's own timestamp, as a whole number in the unit that the service uses: seconds, milliseconds or microseconds.
   * It may come as digits in a string, a fraction is left out, and nanoseconds become microseconds. If it is missing or not a
   * number, when this gateway received the event. As a date-time: `updatedAt` of the payment, for its newest event.
   */
  readonly created: Scalars['SafeInt']['output'];
  /** The currency in this event. */
  readonly currency?: Maybe<Scalars['String']['output']>;
  /**
   * The event's `data` member, as JavaScript reads it: numbers keep about 17 digits, so whole numbers beyond 2^53 may change,
   * and those beyond 1.8e308 are null. `webhookDeliveries` has the text as it was sent. If `data` is nested more than 200
   * levels deep, all of it is null.
   */
  readonly data?: Maybe<Scalars['JSON']['output']>;
  /** The service's own id of the event. */
  readonly eventId: Scalars['String']['output'];
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /** Whether it involves real money. If the event does not say so, that of the payment just after this event. */
  readonly livemode: Scalars['Boolean']['output'];
  /** The payment service's own id of the payment. */
  readonly paymentId: Scalars['String']['output'];
  /** When this gateway received the event. */
  readonly receivedAt: Scalars['DateTime']['output'];
  /** The status in this event, in the service's own words. */
  readonly status?: Maybe<Scalars['String']['output']>;
  /** The service's own type of the event, for example `payment.succeeded`. */
  readonly type: Scalars['String']['output'];
};

/** A page of events. */
export type PaymentEventConnection = {
  readonly __typename?: 'PaymentEventConnection';
  /** The events of this page, each with its cursor. */
  readonly edges: ReadonlyArray<PaymentEventEdge>;
  /** The events of this page. */
  readonly nodes: ReadonlyArray<PaymentEvent>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** A payment event in a connection. */
export type PaymentEventEdge = {
  readonly __typename?: 'PaymentEventEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The payment event. */
  readonly node: PaymentEvent;
};

/** Which payments to include, by exact match; all conditions must match. */
export type PaymentFilter = {
  /** Only payments in this currency. */
  readonly currency?: InputMaybe<Scalars['String']['input']>;
  /** True: only payments with real money. False: only those without. */
  readonly livemode?: InputMaybe<Scalars['Boolean']['input']>;
  /** Only payments with this status. */
  readonly status?: InputMaybe<Scalars['String']['input']>;
};

/** A payment event, and the payment as it was just after the event. */
export type PaymentUpdate = {
  readonly __typename?: 'PaymentUpdate';
  /** The position of this event in the durable log; pass it as `after` to resume from here. */
  readonly cursor: Scalars['String']['output'];
  /** The event. */
  readonly event: PaymentEvent;
  /** The state of the payment just after this event was applied. */
  readonly payment: Payment;
  /** Whether this is a past event, sent before the subscription had caught up with the log. */
  readonly replayed: Scalars['Boolean']['output'];
};

/**
 * Which updates to include. All conditions must match. A list matches if one of its values does; an empty list matches
 * nothing.
 */
export type PaymentUpdateFilter = {
  /** True: only events with real money. False: only those without. The event's `livemode` counts. */
  readonly livemode?: InputMaybe<Scalars['Boolean']['input']>;
  /** Only events of these payments, by the service's own ids; at most 1,000. */
  readonly paymentIds?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Only events of these types; at most 1,000. */
  readonly types?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
};

/** The entry points for reading. */
export type Query = {
  readonly __typename?: 'Query';
  /**
   * The entities with these keys, in the same order; null for each that does not exist, is not the caller's, or requires a
   * grant that the caller lacks.
   */
  readonly _entities: ReadonlyArray<Maybe<_Entity>>;
  /** The schema for the composition of a supergraph. */
  readonly _service: _Service;
  /**
   * The appointments booked through this gateway, newest booking first: the caller's own or, with the grant
   * `APPOINTMENTS_READ`, everybody's. Appointments that were booked elsewhere are missing: the appointment service has no call to read them.
   */
  readonly appointments: AppointmentConnection;
  /**
   * A position in the durable event log. The rest of the same operation shows at least all events up to it. Pass it as
   * `after` to a subscription, and no event is lost between the query and the subscription.
   */
  readonly liveCursor: Scalars['String']['output'];
  /**
   * The object with this global id; null if it does not exist, is not the caller's, or requires a grant that the caller
   * lacks.
   */
  readonly node?: Maybe<Node>;
  /** The objects with these global ids, in the same order; null for each id for which `node` would return null. */
  readonly nodes: ReadonlyArray<Maybe<Node>>;
  /** The signed-in user's notes, in the order of the notes service. */
  readonly notes: NoteConnection;
  /** One payment; null if no event has mentioned it. Requires the grant `PAYMENTS_READ`. */
  readonly payment?: Maybe<Payment>;
  /** The payments, most recently updated first. Requires the grant `PAYMENTS_READ`. */
  readonly payments: PaymentConnection;
  /** One shipment; null if no event has mentioned it. Requires the grant `SHIPMENTS_READ`. */
  readonly shipment?: Maybe<Shipment>;
  /** The shipments, most recently updated first. Requires the grant `SHIPMENTS_READ`. */
  readonly shipments: ShipmentConnection;
  /** One tag of the signed-in user; null if the notes service does not list it. */
  readonly tag?: Maybe<Tag>;
  /** The signed-in user's tags, in the order of the notes service. */
  readonly tags: TagConnection;
  /** The person who is signed in; null for an anonymous caller. */
  readonly viewer?: Maybe<User>;
  /** The deliveries to this gateway, newest first. Requires the grant `WEBHOOKS_READ`. */
  readonly webhookDeliveries: WebhookDeliveryConnection;
  /** The subscriptions and endpoints that are configured. Requires the grant `WEBHOOKS_READ`. */
  readonly webhookEndpoints: ReadonlyArray<WebhookEndpoint>;
};


/** The entry points for reading. */
export type Query_EntitiesArgs = {
  representations: ReadonlyArray<Scalars['_Any']['input']>;
};


/** The entry points for reading. */
export type QueryAppointmentsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<AppointmentFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** The entry points for reading. */
export type QueryNodeArgs = {
  id: Scalars['ID']['input'];
};


/** The entry points for reading. */
export type QueryNodesArgs = {
  ids: ReadonlyArray<Scalars['ID']['input']>;
};


/** The entry points for reading. */
export type QueryNotesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<NoteFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
};


/** The entry points for reading. */
export type QueryPaymentArgs = {
  paymentId: Scalars['String']['input'];
};


/** The entry points for reading. */
export type QueryPaymentsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<PaymentFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** The entry points for reading. */
export type QueryShipmentArgs = {
  shipmentId: Scalars['String']['input'];
};


/** The entry points for reading. */
export type QueryShipmentsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<ShipmentFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};


/** The entry points for reading. */
export type QueryTagArgs = {
  name: Scalars['String']['input'];
};


/** The entry points for reading. */
export type QueryTagsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
};


/** The entry points for reading. */
export type QueryWebhookDeliveriesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<WebhookDeliveryFilter>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};

/** A reference to a record of the appointment service. */
export type Reference = {
  readonly __typename?: 'Reference';
  /** The whole reference: `<ResourceType>/<id>`. */
  readonly reference: Scalars['String']['output'];
  /** The part after the first slash. */
  readonly resourceId: Scalars['String']['output'];
  /** The part before the first slash, for example `Patient`. */
  readonly resourceType: Scalars['String']['output'];
};

/** A reference to a record of the appointment service. */
export type ReferenceInput = {
  /** The reference: `<ResourceType>/<id>`. */
  readonly reference: Scalars['String']['input'];
};

/** The input of `rotatePaymentWebhookSecret`. */
export type RotatePaymentWebhookSecretInput = {
  /** The payment service's own id of the endpoint: its `endpointId`, and not its `id`. */
  readonly endpointId: Scalars['String']['input'];
};

/** The payload of `rotatePaymentWebhookSecret`. */
export type RotatePaymentWebhookSecretPayload = {
  readonly __typename?: 'RotatePaymentWebhookSecretPayload';
  /** The webhook endpoint's id; null if there are errors. */
  readonly endpointId?: Maybe<Scalars['String']['output']>;
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
  /** Until when the previous secret is still accepted; null if there are errors. */
  readonly previousSecretValidUntil?: Maybe<Scalars['DateTime']['output']>;
  /** When the new secret came into use; null if there are errors. */
  readonly rotatedAt?: Maybe<Scalars['DateTime']['output']>;
};

/** The input of `shareNote`. */
export type ShareNoteInput = {
  /** The e-mail address of the person to share with. */
  readonly email: Scalars['String']['input'];
  /** The note's global id. */
  readonly id: Scalars['ID']['input'];
  /** What that person may do. */
  readonly permission: SharePermission;
};

/** The payload of `shareNote`. */
export type ShareNotePayload = {
  readonly __typename?: 'ShareNotePayload';
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
  /** The global id of the note that was shared; null if there are errors. */
  readonly sharedNoteId?: Maybe<Scalars['ID']['output']>;
};

/** What a person with whom a note is shared may do. */
export type SharePermission =
  /** Read the note and comment on it. */
  | 'COMMENT'
  /** Read and change the note. */
  | 'EDIT'
  /** Read the note. */
  | 'READ';

/** A shipment, as its events report it. A field that no event has reported is null. */
export type Shipment = Node & {
  readonly __typename?: 'Shipment';
  /** The carrier's name. */
  readonly carrier?: Maybe<Scalars['String']['output']>;
  /** The shipment's events that are still kept, the last one in the log first. */
  readonly events: ShipmentEventConnection;
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /**
   * Grows with each event of the shipment, also with late ones, and is the same wherever the shipment is read. Of two copies, a
   * cache keeps the one with the greater `revision`. The number has no other meaning.
   */
  readonly revision: Scalars['SafeInt']['output'];
  /** The shipment service's own id. */
  readonly shipmentId: Scalars['String']['output'];
  /** The stage that the newest event reports. */
  readonly stage: ShipmentStage;
  /** The status in the service's own words: free text, passed through. */
  readonly status?: Maybe<Scalars['String']['output']>;
  /** The carrier's tracking number. */
  readonly trackingNumber?: Maybe<Scalars['String']['output']>;
  /** The `occurredAt` of the newest event. */
  readonly updatedAt: Scalars['DateTime']['output'];
};


/** A shipment, as its events report it. A field that no event has reported is null. */
export type ShipmentEventsArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  before?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  last?: InputMaybe<Scalars['Int']['input']>;
};

/** A page of shipments. */
export type ShipmentConnection = {
  readonly __typename?: 'ShipmentConnection';
  /** The shipments of this page, each with its cursor. */
  readonly edges: ReadonlyArray<ShipmentEdge>;
  /** The shipments of this page. */
  readonly nodes: ReadonlyArray<Shipment>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** A shipment in a connection. */
export type ShipmentEdge = {
  readonly __typename?: 'ShipmentEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The shipment. */
  readonly node: Shipment;
};

/** One event of a shipment, as the webhook reported it. A field that is missing there, or is not a string, is null. */
export type ShipmentEvent = Node & {
  readonly __typename?: 'ShipmentEvent';
  /** The carrier's name in this event. */
  readonly carrier?: Maybe<Scalars['String']['output']>;
  /** The service's own id of the event. */
  readonly eventId: Scalars['String']['output'];
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /** When it occurred, exactly as the service wrote it. If that is not a time, when this gateway received it. */
  readonly occurredAt: Scalars['DateTime']['output'];
  /** When this gateway received the event. */
  readonly receivedAt: Scalars['DateTime']['output'];
  /** The shipment service's own id of the shipment. */
  readonly shipmentId: Scalars['String']['output'];
  /** The stage that the event reports. */
  readonly stage: ShipmentStage;
  /** The status in this event, in the service's own words. */
  readonly status?: Maybe<Scalars['String']['output']>;
  /** The tracking number in this event. */
  readonly trackingNumber?: Maybe<Scalars['String']['output']>;
  /** The service's own type of the event, for example `shipment.in_transit`. */
  readonly type: Scalars['String']['output'];
};

/** A page of events. */
export type ShipmentEventConnection = {
  readonly __typename?: 'ShipmentEventConnection';
  /** The events of this page, each with its cursor. */
  readonly edges: ReadonlyArray<ShipmentEventEdge>;
  /** The events of this page. */
  readonly nodes: ReadonlyArray<ShipmentEvent>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** A shipment event in a connection. */
export type ShipmentEventEdge = {
  readonly __typename?: 'ShipmentEventEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The shipment event. */
  readonly node: ShipmentEvent;
};

/** Which shipments to include, by exact match; all conditions must match. */
export type ShipmentFilter = {
  /** Only shipments of this carrier. */
  readonly carrier?: InputMaybe<Scalars['String']['input']>;
  /** Only shipments at this stage. */
  readonly stage?: InputMaybe<ShipmentStage>;
  /** Only shipments with this tracking number. */
  readonly trackingNumber?: InputMaybe<Scalars['String']['input']>;
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

/** A shipment event, and the shipment as it was just after the event. */
export type ShipmentUpdate = {
  readonly __typename?: 'ShipmentUpdate';
  /** The position of this event in the durable log; pass it as `after` to resume from here. */
  readonly cursor: Scalars['String']['output'];
  /** The event. */
  readonly event: ShipmentEvent;
  /** Whether this is a past event, sent before the subscription had caught up with the log. */
  readonly replayed: Scalars['Boolean']['output'];
  /** The state of the shipment just after this event was applied. */
  readonly shipment: Shipment;
};

/**
 * Which updates to include. All conditions must match. A list matches if one of its values does; an empty list matches
 * nothing.
 */
export type ShipmentUpdateFilter = {
  /** Only events of these carriers; at most 1,000. If an event names no carrier, that of its shipment counts. */
  readonly carriers?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Only events of these shipments, by the service's own ids; at most 1,000. */
  readonly shipmentIds?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Only events that report one of these stages; at most 1,000. */
  readonly stages?: InputMaybe<ReadonlyArray<ShipmentStage>>;
};

/** The input of `signIn`. */
export type SignInInput = {
  /** The user's e-mail address at the notes service. */
  readonly email: Scalars['String']['input'];
  /** The user's password at the notes service. */
  readonly password: Scalars['String']['input'];
};

/** The payload of `signIn`. */
export type SignInPayload = {
  readonly __typename?: 'SignInPayload';
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
  /** When the session ends, if it does not end earlier; null if there are errors. */
  readonly expiresAt?: Maybe<Scalars['DateTime']['output']>;
  /** The session's opaque bearer token; null if there are errors. */
  readonly sessionToken?: Maybe<Scalars['String']['output']>;
  /** Who signed in; null if there are errors. */
  readonly viewer?: Maybe<User>;
};

/** The payload of `signOut`. */
export type SignOutPayload = {
  readonly __typename?: 'SignOutPayload';
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
  /** Whether the session was ended. */
  readonly signedOut?: Maybe<Scalars['Boolean']['output']>;
};

/** The entry points for live updates: over a websocket (`graphql-transport-ws`), as server-sent events, or as multipart. */
export type Subscription = {
  readonly __typename?: 'Subscription';
  /** Every payment event of a known type, in the order of the log. Requires the grant `PAYMENTS_READ`. */
  readonly paymentUpdates: PaymentUpdate;
  /** Every shipment event of a known type, in the order of the log. Requires the grant `SHIPMENTS_READ`. */
  readonly shipmentUpdates: ShipmentUpdate;
  /**
   * New deliveries as they come: those that any replica stores, and those that this replica refuses or finds to be
   * duplicates or altered. If the latter are very many, some are left out. Requires the grant `WEBHOOKS_READ`.
   */
  readonly webhookDeliveryUpdates: WebhookDeliveryUpdate;
};


/** The entry points for live updates: over a websocket (`graphql-transport-ws`), as server-sent events, or as multipart. */
export type SubscriptionPaymentUpdatesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<PaymentUpdateFilter>;
};


/** The entry points for live updates: over a websocket (`graphql-transport-ws`), as server-sent events, or as multipart. */
export type SubscriptionShipmentUpdatesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  filter?: InputMaybe<ShipmentUpdateFilter>;
};


/** The entry points for live updates: over a websocket (`graphql-transport-ws`), as server-sent events, or as multipart. */
export type SubscriptionWebhookDeliveryUpdatesArgs = {
  filter?: InputMaybe<WebhookDeliveryFilter>;
};

/** A tag of the signed-in user's notes; its name is case-insensitive. */
export type Tag = Node & {
  readonly __typename?: 'Tag';
  /** How often the tag is used, as counted by the notes service; 0 if the service does not list the tag. */
  readonly count: Scalars['Int']['output'];
  /** The global id: the same for every spelling of the name. */
  readonly id: Scalars['ID']['output'];
  /**
   * The name, with one spelling in the whole response. It is that of the service's list of tags if the operation reads this
   * list (for `count`, `tag` or `tags`), otherwise that of one of the notes.
   */
  readonly name: Scalars['String']['output'];
  /** The notes with this tag. */
  readonly notes: NoteConnection;
};


/** A tag of the signed-in user's notes; its name is case-insensitive. */
export type TagNotesArgs = {
  after?: InputMaybe<Scalars['String']['input']>;
  first?: InputMaybe<Scalars['Int']['input']>;
  pinned?: InputMaybe<Scalars['Boolean']['input']>;
};

/** A page of tags. */
export type TagConnection = {
  readonly __typename?: 'TagConnection';
  /** The tags of this page, each with its cursor. */
  readonly edges: ReadonlyArray<TagEdge>;
  /** The tags of this page. */
  readonly nodes: ReadonlyArray<Tag>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** A tag in a connection. */
export type TagEdge = {
  readonly __typename?: 'TagEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The tag. */
  readonly node: Tag;
};

/** The input of `updateNote`: fields that are absent stay unchanged; null is `INVALID`. */
export type UpdateNoteInput = {
  /** The new text, at most 10,000 characters. */
  readonly content?: InputMaybe<Scalars['String']['input']>;
  /** The note's global id. */
  readonly id: Scalars['ID']['input'];
  /** Whether the note is pinned. */
  readonly isPinned?: InputMaybe<Scalars['Boolean']['input']>;
  /** The new tags, replacing the old ones. */
  readonly tags?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** The new title. */
  readonly title?: InputMaybe<Scalars['String']['input']>;
};

/** The payload of `updateNote`. */
export type UpdateNotePayload = {
  readonly __typename?: 'UpdateNotePayload';
  /** What the user can correct; empty on success. */
  readonly errors: ReadonlyArray<UserError>;
  /** The note as it is now; null if there are errors. */
  readonly note?: Maybe<Note>;
};

/** The person who is signed in. */
export type User = Node & {
  readonly __typename?: 'User';
  /** When the user was created. */
  readonly createdAt: Scalars['DateTime']['output'];
  /** The e-mail address. */
  readonly email: Scalars['String']['output'];
  /** What this user may do beyond working with their own notes and seeing their own bookings. */
  readonly grants: ReadonlyArray<Grant>;
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /** The name. */
  readonly name: Scalars['String']['output'];
  /** The notes service's own id of the user. */
  readonly upstreamId: Scalars['String']['output'];
};

/** An error that the user can correct, returned as data. */
export type UserError = {
  readonly __typename?: 'UserError';
  /** The kind of error, for programs. */
  readonly code: UserErrorCode;
  /** One sentence to show to the user. */
  readonly message: Scalars['String']['output'];
  /** The path to the wrong field, below `input`; empty if the input as a whole is wrong. */
  readonly path: ReadonlyArray<Scalars['String']['output']>;
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
 * A delivery to this gateway. New events are in the log, with up to 16 other bodies of each. Any other delivery is kept by
 * the replica that received it, among the last ones of its kind, until it stops.
 */
export type WebhookDelivery = {
  readonly __typename?: 'WebhookDelivery';
  /** The body as it was received; bytes that are not UTF-8 are shown as U+FFFD. Null if it was not read, or is gone. */
  readonly body?: Maybe<Scalars['String']['output']>;
  /** Where it was sent to; null if no subscription or endpoint of that id is configured. */
  readonly endpoint?: Maybe<WebhookEndpoint>;
  /**
   * The service's own id of the shipment or payment that the event was stored for; null if there is none, or of a
   * `DUPLICATE` or `ALTERED` delivery if that event is gone.
   */
  readonly entityId?: Maybe<Scalars['String']['output']>;
  /**
   * The service's own id of the event; null if the body was not read, is no event, or was not signed by the service, and
   * in a refused delivery of more than 64 KiB.
   */
  readonly eventId?: Maybe<Scalars['String']['output']>;
  /** Which webhook it was sent as. */
  readonly family: WebhookFamily;
  /** The reason in a sentence or two, with what to check; null if it was processed. */
  readonly message?: Maybe<Scalars['String']['output']>;
  /** What became of it. */
  readonly outcome: WebhookOutcome;
  /**
   * Why it was not processed, as a code for programs; null if it was processed. For `REFUSED` it is the code in the answer
   * to the sender, for example `SIGNATURE_TOO_OLD`. The others have `UNKNOWN_KIND`, `ALREADY_STORED` or `BODY_DIFFERS`.
   */
  readonly reason?: Maybe<Scalars['String']['output']>;
  /** When this gateway received it. */
  readonly receivedAt: Scalars['DateTime']['output'];
  /** When it was signed, as its signature header says; null if that is not known. */
  readonly signedAt?: Maybe<Scalars['DateTime']['output']>;
  /**
   * Whether `body` is incomplete. Of a body that is not in the log, and of an `ALTERED` one as it comes live, only the
   * beginning is kept, at most 64 KiB, or nothing if it was too large.
   */
  readonly truncated: Scalars['Boolean']['output'];
  /**
   * The service's own type of the event; null if the body was not read, is no event, or was not signed by the service, and
   * in a refused delivery of more than 64 KiB.
   */
  readonly type?: Maybe<Scalars['String']['output']>;
};

/** A page of deliveries. */
export type WebhookDeliveryConnection = {
  readonly __typename?: 'WebhookDeliveryConnection';
  /** The deliveries of this page, each with its cursor. */
  readonly edges: ReadonlyArray<WebhookDeliveryEdge>;
  /** The deliveries of this page. */
  readonly nodes: ReadonlyArray<WebhookDelivery>;
  /** Whether there are more pages, and the cursors to ask for them. */
  readonly pageInfo: PageInfo;
};

/** A delivery in a connection. */
export type WebhookDeliveryEdge = {
  readonly __typename?: 'WebhookDeliveryEdge';
  /** The opaque cursor of this edge. */
  readonly cursor: Scalars['String']['output'];
  /** The delivery. */
  readonly node: WebhookDelivery;
};

/**
 * Which deliveries to include. All conditions must match. A list matches if one of its values does; an empty list matches
 * nothing.
 */
export type WebhookDeliveryFilter = {
  /** Only those to these subscriptions or endpoints, by the service's own ids; at most 100. */
  readonly endpointIds?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
  /** Only those of this family. */
  readonly family?: InputMaybe<WebhookFamily>;
  /** Only those with these outcomes. */
  readonly outcomes?: InputMaybe<ReadonlyArray<WebhookOutcome>>;
  /** Only those of events of these types; at most 100. */
  readonly types?: InputMaybe<ReadonlyArray<Scalars['String']['input']>>;
};

/** A delivery that has just come. */
export type WebhookDeliveryUpdate = {
  readonly __typename?: 'WebhookDeliveryUpdate';
  /** The delivery. */
  readonly delivery: WebhookDelivery;
};

/**
 * An address that receives webhooks: a subscription of the shipment service, or an endpoint of the payment service. Its
 * secrets are never shown.
 */
export type WebhookEndpoint = Node & {
  readonly __typename?: 'WebhookEndpoint';
  /** The service's own id of the subscription or endpoint. */
  readonly endpointId: Scalars['String']['output'];
  /** Which webhooks it receives. */
  readonly family: WebhookFamily;
  /** The global id. */
  readonly id: Scalars['ID']['output'];
  /** When the last new event in the log was received; null if the log has none. A delivery of a known event changes nothing. */
  readonly lastDeliveryAt?: Maybe<Scalars['DateTime']['output']>;
  /** Until when the previous secret is still accepted; null if only the current one is. */
  readonly previousSecretValidUntil?: Maybe<Scalars['DateTime']['output']>;
  /** Since when the current secret is in use here. */
  readonly secretSince: Scalars['DateTime']['output'];
  /** The address to register with the service. */
  readonly url: Scalars['String']['output'];
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

/** The types that a router may look up by a key. */
export type _Entity = Appointment | Note | Payment | PaymentEvent | Shipment | ShipmentEvent | Tag | User | WebhookEndpoint;

/** This gateway as a subgraph of Apollo Federation. */
export type _Service = {
  readonly __typename?: '_Service';
  /** The schema with the directives of Federation 2. */
  readonly sdl: Scalars['String']['output'];
};



export type ResolverTypeWrapper<T> = Promise<T> | T;


export type ResolverWithResolve<TResult, TParent, TContext, TArgs> = {
  resolve: ResolverFn<TResult, TParent, TContext, TArgs>;
};
export type Resolver<TResult, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = ResolverFn<TResult, TParent, TContext, TArgs> | ResolverWithResolve<TResult, TParent, TContext, TArgs>;

export type ResolverFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => Promise<TResult> | TResult;

export type SubscriptionSubscribeFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => AsyncIterable<TResult> | Promise<AsyncIterable<TResult>>;

export type SubscriptionResolveFn<TResult, TParent, TContext, TArgs> = (
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;

export interface SubscriptionSubscriberObject<TResult, TKey extends string, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<{ [key in TKey]: TResult }, TParent, TContext, TArgs>;
  resolve?: SubscriptionResolveFn<TResult, { [key in TKey]: TResult }, TContext, TArgs>;
}

export interface SubscriptionResolverObject<TResult, TParent, TContext, TArgs> {
  subscribe: SubscriptionSubscribeFn<any, TParent, TContext, TArgs>;
  resolve: SubscriptionResolveFn<TResult, any, TContext, TArgs>;
}

export type SubscriptionObject<TResult, TKey extends string, TParent, TContext, TArgs> =
  | SubscriptionSubscriberObject<TResult, TKey, TParent, TContext, TArgs>
  | SubscriptionResolverObject<TResult, TParent, TContext, TArgs>;

export type SubscriptionResolver<TResult, TKey extends string, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> =
  | ((...args: any[]) => SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>)
  | SubscriptionObject<TResult, TKey, TParent, TContext, TArgs>;

export type TypeResolveFn<TTypes, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (
  parent: TParent,
  context: TContext,
  info: GraphQLResolveInfo
) => Maybe<TTypes> | Promise<Maybe<TTypes>>;

export type IsTypeOfResolverFn<T = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>> = (obj: T, context: TContext, info: GraphQLResolveInfo) => boolean | Promise<boolean>;

export type NextResolverFn<T> = () => Promise<T>;

export type DirectiveResolverFn<TResult = Record<PropertyKey, never>, TParent = Record<PropertyKey, never>, TContext = Record<PropertyKey, never>, TArgs = Record<PropertyKey, never>> = (
  next: NextResolverFn<TResult>,
  parent: TParent,
  args: TArgs,
  context: TContext,
  info: GraphQLResolveInfo
) => TResult | Promise<TResult>;



/** Mapping of union types */
export type ResolversUnionTypes<_RefType extends Record<string, unknown>> = {
  _Entity:
    | ( AppointmentModel )
    | ( NoteModel )
    | ( PaymentModel )
    | ( PaymentEventModel )
    | ( ShipmentModel )
    | ( ShipmentEventModel )
    | ( TagModel )
    | ( UserModel )
    | ( WebhookEndpointModel )
  ;
};

/** Mapping of interface types */
export type ResolversInterfaceTypes<_RefType extends Record<string, unknown>> = {
  Node:
    | ( AppointmentModel )
    | ( NoteModel )
    | ( PaymentModel )
    | ( PaymentEventModel )
    | ( ShipmentModel )
    | ( ShipmentEventModel )
    | ( TagModel )
    | ( UserModel )
    | ( WebhookEndpointModel )
  ;
};

/** Mapping between all available schema types and the resolvers types */
export type ResolversTypes = {
  Appointment: ResolverTypeWrapper<AppointmentModel>;
  AppointmentConnection: ResolverTypeWrapper<Omit<AppointmentConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['AppointmentEdge']>, nodes: ReadonlyArray<ResolversTypes['Appointment']> }>;
  AppointmentEdge: ResolverTypeWrapper<Omit<AppointmentEdge, 'node'> & { node: ResolversTypes['Appointment'] }>;
  AppointmentFilter: AppointmentFilter;
  AppointmentParticipant: ResolverTypeWrapper<ParticipantModel>;
  AppointmentParticipantInput: AppointmentParticipantInput;
  AppointmentStatus: AppointmentStatus;
  BookingConfirmation: BookingConfirmation;
  Boolean: ResolverTypeWrapper<Scalars['Boolean']['output']>;
  CreateAppointmentInput: CreateAppointmentInput;
  CreateAppointmentPayload: ResolverTypeWrapper<Omit<CreateAppointmentPayload, 'appointment' | 'appointmentEdge'> & { appointment?: Maybe<ResolversTypes['Appointment']>, appointmentEdge?: Maybe<ResolversTypes['AppointmentEdge']> }>;
  CreateNoteInput: CreateNoteInput;
  CreateNotePayload: ResolverTypeWrapper<Omit<CreateNotePayload, 'note' | 'noteEdge'> & { note?: Maybe<ResolversTypes['Note']>, noteEdge?: Maybe<ResolversTypes['NoteEdge']> }>;
  DateTime: ResolverTypeWrapper<Scalars['DateTime']['output']>;
  DeleteNoteInput: DeleteNoteInput;
  DeleteNotePayload: ResolverTypeWrapper<DeleteNotePayload>;
  Grant: Grant;
  ID: ResolverTypeWrapper<Scalars['ID']['output']>;
  Int: ResolverTypeWrapper<Scalars['Int']['output']>;
  JSON: ResolverTypeWrapper<Scalars['JSON']['output']>;
  Mutation: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Node: ResolverTypeWrapper<ResolversInterfaceTypes<ResolversTypes>['Node']>;
  Note: ResolverTypeWrapper<NoteModel>;
  NoteConnection: ResolverTypeWrapper<Omit<NoteConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['NoteEdge']>, nodes: ReadonlyArray<ResolversTypes['Note']> }>;
  NoteEdge: ResolverTypeWrapper<Omit<NoteEdge, 'node'> & { node: ResolversTypes['Note'] }>;
  NoteFilter: NoteFilter;
  PageInfo: ResolverTypeWrapper<PageInfo>;
  ParticipantStatus: ParticipantStatus;
  Payment: ResolverTypeWrapper<PaymentModel>;
  PaymentConnection: ResolverTypeWrapper<Omit<PaymentConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['PaymentEdge']>, nodes: ReadonlyArray<ResolversTypes['Payment']> }>;
  PaymentEdge: ResolverTypeWrapper<Omit<PaymentEdge, 'node'> & { node: ResolversTypes['Payment'] }>;
  PaymentEvent: ResolverTypeWrapper<PaymentEventModel>;
  PaymentEventConnection: ResolverTypeWrapper<Omit<PaymentEventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['PaymentEventEdge']>, nodes: ReadonlyArray<ResolversTypes['PaymentEvent']> }>;
  PaymentEventEdge: ResolverTypeWrapper<Omit<PaymentEventEdge, 'node'> & { node: ResolversTypes['PaymentEvent'] }>;
  PaymentFilter: PaymentFilter;
  PaymentUpdate: ResolverTypeWrapper<PaymentUpdateModel>;
  PaymentUpdateFilter: PaymentUpdateFilter;
  Query: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Reference: ResolverTypeWrapper<{ readonly reference: string }>;
  ReferenceInput: ReferenceInput;
  RotatePaymentWebhookSecretInput: RotatePaymentWebhookSecretInput;
  RotatePaymentWebhookSecretPayload: ResolverTypeWrapper<RotatePaymentWebhookSecretPayload>;
  SafeInt: ResolverTypeWrapper<Scalars['SafeInt']['output']>;
  ShareNoteInput: ShareNoteInput;
  ShareNotePayload: ResolverTypeWrapper<ShareNotePayload>;
  SharePermission: SharePermission;
  Shipment: ResolverTypeWrapper<ShipmentModel>;
  ShipmentConnection: ResolverTypeWrapper<Omit<ShipmentConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['ShipmentEdge']>, nodes: ReadonlyArray<ResolversTypes['Shipment']> }>;
  ShipmentEdge: ResolverTypeWrapper<Omit<ShipmentEdge, 'node'> & { node: ResolversTypes['Shipment'] }>;
  ShipmentEvent: ResolverTypeWrapper<ShipmentEventModel>;
  ShipmentEventConnection: ResolverTypeWrapper<Omit<ShipmentEventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['ShipmentEventEdge']>, nodes: ReadonlyArray<ResolversTypes['ShipmentEvent']> }>;
  ShipmentEventEdge: ResolverTypeWrapper<Omit<ShipmentEventEdge, 'node'> & { node: ResolversTypes['ShipmentEvent'] }>;
  ShipmentFilter: ShipmentFilter;
  ShipmentStage: ShipmentStage;
  ShipmentUpdate: ResolverTypeWrapper<ShipmentUpdateModel>;
  ShipmentUpdateFilter: ShipmentUpdateFilter;
  SignInInput: SignInInput;
  SignInPayload: ResolverTypeWrapper<Omit<SignInPayload, 'viewer'> & { viewer?: Maybe<ResolversTypes['User']> }>;
  SignOutPayload: ResolverTypeWrapper<SignOutPayload>;
  String: ResolverTypeWrapper<Scalars['String']['output']>;
  Subscription: ResolverTypeWrapper<Record<PropertyKey, never>>;
  Tag: ResolverTypeWrapper<TagModel>;
  TagConnection: ResolverTypeWrapper<Omit<TagConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['TagEdge']>, nodes: ReadonlyArray<ResolversTypes['Tag']> }>;
  TagEdge: ResolverTypeWrapper<Omit<TagEdge, 'node'> & { node: ResolversTypes['Tag'] }>;
  UpdateNoteInput: UpdateNoteInput;
  UpdateNotePayload: ResolverTypeWrapper<Omit<UpdateNotePayload, 'note'> & { note?: Maybe<ResolversTypes['Note']> }>;
  User: ResolverTypeWrapper<UserModel>;
  UserError: ResolverTypeWrapper<UserError>;
  UserErrorCode: UserErrorCode;
  WebhookDelivery: ResolverTypeWrapper<WebhookDeliveryModel>;
  WebhookDeliveryConnection: ResolverTypeWrapper<Omit<WebhookDeliveryConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversTypes['WebhookDeliveryEdge']>, nodes: ReadonlyArray<ResolversTypes['WebhookDelivery']> }>;
  WebhookDeliveryEdge: ResolverTypeWrapper<Omit<WebhookDeliveryEdge, 'node'> & { node: ResolversTypes['WebhookDelivery'] }>;
  WebhookDeliveryFilter: WebhookDeliveryFilter;
  WebhookDeliveryUpdate: ResolverTypeWrapper<Omit<WebhookDeliveryUpdate, 'delivery'> & { delivery: ResolversTypes['WebhookDelivery'] }>;
  WebhookEndpoint: ResolverTypeWrapper<WebhookEndpointModel>;
  WebhookFamily: WebhookFamily;
  WebhookOutcome: WebhookOutcome;
  _Any: ResolverTypeWrapper<Scalars['_Any']['output']>;
  _Entity: ResolverTypeWrapper<ResolversUnionTypes<ResolversTypes>['_Entity']>;
  _Service: ResolverTypeWrapper<_Service>;
};

/** Mapping between all available schema types and the resolvers parents */
export type ResolversParentTypes = {
  Appointment: AppointmentModel;
  AppointmentConnection: Omit<AppointmentConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['AppointmentEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Appointment']> };
  AppointmentEdge: Omit<AppointmentEdge, 'node'> & { node: ResolversParentTypes['Appointment'] };
  AppointmentFilter: AppointmentFilter;
  AppointmentParticipant: ParticipantModel;
  AppointmentParticipantInput: AppointmentParticipantInput;
  Boolean: Scalars['Boolean']['output'];
  CreateAppointmentInput: CreateAppointmentInput;
  CreateAppointmentPayload: Omit<CreateAppointmentPayload, 'appointment' | 'appointmentEdge'> & { appointment?: Maybe<ResolversParentTypes['Appointment']>, appointmentEdge?: Maybe<ResolversParentTypes['AppointmentEdge']> };
  CreateNoteInput: CreateNoteInput;
  CreateNotePayload: Omit<CreateNotePayload, 'note' | 'noteEdge'> & { note?: Maybe<ResolversParentTypes['Note']>, noteEdge?: Maybe<ResolversParentTypes['NoteEdge']> };
  DateTime: Scalars['DateTime']['output'];
  DeleteNoteInput: DeleteNoteInput;
  DeleteNotePayload: DeleteNotePayload;
  ID: Scalars['ID']['output'];
  Int: Scalars['Int']['output'];
  JSON: Scalars['JSON']['output'];
  Mutation: Record<PropertyKey, never>;
  Node: ResolversInterfaceTypes<ResolversParentTypes>['Node'];
  Note: NoteModel;
  NoteConnection: Omit<NoteConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['NoteEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Note']> };
  NoteEdge: Omit<NoteEdge, 'node'> & { node: ResolversParentTypes['Note'] };
  NoteFilter: NoteFilter;
  PageInfo: PageInfo;
  Payment: PaymentModel;
  PaymentConnection: Omit<PaymentConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['PaymentEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Payment']> };
  PaymentEdge: Omit<PaymentEdge, 'node'> & { node: ResolversParentTypes['Payment'] };
  PaymentEvent: PaymentEventModel;
  PaymentEventConnection: Omit<PaymentEventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['PaymentEventEdge']>, nodes: ReadonlyArray<ResolversParentTypes['PaymentEvent']> };
  PaymentEventEdge: Omit<PaymentEventEdge, 'node'> & { node: ResolversParentTypes['PaymentEvent'] };
  PaymentFilter: PaymentFilter;
  PaymentUpdate: PaymentUpdateModel;
  PaymentUpdateFilter: PaymentUpdateFilter;
  Query: Record<PropertyKey, never>;
  Reference: { readonly reference: string };
  ReferenceInput: ReferenceInput;
  RotatePaymentWebhookSecretInput: RotatePaymentWebhookSecretInput;
  RotatePaymentWebhookSecretPayload: RotatePaymentWebhookSecretPayload;
  SafeInt: Scalars['SafeInt']['output'];
  ShareNoteInput: ShareNoteInput;
  ShareNotePayload: ShareNotePayload;
  Shipment: ShipmentModel;
  ShipmentConnection: Omit<ShipmentConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['ShipmentEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Shipment']> };
  ShipmentEdge: Omit<ShipmentEdge, 'node'> & { node: ResolversParentTypes['Shipment'] };
  ShipmentEvent: ShipmentEventModel;
  ShipmentEventConnection: Omit<ShipmentEventConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['ShipmentEventEdge']>, nodes: ReadonlyArray<ResolversParentTypes['ShipmentEvent']> };
  ShipmentEventEdge: Omit<ShipmentEventEdge, 'node'> & { node: ResolversParentTypes['ShipmentEvent'] };
  ShipmentFilter: ShipmentFilter;
  ShipmentUpdate: ShipmentUpdateModel;
  ShipmentUpdateFilter: ShipmentUpdateFilter;
  SignInInput: SignInInput;
  SignInPayload: Omit<SignInPayload, 'viewer'> & { viewer?: Maybe<ResolversParentTypes['User']> };
  SignOutPayload: SignOutPayload;
  String: Scalars['String']['output'];
  Subscription: Record<PropertyKey, never>;
  Tag: TagModel;
  TagConnection: Omit<TagConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['TagEdge']>, nodes: ReadonlyArray<ResolversParentTypes['Tag']> };
  TagEdge: Omit<TagEdge, 'node'> & { node: ResolversParentTypes['Tag'] };
  UpdateNoteInput: UpdateNoteInput;
  UpdateNotePayload: Omit<UpdateNotePayload, 'note'> & { note?: Maybe<ResolversParentTypes['Note']> };
  User: UserModel;
  UserError: UserError;
  WebhookDelivery: WebhookDeliveryModel;
  WebhookDeliveryConnection: Omit<WebhookDeliveryConnection, 'edges' | 'nodes'> & { edges: ReadonlyArray<ResolversParentTypes['WebhookDeliveryEdge']>, nodes: ReadonlyArray<ResolversParentTypes['WebhookDelivery']> };
  WebhookDeliveryEdge: Omit<WebhookDeliveryEdge, 'node'> & { node: ResolversParentTypes['WebhookDelivery'] };
  WebhookDeliveryFilter: WebhookDeliveryFilter;
  WebhookDeliveryUpdate: Omit<WebhookDeliveryUpdate, 'delivery'> & { delivery: ResolversParentTypes['WebhookDelivery'] };
  WebhookEndpoint: WebhookEndpointModel;
  _Any: Scalars['_Any']['output'];
  _Entity: ResolversUnionTypes<ResolversParentTypes>['_Entity'];
  _Service: _Service;
};

export type AppointmentResolvers<ContextType = any, ParentType extends ResolversParentTypes['Appointment'] = ResolversParentTypes['Appointment']> = {
  bookedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  bookedBy?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  confirmation?: Resolver<ResolversTypes['BookingConfirmation'], ParentType, ContextType>;
  end?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  participants?: Resolver<ReadonlyArray<ResolversTypes['AppointmentParticipant']>, ParentType, ContextType>;
  start?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['AppointmentStatus'], ParentType, ContextType>;
  upstreamId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type AppointmentConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['AppointmentConnection'] = ResolversParentTypes['AppointmentConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['AppointmentEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Appointment']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type AppointmentEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['AppointmentEdge'] = ResolversParentTypes['AppointmentEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Appointment'], ParentType, ContextType>;
};

export type AppointmentParticipantResolvers<ContextType = any, ParentType extends ResolversParentTypes['AppointmentParticipant'] = ResolversParentTypes['AppointmentParticipant']> = {
  actor?: Resolver<ResolversTypes['Reference'], ParentType, ContextType>;
  status?: Resolver<ResolversTypes['ParticipantStatus'], ParentType, ContextType>;
};

export type CreateAppointmentPayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['CreateAppointmentPayload'] = ResolversParentTypes['CreateAppointmentPayload']> = {
  appointment?: Resolver<Maybe<ResolversTypes['Appointment']>, ParentType, ContextType>;
  appointmentEdge?: Resolver<Maybe<ResolversTypes['AppointmentEdge']>, ParentType, ContextType>;
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
};

export type CreateNotePayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['CreateNotePayload'] = ResolversParentTypes['CreateNotePayload']> = {
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
  note?: Resolver<Maybe<ResolversTypes['Note']>, ParentType, ContextType>;
  noteEdge?: Resolver<Maybe<ResolversTypes['NoteEdge']>, ParentType, ContextType>;
};

export interface DateTimeScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['DateTime'], any> {
  name: 'DateTime';
}

export type DeleteNotePayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['DeleteNotePayload'] = ResolversParentTypes['DeleteNotePayload']> = {
  deletedNoteId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
};

export interface JsonScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['JSON'], any> {
  name: 'JSON';
}

export type MutationResolvers<ContextType = any, ParentType extends ResolversParentTypes['Mutation'] = ResolversParentTypes['Mutation']> = {
  createAppointment?: Resolver<ResolversTypes['CreateAppointmentPayload'], ParentType, ContextType, RequireFields<MutationCreateAppointmentArgs, 'input'>>;
  createNote?: Resolver<ResolversTypes['CreateNotePayload'], ParentType, ContextType, RequireFields<MutationCreateNoteArgs, 'input'>>;
  deleteNote?: Resolver<ResolversTypes['DeleteNotePayload'], ParentType, ContextType, RequireFields<MutationDeleteNoteArgs, 'input'>>;
  rotatePaymentWebhookSecret?: Resolver<ResolversTypes['RotatePaymentWebhookSecretPayload'], ParentType, ContextType, RequireFields<MutationRotatePaymentWebhookSecretArgs, 'input'>>;
  shareNote?: Resolver<ResolversTypes['ShareNotePayload'], ParentType, ContextType, RequireFields<MutationShareNoteArgs, 'input'>>;
  signIn?: Resolver<ResolversTypes['SignInPayload'], ParentType, ContextType, RequireFields<MutationSignInArgs, 'input'>>;
  signOut?: Resolver<ResolversTypes['SignOutPayload'], ParentType, ContextType>;
  updateNote?: Resolver<ResolversTypes['UpdateNotePayload'], ParentType, ContextType, RequireFields<MutationUpdateNoteArgs, 'input'>>;
};

export type NodeResolvers<ContextType = any, ParentType extends ResolversParentTypes['Node'] = ResolversParentTypes['Node']> = {
  __resolveType: TypeResolveFn<'Appointment' | 'Note' | 'Payment' | 'PaymentEvent' | 'Shipment' | 'ShipmentEvent' | 'Tag' | 'User' | 'WebhookEndpoint', ParentType, ContextType>;
};

export type NoteResolvers<ContextType = any, ParentType extends ResolversParentTypes['Note'] = ResolversParentTypes['Note']> = {
  content?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  isPinned?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  tags?: Resolver<ReadonlyArray<ResolversTypes['Tag']>, ParentType, ContextType>;
  title?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  upstreamId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type NoteConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['NoteConnection'] = ResolversParentTypes['NoteConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['NoteEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Note']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type NoteEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['NoteEdge'] = ResolversParentTypes['NoteEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Note'], ParentType, ContextType>;
};

export type PageInfoResolvers<ContextType = any, ParentType extends ResolversParentTypes['PageInfo'] = ResolversParentTypes['PageInfo']> = {
  endCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  hasNextPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  hasPreviousPage?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  startCursor?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type PaymentResolvers<ContextType = any, ParentType extends ResolversParentTypes['Payment'] = ResolversParentTypes['Payment']> = {
  amount?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  currency?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  events?: Resolver<ResolversTypes['PaymentEventConnection'], ParentType, ContextType, Partial<PaymentEventsArgs>>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  livemode?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  paymentId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  revision?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type PaymentConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['PaymentConnection'] = ResolversParentTypes['PaymentConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['PaymentEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Payment']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type PaymentEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['PaymentEdge'] = ResolversParentTypes['PaymentEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Payment'], ParentType, ContextType>;
};

export type PaymentEventResolvers<ContextType = any, ParentType extends ResolversParentTypes['PaymentEvent'] = ResolversParentTypes['PaymentEvent']> = {
  amount?: Resolver<Maybe<ResolversTypes['SafeInt']>, ParentType, ContextType>;
  apiVersion?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  created?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  currency?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  data?: Resolver<Maybe<ResolversTypes['JSON']>, ParentType, ContextType>;
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  livemode?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  paymentId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  receivedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type PaymentEventConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['PaymentEventConnection'] = ResolversParentTypes['PaymentEventConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['PaymentEventEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['PaymentEvent']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type PaymentEventEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['PaymentEventEdge'] = ResolversParentTypes['PaymentEventEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['PaymentEvent'], ParentType, ContextType>;
};

export type PaymentUpdateResolvers<ContextType = any, ParentType extends ResolversParentTypes['PaymentUpdate'] = ResolversParentTypes['PaymentUpdate']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  event?: Resolver<ResolversTypes['PaymentEvent'], ParentType, ContextType>;
  payment?: Resolver<ResolversTypes['Payment'], ParentType, ContextType>;
  replayed?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
};

export type QueryResolvers<ContextType = any, ParentType extends ResolversParentTypes['Query'] = ResolversParentTypes['Query']> = {
  _entities?: Resolver<ReadonlyArray<Maybe<ResolversTypes['_Entity']>>, ParentType, ContextType, RequireFields<Query_EntitiesArgs, 'representations'>>;
  _service?: Resolver<ResolversTypes['_Service'], ParentType, ContextType>;
  appointments?: Resolver<ResolversTypes['AppointmentConnection'], ParentType, ContextType, Partial<QueryAppointmentsArgs>>;
  liveCursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<Maybe<ResolversTypes['Node']>, ParentType, ContextType, RequireFields<QueryNodeArgs, 'id'>>;
  nodes?: Resolver<ReadonlyArray<Maybe<ResolversTypes['Node']>>, ParentType, ContextType, RequireFields<QueryNodesArgs, 'ids'>>;
  notes?: Resolver<ResolversTypes['NoteConnection'], ParentType, ContextType, Partial<QueryNotesArgs>>;
  payment?: Resolver<Maybe<ResolversTypes['Payment']>, ParentType, ContextType, RequireFields<QueryPaymentArgs, 'paymentId'>>;
  payments?: Resolver<ResolversTypes['PaymentConnection'], ParentType, ContextType, Partial<QueryPaymentsArgs>>;
  shipment?: Resolver<Maybe<ResolversTypes['Shipment']>, ParentType, ContextType, RequireFields<QueryShipmentArgs, 'shipmentId'>>;
  shipments?: Resolver<ResolversTypes['ShipmentConnection'], ParentType, ContextType, Partial<QueryShipmentsArgs>>;
  tag?: Resolver<Maybe<ResolversTypes['Tag']>, ParentType, ContextType, RequireFields<QueryTagArgs, 'name'>>;
  tags?: Resolver<ResolversTypes['TagConnection'], ParentType, ContextType, Partial<QueryTagsArgs>>;
  viewer?: Resolver<Maybe<ResolversTypes['User']>, ParentType, ContextType>;
  webhookDeliveries?: Resolver<ResolversTypes['WebhookDeliveryConnection'], ParentType, ContextType, Partial<QueryWebhookDeliveriesArgs>>;
  webhookEndpoints?: Resolver<ReadonlyArray<ResolversTypes['WebhookEndpoint']>, ParentType, ContextType>;
};

export type ReferenceResolvers<ContextType = any, ParentType extends ResolversParentTypes['Reference'] = ResolversParentTypes['Reference']> = {
  reference?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  resourceId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  resourceType?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type RotatePaymentWebhookSecretPayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['RotatePaymentWebhookSecretPayload'] = ResolversParentTypes['RotatePaymentWebhookSecretPayload']> = {
  endpointId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
  previousSecretValidUntil?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  rotatedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
};

export interface SafeIntScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['SafeInt'], any> {
  name: 'SafeInt';
}

export type ShareNotePayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['ShareNotePayload'] = ResolversParentTypes['ShareNotePayload']> = {
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
  sharedNoteId?: Resolver<Maybe<ResolversTypes['ID']>, ParentType, ContextType>;
};

export type ShipmentResolvers<ContextType = any, ParentType extends ResolversParentTypes['Shipment'] = ResolversParentTypes['Shipment']> = {
  carrier?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  events?: Resolver<ResolversTypes['ShipmentEventConnection'], ParentType, ContextType, Partial<ShipmentEventsArgs>>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  revision?: Resolver<ResolversTypes['SafeInt'], ParentType, ContextType>;
  shipmentId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  stage?: Resolver<ResolversTypes['ShipmentStage'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  trackingNumber?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  updatedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ShipmentConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['ShipmentConnection'] = ResolversParentTypes['ShipmentConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['ShipmentEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Shipment']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type ShipmentEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['ShipmentEdge'] = ResolversParentTypes['ShipmentEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Shipment'], ParentType, ContextType>;
};

export type ShipmentEventResolvers<ContextType = any, ParentType extends ResolversParentTypes['ShipmentEvent'] = ResolversParentTypes['ShipmentEvent']> = {
  carrier?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  eventId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  occurredAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  receivedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  shipmentId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  stage?: Resolver<ResolversTypes['ShipmentStage'], ParentType, ContextType>;
  status?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  trackingNumber?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  type?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type ShipmentEventConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['ShipmentEventConnection'] = ResolversParentTypes['ShipmentEventConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['ShipmentEventEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['ShipmentEvent']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type ShipmentEventEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['ShipmentEventEdge'] = ResolversParentTypes['ShipmentEventEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['ShipmentEvent'], ParentType, ContextType>;
};

export type ShipmentUpdateResolvers<ContextType = any, ParentType extends ResolversParentTypes['ShipmentUpdate'] = ResolversParentTypes['ShipmentUpdate']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  event?: Resolver<ResolversTypes['ShipmentEvent'], ParentType, ContextType>;
  replayed?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  shipment?: Resolver<ResolversTypes['Shipment'], ParentType, ContextType>;
};

export type SignInPayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['SignInPayload'] = ResolversParentTypes['SignInPayload']> = {
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
  expiresAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  sessionToken?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  viewer?: Resolver<Maybe<ResolversTypes['User']>, ParentType, ContextType>;
};

export type SignOutPayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['SignOutPayload'] = ResolversParentTypes['SignOutPayload']> = {
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
  signedOut?: Resolver<Maybe<ResolversTypes['Boolean']>, ParentType, ContextType>;
};

export type SubscriptionResolvers<ContextType = any, ParentType extends ResolversParentTypes['Subscription'] = ResolversParentTypes['Subscription']> = {
  paymentUpdates?: SubscriptionResolver<ResolversTypes['PaymentUpdate'], "paymentUpdates", ParentType, ContextType, Partial<SubscriptionPaymentUpdatesArgs>>;
  shipmentUpdates?: SubscriptionResolver<ResolversTypes['ShipmentUpdate'], "shipmentUpdates", ParentType, ContextType, Partial<SubscriptionShipmentUpdatesArgs>>;
  webhookDeliveryUpdates?: SubscriptionResolver<ResolversTypes['WebhookDeliveryUpdate'], "webhookDeliveryUpdates", ParentType, ContextType, Partial<SubscriptionWebhookDeliveryUpdatesArgs>>;
};

export type TagResolvers<ContextType = any, ParentType extends ResolversParentTypes['Tag'] = ResolversParentTypes['Tag']> = {
  count?: Resolver<ResolversTypes['Int'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  notes?: Resolver<ResolversTypes['NoteConnection'], ParentType, ContextType, Partial<TagNotesArgs>>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type TagConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['TagConnection'] = ResolversParentTypes['TagConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['TagEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['Tag']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type TagEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['TagEdge'] = ResolversParentTypes['TagEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['Tag'], ParentType, ContextType>;
};

export type UpdateNotePayloadResolvers<ContextType = any, ParentType extends ResolversParentTypes['UpdateNotePayload'] = ResolversParentTypes['UpdateNotePayload']> = {
  errors?: Resolver<ReadonlyArray<ResolversTypes['UserError']>, ParentType, ContextType>;
  note?: Resolver<Maybe<ResolversTypes['Note']>, ParentType, ContextType>;
};

export type UserResolvers<ContextType = any, ParentType extends ResolversParentTypes['User'] = ResolversParentTypes['User']> = {
  createdAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  email?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  grants?: Resolver<ReadonlyArray<ResolversTypes['Grant']>, ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  name?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  upstreamId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export type UserErrorResolvers<ContextType = any, ParentType extends ResolversParentTypes['UserError'] = ResolversParentTypes['UserError']> = {
  code?: Resolver<ResolversTypes['UserErrorCode'], ParentType, ContextType>;
  message?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  path?: Resolver<ReadonlyArray<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WebhookDeliveryResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookDelivery'] = ResolversParentTypes['WebhookDelivery']> = {
  body?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  endpoint?: Resolver<Maybe<ResolversTypes['WebhookEndpoint']>, ParentType, ContextType>;
  entityId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  eventId?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  family?: Resolver<ResolversTypes['WebhookFamily'], ParentType, ContextType>;
  message?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  outcome?: Resolver<ResolversTypes['WebhookOutcome'], ParentType, ContextType>;
  reason?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
  receivedAt?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  signedAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  truncated?: Resolver<ResolversTypes['Boolean'], ParentType, ContextType>;
  type?: Resolver<Maybe<ResolversTypes['String']>, ParentType, ContextType>;
};

export type WebhookDeliveryConnectionResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookDeliveryConnection'] = ResolversParentTypes['WebhookDeliveryConnection']> = {
  edges?: Resolver<ReadonlyArray<ResolversTypes['WebhookDeliveryEdge']>, ParentType, ContextType>;
  nodes?: Resolver<ReadonlyArray<ResolversTypes['WebhookDelivery']>, ParentType, ContextType>;
  pageInfo?: Resolver<ResolversTypes['PageInfo'], ParentType, ContextType>;
};

export type WebhookDeliveryEdgeResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookDeliveryEdge'] = ResolversParentTypes['WebhookDeliveryEdge']> = {
  cursor?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  node?: Resolver<ResolversTypes['WebhookDelivery'], ParentType, ContextType>;
};

export type WebhookDeliveryUpdateResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookDeliveryUpdate'] = ResolversParentTypes['WebhookDeliveryUpdate']> = {
  delivery?: Resolver<ResolversTypes['WebhookDelivery'], ParentType, ContextType>;
};

export type WebhookEndpointResolvers<ContextType = any, ParentType extends ResolversParentTypes['WebhookEndpoint'] = ResolversParentTypes['WebhookEndpoint']> = {
  endpointId?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  family?: Resolver<ResolversTypes['WebhookFamily'], ParentType, ContextType>;
  id?: Resolver<ResolversTypes['ID'], ParentType, ContextType>;
  lastDeliveryAt?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  previousSecretValidUntil?: Resolver<Maybe<ResolversTypes['DateTime']>, ParentType, ContextType>;
  secretSince?: Resolver<ResolversTypes['DateTime'], ParentType, ContextType>;
  url?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
  __isTypeOf?: IsTypeOfResolverFn<ParentType, ContextType>;
};

export interface _AnyScalarConfig extends GraphQLScalarTypeConfig<ResolversTypes['_Any'], any> {
  name: '_Any';
}

export type _EntityResolvers<ContextType = any, ParentType extends ResolversParentTypes['_Entity'] = ResolversParentTypes['_Entity']> = {
  __resolveType: TypeResolveFn<'Appointment' | 'Note' | 'Payment' | 'PaymentEvent' | 'Shipment' | 'ShipmentEvent' | 'Tag' | 'User' | 'WebhookEndpoint', ParentType, ContextType>;
};

export type _ServiceResolvers<ContextType = any, ParentType extends ResolversParentTypes['_Service'] = ResolversParentTypes['_Service']> = {
  sdl?: Resolver<ResolversTypes['String'], ParentType, ContextType>;
};

export type Resolvers<ContextType = any> = {
  Appointment?: AppointmentResolvers<ContextType>;
  AppointmentConnection?: AppointmentConnectionResolvers<ContextType>;
  AppointmentEdge?: AppointmentEdgeResolvers<ContextType>;
  AppointmentParticipant?: AppointmentParticipantResolvers<ContextType>;
  CreateAppointmentPayload?: CreateAppointmentPayloadResolvers<ContextType>;
  CreateNotePayload?: CreateNotePayloadResolvers<ContextType>;
  DateTime?: GraphQLScalarType;
  DeleteNotePayload?: DeleteNotePayloadResolvers<ContextType>;
  JSON?: GraphQLScalarType;
  Mutation?: MutationResolvers<ContextType>;
  Node?: NodeResolvers<ContextType>;
  Note?: NoteResolvers<ContextType>;
  NoteConnection?: NoteConnectionResolvers<ContextType>;
  NoteEdge?: NoteEdgeResolvers<ContextType>;
  PageInfo?: PageInfoResolvers<ContextType>;
  Payment?: PaymentResolvers<ContextType>;
  PaymentConnection?: PaymentConnectionResolvers<ContextType>;
  PaymentEdge?: PaymentEdgeResolvers<ContextType>;
  PaymentEvent?: PaymentEventResolvers<ContextType>;
  PaymentEventConnection?: PaymentEventConnectionResolvers<ContextType>;
  PaymentEventEdge?: PaymentEventEdgeResolvers<ContextType>;
  PaymentUpdate?: PaymentUpdateResolvers<ContextType>;
  Query?: QueryResolvers<ContextType>;
  Reference?: ReferenceResolvers<ContextType>;
  RotatePaymentWebhookSecretPayload?: RotatePaymentWebhookSecretPayloadResolvers<ContextType>;
  SafeInt?: GraphQLScalarType;
  ShareNotePayload?: ShareNotePayloadResolvers<ContextType>;
  Shipment?: ShipmentResolvers<ContextType>;
  ShipmentConnection?: ShipmentConnectionResolvers<ContextType>;
  ShipmentEdge?: ShipmentEdgeResolvers<ContextType>;
  ShipmentEvent?: ShipmentEventResolvers<ContextType>;
  ShipmentEventConnection?: ShipmentEventConnectionResolvers<ContextType>;
  ShipmentEventEdge?: ShipmentEventEdgeResolvers<ContextType>;
  ShipmentUpdate?: ShipmentUpdateResolvers<ContextType>;
  SignInPayload?: SignInPayloadResolvers<ContextType>;
  SignOutPayload?: SignOutPayloadResolvers<ContextType>;
  Subscription?: SubscriptionResolvers<ContextType>;
  Tag?: TagResolvers<ContextType>;
  TagConnection?: TagConnectionResolvers<ContextType>;
  TagEdge?: TagEdgeResolvers<ContextType>;
  UpdateNotePayload?: UpdateNotePayloadResolvers<ContextType>;
  User?: UserResolvers<ContextType>;
  UserError?: UserErrorResolvers<ContextType>;
  WebhookDelivery?: WebhookDeliveryResolvers<ContextType>;
  WebhookDeliveryConnection?: WebhookDeliveryConnectionResolvers<ContextType>;
  WebhookDeliveryEdge?: WebhookDeliveryEdgeResolvers<ContextType>;
  WebhookDeliveryUpdate?: WebhookDeliveryUpdateResolvers<ContextType>;
  WebhookEndpoint?: WebhookEndpointResolvers<ContextType>;
  _Any?: GraphQLScalarType;
  _Entity?: _EntityResolvers<ContextType>;
  _Service?: _ServiceResolvers<ContextType>;
};

