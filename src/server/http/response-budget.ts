import type { ServerResponse } from 'node:http';

/** Bounds the memory of HTTP answers that wait for their clients to read them. */
export interface Outflow {
  /**
   * Whether an answer of so many characters may be sent to a user; it then counts until it is sent, or its client has
   * gone. All who are not signed in count as one user.
   */
  admits(response: ServerResponse, length: number, user: string | undefined): boolean;
}

/** In characters. Shorter answers do not count: the system takes them at once, however slowly the client reads. */
const short = 256 * 1024;
const maxLength = 128 * 1024 * 1024;
/** What one user may have of that. */
const maxShare = 0.25;

/** An outflow of at most so many characters; a single answer to a user is only bounded by what others leave. */
export function createOutflow(most = maxLength): Outflow {
  const byUser = new Map<string | undefined, number>();
  let total = 0;

  function add(user: string | undefined, length: number): void {
    const theirs = (byUser.get(user) ?? 0) + length;
    total += length;
    if (theirs > 0) byUser.set(user, theirs);
    else byUser.delete(user);
  }

  return {
    admits(response, length, user) {
      if (length < short || response.closed) return true;
      const theirs = byUser.get(user) ?? 0;
      if (theirs > 0 && theirs + length > most * maxShare) return false;
      if (total > 0 && total + length > most) return false;
      add(user, length);
      response.once('close', () => add(user, -length));
      return true;
    },
  };
}
