import type { EventBody } from '../../events/webhooks/request.js';
import type { WebhookFamily } from '../../events/webhooks/webhook-family.js';
import { createEntities, type Entities } from '../../events/projections/entities.js';
import type { EntityPosition } from '../../events/projections/entity-pages.js';
import type { Fold, StateTable } from '../../events/log/fold.js';
import { instant, leastEpochMs } from '../../lib/iso-instant.js';
import { member, textOrNull } from '../../lib/json.js';
import type { Payment, PaymentEvent } from '../../models/payment.js';
import type { PaymentFilter } from '../../generated/resolvers.js';
import { lastSeq, write, writeIfPresent, type Register, type Stamp } from '../../lib/lww-register.js';
import type { Database } from '../../store/database.js';
import type { Reads } from '../../store/sql/read-budget.js';
import { keyTextIf } from '../../store/sql/key-text.js';

/**
 * The unit of `created`, which is not documented (`apis/webhooks.md` §2); `auto` tells seconds, milliseconds and
 * microseconds apart by the size of the number.
 */
export type CreatedUnit = 'auto' | 's' | 'ms';

/** The settings of payment webhooks. */
export interface PaymentFamilyOptions {
  /** The types whose `data.object` has the known shape. */
  readonly types: readonly string[];
  readonly createdUnit: CreatedUnit;
  /** The maximum age of `t`; null accepts any (the threshold is not documented). */
  readonly toleranceSeconds: number | null;
  /** How far ahead `t` may be. */
  readonly skewSeconds: number;
}

/** The payment family: the HMAC is over `<t>.<raw body>`, and `v0` counts as well (`apis/webhooks.md` §5). */
export function createPaymentFamily(options: PaymentFamilyOptions): WebhookFamily {
  const { createdUnit, toleranceSeconds, skewSeconds } = options;
  const types = new Set(options.types);
  return {
    name: 'payments',
    setting: 'PAYMENT_WEBHOOKS',
    scheme: {
      header: 'payments-signature',
      versions: ['v1', 'v0'],
      signed: (t, body) => [`${t}.`, body],
      ...(toleranceSeconds === null ? {} : { maxAge: toleranceSeconds }),
      maxAhead: skewSeconds,
    },
    ageSetting: 'PAYMENT_TIMESTAMP_TOLERANCE_SECONDS',
    rotates: true, // `v0` is signed with the previous secret (`apis/webhooks.md` §5)
    parse(event, receivedAt) {
      const hasKnownType = types.has(event.type);
      const read = hasKnownType ? readPaymentEvent(event, receivedAt, createdUnit) : null;
      const created = readCreated(event.created);
      return {
        apiVersion: textOrNull(event.api_version),
        known: read && {
          entityId: read.paymentId,
          event: { ...read, data: null } satisfies PaymentEvent,
          text: JSON.stringify(read),
          undated: created === undefined || createdTime(created, createdUnit) === undefined,
        },
        unnamed: hasKnownType && !read,
      };
    },
  };
}

/**
 * A payment event as it was sent; null if it does not name its payment. `amount`, `currency`, `status` and `livemode`
 * are null if absent or of another type. `created` is the service's raw number, as `readCreated` reads it, or the time of
 * receipt in the configured unit (`auto`: seconds).
 */
export function readPaymentEvent(
  { id, type, api_version, created, livemode, data = null }: EventBody,
  receivedAt: string,
  unit: CreatedUnit,
): PaymentEvent | null {
  const payment = member(data, 'object');
  const paymentId = textOrNull(member(payment, 'id'));
  if (!paymentId) return null;
  return {
    kind: 'PaymentEvent',
    eventId: id,
    type,
    apiVersion: textOrNull(api_version),
    created: readCreated(created) ?? createdNumber(receivedAt, unit),
    livemode: typeof livemode === 'boolean' ? livemode : null,
    receivedAt,
    paymentId,
    amount: safeIntegerOrNull(member(payment, 'amount')),
    currency: textOrNull(member(payment, 'currency')),
    status: textOrNull(member(payment, 'status')),
    data: isNestedWithin(data, maxNesting) ? data : null,
  };
}

/**
 * `created` as a whole number: also one given as digits in a string, or with a fraction, which is dropped. Nanoseconds,
 * which no number of JavaScript holds exactly, become microseconds. Undefined for what is none of these.
 */
function readCreated(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^-?\d{1,19}(?:\.\d{0,40})?$/.test(value.trim());
  if (typeof value !== 'number' && !isText) return undefined;
  const number = Math.floor(Number(value));
  const whole = Math.abs(number) >= nanosFrom ? Math.floor(number / 1000) : number;
  return Number.isSafeInteger(whole) ? whole : undefined;
}

/** In nanoseconds the year 1973, in microseconds 5138. */
const nanosFrom = 1e17;

// With `auto`, a number from here on is in microseconds: as milliseconds it would be the year 5138 or later.
const microsFrom = 1e14;
const firstMoment = Date.parse('0000-01-01T00:00:00.000Z');
const lastMoment = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The date-time in UTC that a raw `created` stands for, as exact as the number. Undefined outside the years 0000 to 9999:
 * the unit is most likely another, and a time at their end would stay the newest once that is corrected.
 */
export function createdTime(created: number, unit: CreatedUnit): string | undefined {
  const size = Math.abs(created);
  if (unit === 'auto' && size >= microsFrom) return microTime(created);
  const inSeconds = unit === 'auto' ? size < leastEpochMs : unit === 's';
  const milliseconds = inSeconds ? created * 1000 : created;
  return milliseconds < firstMoment || milliseconds > lastMoment
    ? undefined
    : new Date(milliseconds).toISOString();
}

function microTime(created: number): string {
  const milliseconds = Math.floor(created / 1000);
  const rest = String(created - milliseconds * 1000).padStart(3, '0');
  return new Date(milliseconds).toISOString().replace('Z', `${rest}Z`);
}

function createdNumber(moment: string, unit: CreatedUnit): number {
  const milliseconds = Date.parse(moment);
  return unit === 'ms' ? milliseconds : Math.floor(milliseconds / 1000);
}

function safeIntegerOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

// JSON.parse takes any depth, JSON.stringify overflows the stack: such `data` stays in the raw body only.
const maxNesting = 200;

function isNestedWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((inner) => isNestedWithin(inner, levels - 1));
  // Without a list of the values of each of so many objects.
  for (const name in value)
    if (!isNestedWithin((value as Record<string, unknown>)[name], levels - 1)) return false;
  return true;
}

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
 * one, equal times are settled by log order, and an absent field erases nothing. `unit` is that of `created`; of an event
 * without a time in it, the time of receipt counts.
 */
export function createPaymentFold({
  unit,
}: {
  readonly unit: CreatedUnit;
}): Fold<PaymentEvent, PaymentState> {
  return {
    ...stateTable,
    apply: (before, event, seq) =>
      applyEvent(before, event, createdTime(event.created, unit) ?? event.receivedAt, seq),
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
