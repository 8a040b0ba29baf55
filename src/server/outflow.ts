import type { ServerResponse } from 'node:http';

/** Bounds the memory of HTTP answers that wait for their clients to read them. */
export interface Outflow {
  /** Whether an answer of so many characters may be sent; it then counts until it is sent, or its client has gone. */
  admits(response: ServerResponse, length: number): boolean;
}

/** In characters. Shorter answers do not count: the system takes them at once, however slowly the client reads. */
const short = 256 * 1024;
const maxLength = 128 * 1024 * 1024;

/** An outflow of at most so many characters; a single answer is admitted whatever its length. */
export function createOutflow(most = maxLength): Outflow {
  let waiting = 0;
  return {
    admits(response, length) {
      if (length < short || response.closed) return true;
      if (waiting > 0 && waiting + length > most) return false;
      waiting += length;
      response.once('close', () => (waiting -= length));
      return true;
    },
  };
}
