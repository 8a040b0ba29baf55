import { type Caller, requireCaller, type OperationContext } from '../../graphql/caller.js';
import { userError } from '../../graphql/errors.js';
import type { Grant, Resolvers, SignInInput, UserError } from '../../generated/resolvers.js';
import type { RateLimit } from '../../lib/rate-limit.js';
import type { User } from '../../models/user.js';
import type { Session } from './session.js';
import type { Sessions } from './sessions.js';

/** The context of the session resolvers. */
export interface SessionsContext extends OperationContext {
  readonly requestId: string;
  /** Null after `signOut`: the rest of the document is anonymous. */
  caller: Caller | null;
  readonly sessions: Sessions;
  /** The signed-in user, read at most once per operation; used for signed-in callers only. */
  me(): Promise<User>;
  readonly grantsOf: (email: string) => ReadonlySet<Grant>;
  /** The client's address, for throttling; present on transports where one may sign in. */
  readonly ip?: string | undefined;
  /** Has the answer tell what is left of these limits. */
  tellLimits(limits: readonly RateLimit[]): void;
  /** The browser's session cookie, on transports that have one. */
  readonly cookie?: SessionCookie | undefined;
}

/** The session cookie of the browser that sent the operation. */
interface SessionCookie {
  /** The live session that the browser sent it for. */
  session(): Session | undefined | Promise<Session | undefined>;
  set(token: string, expiresAt: number): void;
  clear(): void;
}

function credentialErrors(input: SignInInput): UserError[] {
  return (['email', 'password'] as const)
    .filter((name) => !input[name])
    .map((name) => userError('REQUIRED', `Enter your ${name}.`, name));
}

const failed = (errors: readonly UserError[]) => ({
  sessionToken: null,
  expiresAt: null,
  viewer: null,
  errors,
});

/**
 * Ends the session whose cookie is about to be replaced, as nobody could end it later, nor its live updates. Whatever
 * fails, the new session must not be lost: nobody could end that.
 */
async function endReplaced({ cookie, sessions }: SessionsContext): Promise<Session | undefined> {
  let replaced: Session | undefined;
  try {
    replaced = await cookie?.session();
    if (replaced) await sessions.end(replaced.caller.sessionId);
  } catch {
    if (replaced) sessions.revoke(replaced.caller.sessionId);
  }
  return replaced;
}

/** Sign-in, sign-out and the viewer. */
export const sessionsResolvers: Resolvers<SessionsContext> = {
  Query: {
    viewer: (_, __, context) => (context.caller ? context.me() : null),
  },
  Mutation: {
    async signIn(_, { input }, context) {
      const { sessions, ip, cookie, signal } = context;
      const { email, password } = input;
      if (!email || !password) return failed(credentialErrors(input));
      if (ip === undefined)
        throw new Error('Sign-in needs the IP address of the client, which is not known here.');
      const outcome = await sessions.signIn({
        email,
        password,
        ip,
        signal,
        onLimits: (limits) => context.tellLimits(limits),
      });
      if (outcome === 'WRONG_CREDENTIALS')
        return failed([userError(outcome, 'The e-mail address or the password is wrong.')]);
      const { token, session, user } = outcome;
      const replaced = await endReplaced(context);
      // A later mutation of the same document is not by the session that has ended.
      if (replaced?.caller.sessionId === context.caller?.sessionId) context.caller = null;
      cookie?.set(token, session.expiresAt);
      return {
        sessionToken: token,
        expiresAt: new Date(session.expiresAt).toISOString(),
        viewer: user,
        errors: [],
      };
    },
    async signOut(_, __, context) {
      const { sessionId, userId } = requireCaller(context);
      const byCookie = await context.cookie?.session();
      await context.sessions.signOut(sessionId, { userId, requestId: context.requestId });
      context.caller = null;
      // A bearer token may be that of another session, which the browser keeps.
      if (!byCookie || byCookie.caller.sessionId === sessionId) context.cookie?.clear();
      return { signedOut: true, errors: [] };
    },
  },
  User: {
    // A session has the grants of the address that it began with, even if the user's address has changed since.
    grants: ({ upstreamId, email }, _, { caller, grantsOf }) => [
      ...(caller?.userId === upstreamId ? caller.grants : grantsOf(email)),
    ],
  },
};

/** Users by the id in their global id: the caller themself, else null. */
export const sessionNodes = {
  async User(id: string, context: SessionsContext): Promise<User | null> {
    return id === context.caller?.userId ? context.me() : null;
  },
};
