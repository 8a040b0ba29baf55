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

/** Which answer means an exceeded limit is not shown (apis/notes.md §8). Without a token, a 403 refuses the caller. */
export function isLimit({ status, headers }: Reply, hasToken: boolean): boolean {
  return status === 429 || (status === 403 && hasToken && headers['retry-after'] !== undefined);
}

const mostSeconds = 3600;

/** `Retry-After`, in seconds or as an HTTP date, as whole seconds from 0 to 3600; undefined where it does not tell. */
export function secondsToWait({ headers }: Reply, now: number): number | undefined {
  const text = String(headers['retry-after']).trim();
  const date = text.endsWith(' GMT') ? Date.parse(text) : NaN;
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((date - now) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), mostSeconds);
}
