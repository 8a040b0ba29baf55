import { randomBytes } from 'node:crypto';
import { ExponentialBackoff, handleAll, retry } from 'cockatiel';
import type { Clock } from '../../lib/clock.js';
import { GatewayError, SessionEnded } from '../../graphql/errors.js';
import type { IssuedToken, NotesClient } from '../notes/service/client.js';
import { foldAscii } from '../../lib/case-fold.js';
import { createCache, ownText } from '../../lib/cache/cache.js';
import { digest, type Sealer } from '../../lib/sealer.js';
import type { RateLimit } from '../../lib/rate-limit.js';
import type { Signal } from '../../lib/async/abort.js';
import type { Database } from '../../store/database.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createWarnings } from '../../lib/telemetry/rate-limited-log.js';
import { createKeyv } from '../../store/sealed-keyv.js';
import { UpstreamError } from '../../upstream/errors.js';
import { createFamiliarNetworks } from './familiar-networks.js';
import type { Grants } from './grants.js';
import type { User } from '../../models/user.js';
import { networkOf } from './network.js';
import type { Session } from './session.js';
import { createStoredSessions } from './stored-sessions.js';
import { createThrottle } from './sign-in-throttle.js';
import { toUser } from './user.js';
import { createWatchers, type Watchers } from './session-watchers.js';

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

interface SignInOrigin {
  readonly ip: string;
  /** Called with what is left of the limits of failures, once the attempt counts, however it ends. */
  readonly onLimits?: (limits: readonly RateLimit[]) => void;
}

