import type { GraphQLFormattedError } from 'graphql';

/** What the gateway answers to an operation. */
export interface Answer<Data = unknown> {
  readonly data?: Data | null;
  readonly errors?: readonly GraphQLFormattedError[];
}

/** More about a failure. */
export interface FailureDetails {
  readonly errors?: readonly GraphQLFormattedError[];
  readonly data?: unknown;
  readonly status?: number | undefined;
  readonly cause?: unknown;
}

/**
 * Why an operation failed. `code` is the first error's `extensions.code`, as the gateway documents them, or one of the
 * client's own: `GRAPHQL_ERROR` (the first error has no code, or there is neither data nor an error), `UNREACHABLE` (no
 * answer came: the network, or an origin that the gateway does not allow), `NOT_GRAPHQL` (something else answered, such as a
 * proxy with a page), `TOO_SLOW` (a thousand updates wait for a consumer), for live lists `DISPOSED` (by `dispose`), and for
 * the clients with a cache `SESSION_CHANGED` (the answer is for somebody who is not signed in any more; whether a mutation
 * took place is not known).
 */
export class TriviumError extends Error {
  override readonly name = 'TriviumError';
  readonly code: string;
  /** All errors of the answer; empty if there was none. */
  readonly errors: readonly GraphQLFormattedError[];
  /** What the answer had besides the errors. */
  readonly data: unknown;
  /** The status of the HTTP response, if there was one. */
  readonly status: number | undefined;
  /** After how many seconds to try again, if the gateway says so. */
  readonly retryAfter: number | undefined;

  constructor(code: string, message: string, details: FailureDetails = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.errors = details.errors ?? [];
    this.data = details.data;
    this.status = details.status;
    const retryAfter = this.errors[0]?.extensions?.['retryAfter'];
    this.retryAfter = typeof retryAfter === 'number' ? retryAfter : undefined;
  }
}

/** The failure that an answer with errors stands for. */
export function failureOf({ errors = [], data }: Answer, status?: number): TriviumError {
  const [first] = errors;
  const code = first?.extensions?.['code'];
  return new TriviumError(
    typeof code === 'string' ? code : 'GRAPHQL_ERROR',
    first?.message ?? 'The answer has no data.',
    { errors, data, status },
  );
}

/** `INTERNAL_SERVER_ERROR` is also what the gateway answers while its own database is down. */
const passing = /^(UNREACHABLE|NOT_GRAPHQL|RATE_LIMITED|INTERNAL_SERVER_ERROR|UPSTREAM_.+)$/;

/** Whether the same may succeed when it is tried again. */
export function isPassing({ code }: TriviumError): boolean {
  return passing.test(code);
}

/** Whether the log can no longer be read from a cursor: all is to be asked for again. */
export function isPlaceLost({ code }: TriviumError): boolean {
  return code === 'CURSOR_EXPIRED' || code === 'CURSOR_INVALID';
}

/** The failure of a caller without a session. */
export function unauthenticated(cause: unknown): TriviumError {
  return new TriviumError('UNAUTHENTICATED', 'Nobody is signed in, or the session has ended.', { cause });
}
