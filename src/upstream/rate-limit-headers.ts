import { leastEpochMs } from '../lib/iso-instant.js';
import type { Reply } from './transport.js';

const byteOrderMark = '\ufeff';

/** The JSON of a body, whatever its content type says; undefined if it is empty or not JSON. */
export function parse(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    const text = body.toString();
    // A parser may ignore a byte order mark (RFC 8259 §8.1).
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/**
 * Whether the answer means that a rate limit was exceeded; its form is not documented (apis/notes.md §8). Taken as one:
 * a 429, or a 403 that says when to try again or that no calls are left. Without a token, a 403 refuses the caller.
 */
export function isLimit(reply: Reply, hasToken: boolean): boolean {
  if (reply.status !== 403 || !hasToken) return reply.status === 429;
  const { headers } = reply;
  return headers['retry-after'] !== undefined || limitHeader(headers, 'remaining') === '0';
}

const daySeconds = 86_400;
const hourSeconds = 3600;
const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/**
 * `Retry-After`, in seconds or as an HTTP date in any of its three forms (RFC 9110 §5.6.7), as whole seconds from 0 to a
 * day, so that no mistake in it stops calls for good; undefined if absent or malformed.
 */
export function secondsToWait({ headers }: Reply, now: number): number | undefined {
  const text = String(headers['retry-after']).trim();
  if (/^\d+$/.test(text)) return bounded(Number(text), daySeconds);
  const date = asctime.test(text) ? `${text} GMT` : text;
  return date.endsWith(' GMT') ? bounded((Date.parse(date) - now) / 1000, daySeconds) : undefined;
}

/** Too many seconds to wait: from here on a number is a time, in seconds since the epoch. */
const leastEpochSeconds = 1e9;

/**
 * When an exhausted limit resets, likewise, but within an hour, as the documented limit is per hour (apis/notes.md §8);
 * services give it in seconds, or as a time in seconds or milliseconds since the epoch.
 */
export function secondsToReset({ headers }: Reply, now: number): number | undefined {
  // If calls are left, the headers are about another limit.
  if ((limitHeader(headers, 'remaining') ?? '0') !== '0') return undefined;
  const text = limitHeader(headers, 'reset') ?? '';
  const given = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  const reset = given < leastEpochMs ? given : given / 1000;
  return bounded(reset < leastEpochSeconds ? reset : reset - now / 1000, hourSeconds);
}

/** Headers of customary names: neither the services' documents nor a standard define any. */
function limitHeader(headers: Reply['headers'], what: 'remaining' | 'reset'): string | undefined {
  const value = headers[`x-ratelimit-${what}`] ?? headers[`ratelimit-${what}`];
  return value === undefined ? undefined : String(value).trim();
}

function bounded(seconds: number, most: number): number | undefined {
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), most);
}
