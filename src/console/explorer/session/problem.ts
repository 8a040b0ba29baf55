import { withWait } from '../../parts/words.js';
import type { Answer } from './gateway.js';

/** What went wrong, as the page shows it. */
export interface Problem {
  readonly message: string;
  /** Whether the user can correct it by typing something else. */
  readonly isUserError: boolean;
  /** How many seconds to wait, if the answer says so. */
  readonly retryAfter?: number;
}

/** The first error of an answer, with the time to wait if there is one; undefined if there are no errors. */
export function problemOf({ errors }: Answer): Problem | undefined {
  const error = errors?.[0];
  if (!error) return undefined;
  const retryAfter = error.extensions?.['retryAfter'];
  if (typeof retryAfter !== 'number') return { message: error.message, isUserError: false };
  return { message: `${withWait(error.message, retryAfter)}.`, isUserError: false, retryAfter };
}
