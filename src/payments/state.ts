import DataLoader from 'dataloader';
import { createHistory, type History } from '../events/history.js';
import type { Fold } from '../events/log.js';
import type { PaymentFilter } from '../generated/resolvers.js';
import { instant, instantOf } from '../instant.js';
import { write, writeIfTold, type Register, type Stamp } from '../register.js';
import type { RowQuery } from '../relay.js';
import type { Database, Executor } from '../store/database.js';
import { keyText } from '../store/text.js';
import type { Payment, PaymentEvent } from './model.js';
import { createdMillis, type CreatedUnit } from './webhook.js';

/** What the events of a payment have told: for each field the value and the event that it comes from. */
export interface PaymentState {
  readonly paymentId: string;
  readonly newest: Register<{ readonly livemode: boolean; readonly updatedAt: string }>;
  readonly amount: Register<number> | null;
  readonly currency: Register<string> | null;
  readonly status: Register<string> | null;
}

/** Where a payment stands among those with the latest activity. */
export type PaymentPosition = readonly [instant: string, paymentId: string];

/** The payments as folded, and their events. */
export interface Payments {
  /** The payment; null where no event has told of it. Those asked for at once are one statement. */
  get(paymentId: string): Promise<Payment | null>;
  /** Latest activity first, of those that match exactly; positions are `paymentPosition`. */
  page(query: RowQuery, filter: PaymentFilter): Promise<readonly Payment[]>;
  readonly events: History<PaymentEvent>;
}

/**
 * Folds events, in whatever order they come, into one and the same state: an older event never overwrites a newer
 * one's word, equal times are settled by log order, and an absent field erases nothing. `unit` is that of `created`.
 */
export function createPaymentFold({
  unit,
}: {
  readonly unit: CreatedUnit;
}): Fold<PaymentEvent, PaymentState> {
  return {
    table: 'payments',
    key: 'payment_id',
    columns: { status: 'text', currency: 'text', livemode: 'integer', updated_instant: 'text' },
    apply: (before, event, seq) => applyEvent(before, event, createdMillis(event.created, unit), seq),
    toRow,
  };
}

function applyEvent(
  before: PaymentState | undefined,
  event: PaymentEvent,
  milliseconds: number,
  seq: number,
): PaymentState {
  const { paymentId, livemode } = event;
  const stamp: Stamp = [instantOf(milliseconds), 0, seq];
  const updatedAt = new Date(milliseconds).toISOString();
  return {
    paymentId,
    newest: write(before?.newest, { livemode, updatedAt }, stamp),
    amount: writeIfTold(before?.amount, event.amount, stamp),
    currency: writeIfTold(before?.currency, event.currency, stamp),
    status: writeIfTold(before?.status, event.status, stamp),
  };
}

/** The payment that a state tells of. */
export function toPayment({ paymentId, newest, amount, currency, status }: PaymentState): Payment {
  return {
    kind: 'Payment',
    paymentId,
    amount: amount?.value ?? null,
    currency: currency?.value ?? null,
    status: status?.value ?? null,
    livemode: newest.value.livemode,
    updatedAt: newest.value.updatedAt,
  };
}

/** Where a payment stands in `Payments.page`. */
export function paymentPosition({ updatedAt, paymentId }: Payment): PaymentPosition {
  return [instant(updatedAt)!, paymentId];
}

/** The read model over the folded payments and their events; it may be shared by every operation. */
export function createPayments({ database }: { readonly database: Database }): Payments {
  const payments = new DataLoader(
    async (ids: readonly string[]) => {
      const states = await loadStates(database.kysely, ids);
      return ids.map((id) => states.get(id)).map((state) => state && toPayment(state));
    },
    { cache: false, maxBatchSize: 100 },
  );
  return {
    get: async (paymentId) => (await payments.load(paymentId)) ?? null,
    page: (query, filter) => readPage(database.kysely, query, filter),
    events: createHistory(database, 'payments'),
  };
}

async function loadStates(
  db: Executor,
  paymentIds: readonly string[],
): Promise<ReadonlyMap<string, PaymentState>> {
  const rows = await db
    .selectFrom('payments')
    .select('state')
    .where('payment_id', 'in', paymentIds.map(keyText))
    .execute();
  const states = rows.map(({ state }) => JSON.parse(state) as PaymentState);
  return new Map(states.map((state) => [state.paymentId, state]));
}

function toRow({ newest, status, currency }: PaymentState) {
  return {
    status: status && keyText(status.value),
    currency: currency && keyText(currency.value),
    livemode: Number(newest.value.livemode),
    updated_instant: newest.stamp[0],
  };
}

const place = ['updated_instant', 'payment_id'] as const;

function toKey(position: unknown): [string, string] {
  const [updatedInstant, paymentId] = position as PaymentPosition;
  return [updatedInstant, keyText(paymentId)];
}

async function readPage(
  db: Executor,
  { limit, backward, after, before }: RowQuery,
  { status, currency, livemode }: PaymentFilter,
): Promise<readonly Payment[]> {
  const order = backward ? 'asc' : 'desc';
  const rows = await db
    .selectFrom('payments')
    .select('state')
    .$if(status != null, (page) => page.where('status', '=', keyText(status!)))
    .$if(currency != null, (page) => page.where('currency', '=', keyText(currency!)))
    .$if(livemode != null, (page) => page.where('livemode', '=', Number(livemode)))
    .$if(after !== undefined, (page) =>
      page.where((eb) => eb(eb.refTuple(...place), '<', eb.tuple(...toKey(after)))),
    )
    .$if(before !== undefined, (page) =>
      page.where((eb) => eb(eb.refTuple(...place), '>', eb.tuple(...toKey(before)))),
    )
    .orderBy('updated_instant', order)
    .orderBy('payment_id', order)
    .limit(limit)
    .execute();
  return rows.map(({ state }) => toPayment(JSON.parse(state) as PaymentState));
}
