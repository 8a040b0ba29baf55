import type { UserError, UserErrorCode } from '../generated/resolvers.js';

/** The codes that a GraphQL error of this gateway may bear in `extensions.code` (beside GraphQL's own). */
export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'BAD_USER_INPUT'
  | 'CURSOR_INVALID'
  | 'CURSOR_EXPIRED'
  | 'RATE_LIMITED'
  | 'UPSTREAM_UNAVAILABLE'
  | 'UPSTREAM_TIMEOUT'
  | 'UPSTREAM_INVALID_RESPONSE'
  | 'QUERY_TOO_COMPLEX'
  | 'DOCUMENT_NOT_TRUSTED';

/** The cause of an error, and when to try again: for `RATE_LIMITED`, or if a service says so. */
export interface ErrorDetails {
  readonly cause?: unknown;
  /** Seconds, whole, at least 1. */
  readonly retryAfter?: number;
}

/**
 * An error that clients may see: its message is one sentence without a secret or an upstream's text.
 * graphql-js copies `extensions` into the response; every other error is masked before it reaches a client.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly extensions: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, { cause, retryAfter }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'GatewayError';
    this.code = code;
    this.extensions = retryAfter === undefined ? { code } : { code, retryAfter };
  }
}

/** The operation as a whole asks for too much: a query gets this error as its whole answer. */
export class OperationTooComplex extends GatewayError {
  constructor(message: string) {
    super('QUERY_TOO_COMPLEX', message);
    this.name = 'OperationTooComplex';
  }
}

/** There is no memory for what the operation reads, since its caller holds too much already. */
export class Overloaded extends GatewayError {
  constructor() {
    super(
      'RATE_LIMITED',
      'You hold too much memory with what is in progress: ask again later, or for less.',
      {
        retryAfter: 1,
      },
    );
    this.name = 'Overloaded';
  }
}

/** There is no live session. Over HTTP, the message goes on to say what is wrong with the credentials, if any. */
export class NotSignedIn extends GatewayError {
  constructor() {
    super('UNAUTHENTICATED', 'Sign in first.');
    this.name = 'NotSignedIn';
  }
}

/** The notes service answers 401 for this token: the session that holds it has ended. */
export class SessionEnded extends GatewayError {
  constructor() {
    super('UNAUTHENTICATED', 'The session has ended. Sign in again.');
    this.name = 'SessionEnded';
  }
}

/** A fault that the user can correct, at a path below `input`. */
export function userError(code: UserErrorCode, message: string, ...path: readonly string[]): UserError {
  return { code, message, path };
}
