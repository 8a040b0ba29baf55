import type { EventBody } from '../../events/webhooks/request.js';
import type { WebhookFamily } from '../../events/webhooks/webhook-family.js';
import { leastEpochMs } from '../../lib/iso-instant.js';
import { member, textOrNull } from '../../lib/json.js';
import type { PaymentEvent } from '../../models/payment.js';

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
    rotates: true, // `v0` is signed with the previous secret (`apis/webhooks.md` §5)
    parse(event, receivedAt) {
      const read = types.has(event.type) ? readPaymentEvent(event, receivedAt, createdUnit) : null;
      return {
        apiVersion: textOrNull(event.api_version),
        known: read && {
          entityId: read.paymentId,
          event: { ...read, data: null } satisfies PaymentEvent,
          text: JSON.stringify(read),
          undated: readCreated(event.created) === undefined,
        },
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
 * The date-time in UTC that a raw `created` stands for, as exact as the number. A time outside the years 0000 to 9999
 * is clamped to them, so that every number can be written as a date-time.
 */
export function createdTime(created: number, unit: CreatedUnit): string {
  const size = Math.abs(created);
  if (unit === 'auto' && size >= microsFrom) return microTime(created);
  const inSeconds = unit === 'auto' ? size < leastEpochMs : unit === 's';
  const milliseconds = inSeconds ? created * 1000 : created;
  return new Date(Math.min(Math.max(milliseconds, firstMoment), lastMoment)).toISOString();
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
