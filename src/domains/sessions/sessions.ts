import { randomBytes } from 'node:crypto';
import type { Clock } from '../../lib/clock.js';
import { GatewayError, SessionEnded } from '../../graphql/errors.js';
import type { IssuedToken, NotesClient } from '../notes/service/client.js';
import { createCache, ownText } from '../../lib/cache/cache.js';
import { digest, type Sealer } from '../../lib/sealer.js';
import { createConcurrencyLimit } from '../../lib/async/concurrency-limit.js';
import { growingPauses, retry } from '../../lib/async/retry.js';
import { withTimeout } from '../../lib/async/timeout.js';
import { LightAbortController, type Signal } from '../../lib/async/abort.js';
import type { Database } from '../../store/database.js';
import { UpstreamError } from '../../upstream/errors.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createWarnings, type Warn } from '../../lib/telemetry/rate-limited-log.js';
import type { Grants } from './grants.js';
import type { User } from '../../models/user.js';
import { networkOf } from './network.js';
import type { Session } from './session.js';
import { createStoredSessions, type StoredSessions } from './stored-sessions.js';
import { ThrottledSignIn, type SignInAttempt } from './throttled-sign-in.js';
import { toUser } from './user.js';
import { SessionWatchers } from './session-watchers.js';

/** The result of a sign-in; the session's token is returned only here. */
export interface SignedIn {
  readonly token: string;
  readonly session: Session;
  readonly user: User;
}

interface Credentials {
  readonly email: string;
  readonly password: string;
  readonly signal: Signal;
}

interface SignInOrigin extends Pick<SignInAttempt, 'onLimits'> {
  readonly ip: string;
}

/** Sessions, the same on every replica: clients hold opaque 256-bit tokens; the notes tokens are stored sealed. */
export interface Sessions extends Pick<SessionWatchers, 'watch'> {
  /**
   * Trades credentials for a session (`apis/notes.md` §5); `RATE_LIMITED` after too many failures. Makes no call if
   * `signal` is aborted by the time that the attempt has its turn.
   */
  signIn(credentials: Credentials & SignInOrigin): Promise<SignedIn | 'WRONG_CREDENTIALS'>;
  /** The live session of a token; not a promise if it was opened or looked up here within the last seconds. */
  find(token: string): Session | undefined | Promise<Session | undefined>;
  /** The id of a token's session, if `find` has lately found it here; it may have ended since. */
  idOf(token: string): string | undefined;
  /** As `end`, because its user wants it; the log says so. */
  signOut(sessionId: string, about: { readonly userId: string; readonly requestId: string }): Promise<void>;
  /** Ends a session here and on every replica; its watchers are called. */
  end(sessionId: string): Promise<void>;
  /**
   * Ends a session whose notes token is no longer valid. While that cannot be stored, it is retried; here the session is
   * not found, and its watchers are called, all the same.
   */
  revoke(sessionId: string): void;
  stop(): void;
}

/** Anybody can send unknown tokens: their look-ups leave connections of the database to others. */
const lookUpsAtOnce = 4;
/** How long a look-up may take, its wait included. */
const lookUpMs = 5_000;
const cacheMs = 5_000;
const maxCached = 10_000;
/** Between two warnings: anybody can cause refused sign-ins. */
const quietMs = 60_000;
const rejectedToken =
  'the notes service rejected a token that it had just issued: if it is another text of its answer, see NOTES_TOKEN_FIELD';
/** The maximum life of a session, whatever the service says of its token's. */
const maxLifetimeMs = 366 * 24 * 3_600_000;

/** How a session is revoked while the database fails. */
const revocationPauses = growingPauses({ firstMs: 100, maxMs: 3_000, spread: true });

interface SessionsOptions {
  readonly database: Database;
  readonly notes: NotesClient;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly grants: Grants;
  readonly telemetry: Telemetry;
}

/** Sessions stored in the database. */
export function createSessions(options: SessionsOptions): Sessions {
  return new GatewaySessions(options);
}

