import type { Reply } from './exchange.js';

const byteOrderMark = '\ufeff';

/** The JSON of a body, whatever its content type says; undefined where it is empty or something else. */
export function parse(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    const text = body.toString();
    // A parser may ignore it (RFC 8259 §8.1).
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

/**
 * Whether the answer means that a limit was exceeded, which is not shown (apis/notes.md §8): a 429, or a 403 that says
 * when to come again, or that no calls are left. Without a token, a 403 refuses the caller.
 */
export function isLimit(reply: Reply, hasToken: boolean): boolean {
  if (reply.status !== 403 || !hasToken) return reply.status === 429;
  const { headers } = reply;
  return headers['retry-after'] !== undefined || limitHeader(headers, 'remaining') === '0';
}

const mostSeconds = 3600;

/** `Retry-After`, in seconds or as an HTTP date, as whole seconds from 0 to 3600; undefined where it does not tell. */
export function secondsToWait({ headers }: Reply, now: number): number | undefined {
  const text = String(headers['retry-after']).trim();
  const date = text.endsWith(' GMT') ? Date.parse(text) : NaN;
  return bounded(/^\d+$/.test(text) ? Number(text) : (date - now) / 1000);
}

/** Nobody is to wait for so many seconds: from here on it is a time, in seconds since the epoch. */
const leastTime = 1e9;

/** When a limit that is used up begins anew, likewise; told in seconds, or as a time in seconds since the epoch. */
export function secondsToReset({ headers }: Reply, now: number): number | undefined {
  // Where calls are left, it is another limit than this one.
  if ((limitHeader(headers, 'remaining') ?? '0') !== '0') return undefined;
  const text = limitHeader(headers, 'reset') ?? '';
  const reset = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  return bounded(reset < leastTime ? reset : reset - now / 1000);
}

/** Headers of usual names: no document of the services, nor a standard, has any. */
function limitHeader(headers: Reply['headers'], what: 'remaining' | 'reset'): string | undefined {
  const value = headers[`x-ratelimit-${what}`] ?? headers[`ratelimit-${what}`];
  return value === undefined ? undefined : String(value).trim();
}

function bounded(seconds: number): number | undefined {
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(Math.ceil(seconds), 0), mostSeconds);
}