/** Sessions, the same on every replica: clients hold opaque 256-bit tokens; the notes tokens are stored sealed. */
export interface Sessions extends Pick<Watchers, 'watch'> {
  /**
   * Trades credentials for a session (`apis/notes.md` §5); `RATE_LIMITED` after too many failures. Makes no call if
   * `signal` is aborted by the time that the attempt has its turn.
   */
  signIn(credentials: Credentials & SignInOrigin): Promise<SignedIn | 'WRONG_CREDENTIALS'>;
  /** The live session of a token; not a promise if it was opened or looked up here within the last seconds. */
  find(token: string): Session | undefined | Promise<Session | undefined>;
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

const cacheMs = 5_000;
const maxCached = 10_000;
/** Between two warnings: anybody can cause refused sign-ins. */
const quietMs = 60_000;
const crowdedNetwork =
  'sign-ins from one network are refused after a hundred failures: if it is the network of a proxy, see TRUST_PROXY';
/** The maximum life of a session, whatever the service says of its token's. */
const maxLifetimeMs = 366 * 24 * 3_600_000;

/** How a session is revoked while the database fails. */
const persistence = { maxAttempts: Infinity, backoff: new ExponentialBackoff({ maxDelay: 3_000 }) };

const isWrong = (settled: PromiseSettledResult<unknown>) =>
  settled.status === 'fulfilled' && settled.value === 'WRONG_CREDENTIALS';

/** Whether the service was asked, and failed. */
const hasFailed = (settled: PromiseSettledResult<unknown>) =>
  settled.status === 'rejected' && settled.reason instanceof UpstreamError && settled.reason.uncertain;

/** Sessions stored in the database. */
export function createSessions(options: {
  readonly database: Database;
  readonly notes: NotesClient;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly grants: Grants;
  readonly telemetry: Telemetry;
}): Sessions {
  const { database, notes, clock, grants, telemetry } = options;
  const stored = createStoredSessions(options);
  const watchers = createWatchers({ standing: stored.standing, onEnded: forget, clock, telemetry });
  const cache = new Map<string, { readonly session: Session; readonly until: number }>();
  /** Digests of tokens whose sessions were found: making one takes longer than the rest of finding a session. */
  const digests = createCache<string>(maxCached);
  /** Counts the endings seen: what was read from the store before one may be out of date after it. */
  let endingsSeen = 0;
  /** Sessions that are being deleted from the store: they count as ended already. */
  const beingEnded = new Set<string>();
  /** Sessions that are being revoked, however many attempts that takes: they count as ended, too. */
  const beingRevoked = new Set<string>();
  const warnSeldom = createWarnings(telemetry, { quietMs });
  const stopped = new AbortController();
  const persistently = retry(handleAll, persistence).dangerouslyUnref();
  persistently.onRetry((failure) => {
    warnSeldom('a session could not be ended; retrying', () => ({
      err: 'error' in failure && failure.error,
    }));
  });
  const window = { windowMs: 15 * 60_000, clock };
  const byAddress = createThrottle({ ...window, name: 'sign-in', limit: 10 });
  const byNetwork = createThrottle({
    ...window,
    name: 'sign-in-network',
    limit: 100,
    onRefused: () => warnSeldom(crowdedNetwork),
  });
  /** Of those at which the service fails. Shorter: its failures may be its own. */
  const failing = createThrottle({ name: 'sign-in-service', windowMs: 60_000, clock, limit: 20 });
  const familiar = createFamiliarNetworks({ keyv: createKeyv({ ...options, namespace: 'networks' }), clock });

  function remember(token: string, session: Session): void {
    const { sessionId } = session.caller;
    digests.set(ownText(token), sessionId); // the client's own text would keep its headers in memory
    cache.delete(sessionId);
    cache.set(sessionId, { session, until: clock.now() + cacheMs });
    if (cache.size > maxCached) cache.delete(cache.keys().next().value!);
  }

  async function lookUp(token: string, id: string): Promise<Session | undefined> {
    const before = endingsSeen;
    const session = await stored.load(id);
    if (!session || session.expiresAt <= clock.now()) return undefined;
    if (before === endingsSeen) remember(token, session);
    return session;
  }

  function forget(id: string): void {
    endingsSeen += 1;
    cache.delete(id);
    watchers.tell(id);
  }

  /** Any session may have ended unseen: called when signals were lost, at an unknown time. */
  function recheckAll(): void {
    endingsSeen += 1;
    cache.clear();
    watchers.recheck();
  }

  const unlistenGrants = grants.onReplaced((hasLost) =>
    watchers.tellRestricted(({ caller }) => hasLost(caller.email)),
  );
  const unlisten = database.listen('sessions', (id) => (id === '' ? recheckAll() : forget(id)));

  async function whoIs({ token }: IssuedToken): Promise<User> {
    try {
      return toUser(await notes.me(token));
    } catch (cause) {
      if (!(cause instanceof SessionEnded)) throw cause;
      // Not `SessionEnded`: the caller may be signed in already, and that session has not ended.
      throw new GatewayError(
        'UPSTREAM_INVALID_RESPONSE',
        'The notes service rejected the token that it had just issued.',
        { cause },
      );
    }
  }

  /** Signs in, without throttling. */
  async function exchange({
    email,
    password,
    network,
    signal,
  }: Credentials & { readonly network: string }): Promise<SignedIn | 'WRONG_CREDENTIALS'> {
    // Not passed on: a password that was sent has to be counted if it is wrong.
    if (signal.aborted)
      throw new GatewayError('UPSTREAM_TIMEOUT', 'The operation ended before the sign-in began.');
    const issued = await notes.signIn(email, password, network);
    if (issued === 'WRONG_CREDENTIALS') return issued;
    const user = await whoIs(issued);
    const token = randomBytes(32).toString('base64url');
    const session = await stored.insert({
      id: digest(token),
      userId: user.upstreamId,
      email: user.email,
      notesToken: issued.token,
      expiresAt: Math.floor(Math.min(issued.expiresAt, clock.now() + maxLifetimeMs)),
    });
    remember(token, session);
    return { token, session, user };
  }

  /** Where an address is familiar, it is locked neither by guesses from elsewhere nor by its neighbours' failures. */
  async function attempt(
    credentials: Credentials & { readonly network: string; readonly onKey: (key: string) => void },
  ) {
    const { email, network, onKey } = credentials;
    const address = digest(foldAscii(email.trim()));
    const pair = digest(`${address} ${network}`);
    const isFamiliar = await familiar.has(pair);
    const key = isFamiliar ? pair : address;
    onKey(key);
    const run = () => failing.attempt(isFamiliar ? pair : network, () => exchange(credentials), hasFailed);
    const outcome = await byAddress.attempt(key, run, isWrong);
    if (outcome !== 'WRONG_CREDENTIALS') await familiar.add(pair);
    return outcome;
  }

  async function end(sessionId: string): Promise<void> {
    beingEnded.add(sessionId);
    try {
      await stored.delete(sessionId);
      forget(sessionId);
    } finally {
      beingEnded.delete(sessionId);
    }
    database.signal('sessions', sessionId);
  }

  async function tryToRevoke(sessionId: string): Promise<void> {
    stopped.signal.throwIfAborted();
    try {
      await end(sessionId);
    } catch (error) {
      forget(sessionId); // its websockets here close all the same
      throw error;
    }
  }

  return {
    async signIn({ ip, onLimits, ...credentials }) {
      const network = networkOf(ip);
      const limits = [() => byNetwork.limitOf(network)];
      const onKey = (key: string) => void limits.unshift(() => byAddress.limitOf(key));
      const run = () => attempt({ ...credentials, network, onKey });
      const outcome = await byNetwork
        .attempt(network, run, isWrong)
        .finally(() => onLimits?.(limits.map((limit) => limit())));
      const about = { audit: true, requestId: credentials.signal.origin?.requestId };
      if (outcome === 'WRONG_CREDENTIALS') telemetry.log.info({ ...about, network }, 'refused a sign-in');
      else telemetry.log.info({ ...about, userId: outcome.user.upstreamId }, 'signed in');
      return outcome;
    },
    find(token) {
      const id = digests.get(token) ?? digest(token);
      if (beingEnded.has(id) || beingRevoked.has(id)) return undefined;
      const cached = cache.get(id);
      const now = clock.now();
      if (!cached || cached.until <= now) return lookUp(token, id);
      return cached.session.expiresAt > now ? cached.session : undefined;
    },
    async signOut(sessionId, about) {
      await end(sessionId);
      telemetry.log.info({ audit: true, ...about }, 'signed out');
    },
    end,
    revoke(sessionId) {
      if (beingRevoked.has(sessionId)) return;
      beingRevoked.add(sessionId);
      persistently
        .execute(() => tryToRevoke(sessionId), stopped.signal)
        .then(() => beingRevoked.delete(sessionId))
        .catch(() => undefined); // stopped
    },
    watch: watchers.watch,
    stop() {
      stopped.abort();
      unlisten();
      unlistenGrants();
      watchers.stop();
    },
  };
}
