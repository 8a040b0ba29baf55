import { createEntities, type Entities } from '../../events/projections/entities.js';
import type { EntityPosition } from '../../events/projections/entity-pages.js';
import type { Fold, StateTable } from '../../events/log/fold.js';
import type { PaymentFilter } from '../../generated/resolvers.js';
import { instant } from '../../lib/iso-instant.js';
import { lastSeq, write, writeIfPresent, type Register, type Stamp } from '../../lib/lww-register.js';
import type { Database } from '../../store/database.js';
import type { Reads } from '../../store/sql/read-budget.js';
import { keyTextIf } from '../../store/sql/key-text.js';
import type { Payment, PaymentEvent } from '../../models/payment.js';
import { createdTime, type CreatedUnit } from './webhook.js';

/** The state of a payment: for each field its value, and the stamp of the event that it comes from. */
export interface PaymentState {
  readonly paymentId: string;
  /** The number in the log of the event folded in last; absent if a replica of version 0.1.0 folded it in. */
  readonly revision?: number;
  readonly newest: Register<{ readonly updatedAt: string }>;
  readonly amount: Register<number> | null;
  readonly currency: Register<string> | null;
  readonly status: Register<string> | null;
  readonly livemode: Register<boolean> | null;
}

/** The payments as folded, and their events. */
export type Payments = Entities<Payment, PaymentFilter, PaymentEvent>;

/**
 * Folds events into the same state in whatever order they come: an older event never overwrites the value of a newer
 * one, equal times are settled by log order, and an absent field erases nothing. `unit` is that of `created`.
 */
export function createPaymentFold({
  unit,
}: {
  readonly unit: CreatedUnit;
}): Fold<PaymentEvent, PaymentState> {
  return {
    ...stateTable,
    apply: (before, event, seq) => applyEvent(before, event, createdTime(event.created, unit), seq),
    toRow,
  };
}

const stateTable = {
  table: 'payments',
  key: 'payment_id',
  columns: { status: 'text', currency: 'text', livemode: 'integer', updated_instant: 'text' },
} as const satisfies StateTable;

function applyEvent(
  before: PaymentState | undefined,
  event: PaymentEvent,
  updatedAt: string,
  seq: number,
): PaymentState {
  const { paymentId } = event;
  const stamp: Stamp = [instant(updatedAt)!, 0, seq];
  return {
    paymentId,
    revision: seq,
    newest: write(before?.newest, { updatedAt }, stamp),
    amount: writeIfPresent(before?.amount, event.amount, stamp),
    currency: writeIfPresent(before?.currency, event.currency, stamp),
    status: writeIfPresent(before?.status, event.status, stamp),
    livemode: writeIfPresent(before?.livemode, event.livemode, stamp),
  };
}

function toRow({ newest, status, currency, livemode }: PaymentState) {
  return {
    status: keyTextIf(status?.value),
    currency: keyTextIf(currency?.value),
    livemode: Number(livemode?.value ?? false),
    updated_instant: newest.stamp[0],
  };
}

/** The payment that a state describes. */
export function toPayment(state: PaymentState): Payment {
  const { paymentId, revision, newest, amount, currency, status, livemode } = state;
  return {
    kind: 'Payment',
    paymentId,
    amount: amount?.value ?? null,
    currency: currency?.value ?? null,
    status: status?.value ?? null,
    livemode: livemode?.value ?? false,
    updatedAt: newest.value.updatedAt,
    // What changed nothing is not seen there: equal revisions are equal states then.
    revision: revision ?? lastSeq([newest, amount, currency, status, livemode]),
  };
}

/** An event as shown with its payment just after it, whose `livemode` it takes if it has none itself. */
export function withLivemodeOf({ livemode }: Payment, event: PaymentEvent): PaymentEvent {
  return event.livemode === null ? { ...event, livemode } : event;
}

/** The position of a payment in `Payments.page`. */
export function paymentPosition({ updatedAt, paymentId }: Payment): EntityPosition {
  return [instant(updatedAt)!, paymentId];
}

/** Returns a function that gives an operation the payments of this database, read through its `reads`. */
export function createPayments({ database }: { readonly database: Database }): (reads: Reads) => Payments {
  return createEntities({
    database,
    family: 'payments',
    stateTable,
    toEntity: toPayment,
    toColumns: ({ status, currency, livemode }: PaymentFilter) => ({
      status: keyTextIf(status),
      currency: keyTextIf(currency),
      livemode: livemode == null ? null : Number(livemode),
    }),
    showEvent: (event: PaymentEvent, state) =>
      event.livemode === null ? withLivemodeOf(toPayment(state()), event) : event,
  });
}
