import { instant, leastEpochMs } from '../lib/iso-instant.js';
import type { Reply } from './transport.js';

type Headers = Reply['headers'];
type Header = string | readonly string[] | undefined;

/**
 * Whether the answer means that a rate limit was exceeded; its form is not documented (apis/notes.md §8). Taken as one:
 * a 429, or a 403 that says when to try again or that no calls are left. Without a token, a 403 refuses the caller.
 */
export function isLimit(reply: Reply, hasToken: boolean): boolean {
  if (reply.status !== 403 || !hasToken) return reply.status === 429;
  const { headers } = reply;
  return (
    headers['retry-after'] !== undefined || headers['retry-after-ms'] !== undefined || isExhausted(headers)
  );
}

/**
 * How many seconds to wait before the next call, from 0 to `most`, as exact as the service says it: `retry-after-ms`,
 * `Retry-After` or, unless the service itself has failed, when an exhausted limit resets. Undefined if none of these is
 * there and well-formed.
 */
export function secondsToWait({ status, headers }: Reply, now: number, most: number): number | undefined {
  const ms = numberIn(headers['retry-after-ms']);
  const found =
    (ms === undefined ? undefined : secondsUntil(ms < leastEpochMs ? ms / 1000 : ms, now)) ??
    secondsIn(headers['retry-after'], now) ??
    (status < 500 ? secondsToReset(headers, now) : undefined);
  return found === undefined ? undefined : Math.min(Math.max(found, 0), most);
}

const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/**
 * Until when a header says, from now: seconds, also with a fraction and an `s`; a time since the epoch; an HTTP date in any
 * of its three forms (RFC 9110 §5.6.7); or a date-time of ISO 8601 with an offset.
 */
function secondsIn(value: Header, now: number): number | undefined {
  const text = textIn(value);
  const seconds = numberIn(text.replace(/s$/, ''));
  if (seconds !== undefined) return secondsUntil(seconds, now);
  const isDate = text.endsWith(' GMT') || instant(text) !== undefined;
  const date = Date.parse(asctime.test(text) ? `${text} GMT` : isDate ? text : '');
  return Number.isNaN(date) ? undefined : (date - now) / 1000;
}

/** Too many seconds to wait: from here on a number is a time, in seconds since the epoch, or in milliseconds. */
const leastEpochSeconds = 1e9;

function secondsUntil(given: number, now: number): number {
  if (given < leastEpochSeconds) return given;
  return (given < leastEpochMs ? given : given / 1000) - now / 1000;
}

/** When an exhausted limit resets. If calls are left, the headers are about another limit. */
function secondsToReset(headers: Headers, now: number): number | undefined {
  const told = [...policiesIn(headers), customaryLimit(headers)].flatMap(({ left = 0, reset }) =>
    left === 0 ? (secondsIn(reset, now) ?? []) : [],
  );
  return told.length === 0 ? undefined : Math.max(...told);
}

function isExhausted(headers: Headers): boolean {
  return [...policiesIn(headers), customaryLimit(headers)].some(({ left }) => left === 0);
}

/** A limit as headers tell it: the calls that are left, and until when, as `secondsIn` reads it. */
interface Limit {
  readonly left: number | undefined;
  readonly reset: Header;
}

/** Headers of customary names: neither the services' documents nor a standard define any. */
function customaryLimit(headers: Headers): Limit {
  const named = (what: string) =>
    headers[`x-ratelimit-${what}`] ?? headers[`ratelimit-${what}`] ?? headers[`x-rate-limit-${what}`];
  return { left: numberIn(named('remaining')), reset: named('reset-after') ?? named('reset') };
}

/**
 * `RateLimit` of the IETF's draft: `"policy";r=0;t=30`, one or several; in its earlier versions
 * `limit=100, remaining=0, reset=30`.
 */
function policiesIn(headers: Headers): readonly Limit[] {
  const text = textIn(headers['ratelimit']).replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'); // names may have any characters
  if (text === '') return [];
  const policies = /\bremaining\s*=/.test(text) ? [text] : text.split(',');
  return policies.map((policy) => ({
    left: numberIn(/\b(?:r|remaining)\s*=\s*([\d.]+)/.exec(policy)?.[1]),
    reset: /\b(?:t|reset)\s*=\s*([\d.]+)/.exec(policy)?.[1],
  }));
}

function textIn(value: Header): string {
  return value === undefined ? '' : String(value).trim();
}

/** Where a header came more than once, or its values were joined, the first counts. */
function numberIn(value: Header): number | undefined {
  const [, first] = /^(\d+(?:\.\d+)?)\s*(?:,.*)?$/.exec(textIn(value)) ?? [];
  return first === undefined ? undefined : Number(first);
}