class GatewaySessions implements Sessions {
  readonly #options: SessionsOptions;
  readonly #stored: StoredSessions;
  readonly #watchers: SessionWatchers;
  readonly #cache = new Map<string, { readonly session: Session; readonly until: number }>();
  /** Digests of tokens whose sessions were found: making one takes longer than the rest of finding a session. */
  readonly #digests = createCache<string>(maxCached);
  readonly #inTurn = createConcurrencyLimit(lookUpsAtOnce);
  /** Counts the endings seen: what was read from the store before one may be out of date after it. */
  #endingsSeen = 0;
  /** Sessions that are being deleted from the store: they count as ended already. */
  readonly #beingEnded = new Set<string>();
  /** Sessions that are being revoked, however many attempts that takes: they count as ended, too. */
  readonly #beingRevoked = new Set<string>();
  readonly #stopped = new AbortController();
  readonly #warnSeldom: Warn;
  readonly #signIns: ThrottledSignIn;
  readonly #unlistenGrants: () => void;
  readonly #unlisten: () => void;

  constructor(options: SessionsOptions) {
    this.#options = options;
    const { database, clock, grants, telemetry } = options;
    this.#stored = createStoredSessions(options);
    this.#watchers = new SessionWatchers({
      standing: (ids) => this.#stored.standing(ids),
      onEnded: this.#forget,
      clock,
      telemetry,
    });
    this.#warnSeldom = createWarnings(telemetry, { quietMs });
    this.#signIns = new ThrottledSignIn(options);
    this.#unlistenGrants = grants.onReplaced((hasLost) =>
      this.#watchers.tellRestricted(({ caller }) => hasLost(caller.email)),
    );
    this.#unlisten = database.listen('sessions', (id) => (id === '' ? this.#recheckAll() : this.#forget(id)));
  }

  async end(sessionId: string): Promise<void> {
    this.#beingEnded.add(sessionId);
    try {
      await this.#stored.delete(sessionId);
      this.#forget(sessionId);
    } finally {
      this.#beingEnded.delete(sessionId);
    }
    this.#options.database.signal('sessions', sessionId);
  }

  async signIn({
    ip,
    onLimits,
    ...credentials
  }: Credentials & SignInOrigin): Promise<SignedIn | 'WRONG_CREDENTIALS'> {
    const network = networkOf(ip);
    const attempt = { email: credentials.email, network, onLimits };
    const outcome = await this.#signIns.attempt(attempt, () => this.#exchange({ ...credentials, network }));
    const about = { audit: true, requestId: credentials.signal.origin?.requestId };
    if (outcome === 'WRONG_CREDENTIALS')
      this.#options.telemetry.log.info({ ...about, network }, 'refused a sign-in');
    else this.#options.telemetry.log.info({ ...about, userId: outcome.user.upstreamId }, 'signed in');
    return outcome;
  }

  find(token: string): Session | undefined | Promise<Session | undefined> {
    const id = this.#digests.get(token) ?? digest(token);
    if (this.#beingEnded.has(id) || this.#beingRevoked.has(id)) return undefined;
    const cached = this.#cache.get(id);
    const now = this.#options.clock.now();
    if (!cached || cached.until <= now) return this.#lookUp(token, id);
    return cached.session.expiresAt > now ? cached.session : undefined;
  }

  idOf(token: string): string | undefined {
    return this.#digests.get(token);
  }

  async signOut(
    sessionId: string,
    about: { readonly userId: string; readonly requestId: string },
  ): Promise<void> {
    await this.end(sessionId);
    this.#options.telemetry.log.info({ audit: true, ...about }, 'signed out');
  }

  revoke(sessionId: string): void {
    if (this.#beingRevoked.has(sessionId)) return;
    this.#beingRevoked.add(sessionId);
    const pauseMs = (failures: number, err: unknown) => {
      this.#warnSeldom('a session could not be ended; retrying', () => ({ err }));
      return revocationPauses(failures);
    };
    retry(() => this.#tryToRevoke(sessionId), { pauseMs, isWanted: () => !this.#stopped.signal.aborted })
      .then(() => this.#beingRevoked.delete(sessionId))
      .catch(() => undefined); // stopped
  }

  watch(...watched: Parameters<Sessions['watch']>): () => void {
    return this.#watchers.watch(...watched);
  }

  stop(): void {
    this.#stopped.abort();
    this.#unlisten();
    this.#unlistenGrants();
    this.#watchers.stop();
  }

  #remember(token: string, session: Session): void {
    const { sessionId } = session.caller;
    this.#digests.set(ownText(token), sessionId); // the client's own text would keep its headers in memory
    this.#cache.delete(sessionId);
    this.#cache.set(sessionId, { session, until: this.#options.clock.now() + cacheMs });
    if (this.#cache.size > maxCached) this.#cache.delete(this.#cache.keys().next().value!);
  }

  async #lookUp(token: string, id: string): Promise<Session | undefined> {
    const before = this.#endingsSeen;
    const session = await this.#load(id, this.#digests.get(token) === undefined ? 'unknown' : 'known');
    if (!session || session.expiresAt <= this.#options.clock.now()) return undefined;
    if (before === this.#endingsSeen) this.#remember(token, session);
    return session;
  }

  /** Rejects if its turn does not come in time, as while the database does not answer. */
  #load(id: string, lane: string): Promise<Session | undefined> {
    const latest = performance.now() + lookUpMs;
    const load = () => {
      if (performance.now() > latest) throw new Error('The turn of a session to be looked up came too late.');
      return this.#stored.load(id);
    };
    return withTimeout(lookUpMs, this.#inTurn(load, lane), 'The session was not looked up');
  }

  readonly #forget = (id: string): void => {
    this.#endingsSeen += 1;
    this.#cache.delete(id);
    this.#watchers.tell(id);
  };

  /** Any session may have ended unseen: called when signals were lost, at an unknown time. */
  #recheckAll(): void {
    this.#endingsSeen += 1;
    this.#cache.clear();
    this.#watchers.recheck();
  }

  async #whoIs({ token }: IssuedToken, network: string, signal: Signal): Promise<User> {
    try {
      return toUser(await this.#options.notes.me(token, signal, network));
    } catch (cause) {
      if (!(cause instanceof SessionEnded)) throw cause;
      // Not `SessionEnded`: the caller may be signed in already, and that session has not ended.
      this.#warnSeldom(rejectedToken);
      throw new UpstreamError('notes', 'rejected', { uncertain: true, cause });
    }
  }

  /** Trades the credentials for a session, without throttling. */
  async #exchange({
    email,
    password,
    network,
    signal,
  }: Credentials & { readonly network: string }): Promise<SignedIn | 'WRONG_CREDENTIALS'> {
    // Later, its end is not passed on: a password that was sent has to be counted if it is wrong.
    if (signal.aborted)
      throw new GatewayError('UPSTREAM_TIMEOUT', 'The operation ended before the sign-in began.');
    const unending = new LightAbortController(undefined, signal.origin);
    const issued = await this.#options.notes.signIn(email, password, network, unending);
    if (issued === 'WRONG_CREDENTIALS') return issued;
    const user = await this.#whoIs(issued, network, unending);
    const token = randomBytes(32).toString('base64url');
    const session = await this.#stored.insert({
      id: digest(token),
      userId: user.upstreamId,
      email: user.email,
      notesToken: issued.token,
      expiresAt: Math.floor(Math.min(issued.expiresAt, this.#options.clock.now() + maxLifetimeMs)),
    });
    this.#remember(token, session);
    return { token, session, user };
  }

  async #tryToRevoke(sessionId: string): Promise<void> {
    try {
      await this.end(sessionId);
    } catch (error) {
      this.#forget(sessionId); // its websockets here close all the same
      throw error;
    }
  }
}
