import { GatewayError, NotSignedIn } from './errors.js';
import type { Grant } from '../generated/resolvers.js';
import type { Signal } from '../lib/async/abort.js';

/** Who is calling: one live session. Holds no token. */
export interface Caller {
  /** The session's key in the store (a digest of its token): fit for comparing, not for signing in. */
  readonly sessionId: string;
  /** The notes service's id of the user. */
  readonly userId: string;
  readonly email: string;
  /** Those of this moment: they may change while a session lasts. */
  readonly grants: ReadonlySet<Grant>;
}

/** A context slice that says who is calling; null for an anonymous caller. */
export interface CallerContext {
  readonly caller: Caller | null;
}

/** The part of an operation's context that every domain has. */
export interface OperationContext extends CallerContext {
  /** Aborted at the operation's deadline, or when its client is gone. */
  readonly signal: Signal;
  /** The cursor that takes the place of a subscription's `after`: the `Last-Event-ID` of a stream. */
  readonly resumeAfter?: string | undefined;
}

/** Returns the caller; throws `UNAUTHENTICATED` if there is no session. */
export function requireCaller({ caller }: CallerContext): Caller {
  if (!caller) throw new NotSignedIn();
  return caller;
}

/** The caller, who holds this grant; or `UNAUTHENTICATED` or `FORBIDDEN`. */
export function requireGrant(context: CallerContext, grant: Grant): Caller {
  const caller = requireCaller(context);
  if (!hasGrant(context, grant)) throw new GatewayError('FORBIDDEN', `This needs the grant ${grant}.`);
  return caller;
}

/** Whether the caller is signed in and holds this grant. */
export function hasGrant({ caller }: CallerContext, grant: Grant): boolean {
  return caller?.grants.has(grant) ?? false;
}
