/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Which payments to include, by exact match; all conditions must match. */
export type PaymentFilter = {
  /** Only payments in this currency. */
  readonly currency?: string | null | undefined;
  /** Only payments with real money, or only those without. */
  readonly livemode?: boolean | null | undefined;
  /** Only payments with this status. */
  readonly status?: string | null | undefined;
};

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

export type RecentShipmentEventsQueryVariables = Exact<{ [key: string]: never; }>;


export type RecentShipmentEventsQuery = { readonly shipments: { readonly nodes: ReadonlyArray<{ readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly eventId: string, readonly type: string, readonly stage: ShipmentStage, readonly occurredAt: string, readonly receivedAt: string, readonly shipmentId: string, readonly status: string | null, readonly carrier: string | null, readonly trackingNumber: string | null }> } }> } };

export type RecentPaymentEventsQueryVariables = Exact<{ [key: string]: never; }>;


export type RecentPaymentEventsQuery = { readonly payments: { readonly nodes: ReadonlyArray<{ readonly events: { readonly nodes: ReadonlyArray<{ readonly id: string, readonly eventId: string, readonly type: string, readonly apiVersion: string | null, readonly created: number, readonly livemode: boolean, readonly receivedAt: string, readonly paymentId: string, readonly amount: number | null, readonly currency: string | null, readonly status: string | null }> } }> } };

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
    query RecentShipmentEvents {
  shipments(first: 40) {
    nodes {
      events(first: 10) {
        nodes {
          ...ShipmentEventParts
        }
      }
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
    query RecentPaymentEvents {
  payments(first: 40) {
    nodes {
      events(first: 10) {
        nodes {
          ...PaymentEventParts
        }
      }
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