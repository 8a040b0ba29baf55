import { randomBytes } from 'node:crypto';
import type { Caller } from '../caller.js';
import type { Clock } from '../clock.js';
import { GatewayError, SessionEnded } from '../errors.js';
import type { IssuedToken, NotesClient } from '../notes/client.js';
import { createCache, ownText } from '../cache.js';
import { digest, type Sealer } from '../seal.js';
import type { Database } from '../store/database.js';
import { prepare, type MakePlaceholder } from '../store/prepared.js';
import type { SessionTable } from '../store/schema.js';
import { clockSkew } from '../store/skew.js';
import { fromKeyText, keyText } from '../store/text.js';
import type { Telemetry } from '../telemetry.js';
import { createWarnings } from '../warnings.js';
import { grantsOf, type GrantTable } from './grants.js';
import type { User } from './model.js';
import { networkOf } from './network.js';
import { createThrottle } from './throttle.js';
import { toUser } from './user.js';

/** A live session: its caller, and the notes token, which must not leave the server. */
export interface Session {
  readonly caller: Caller;
  readonly notesToken: string;
  /** Milliseconds since the epoch: when the notes token expires, and the session with it. */
  readonly expiresAt: number;
}

/** The result of a sign-in; the session's token is returned only here. */
export interface SignedIn {
  readonly token: string;
  readonly session: Session;
  readonly user: User;
}

/** Sessions, the same on every replica: clients hold opaque 256-bit tokens; the notes tokens are stored sealed. */
export interface Sessions {
  /** Trades credentials for a session (`apis/notes.md` §5); `RATE_LIMITED` after too many failures. */
  signIn(credentials: {
    email: string;
    password: string;
    ip: string;
  }): Promise<SignedIn | 'WRONG_CREDENTIALS'>;
  /** The live session of a token; not a promise if it was opened or looked up here within the last seconds. */
  find(token: string): Session | undefined | Promise<Session | undefined>;
  /** Ends a session here and on every replica; its watchers are called. */
  end(sessionId: string): Promise<void>;
  /** Calls `ended` once when the session ends or expires, within seconds; returns a function that stops watching. */
  watch(session: Session, ended: () => void): () => void;
  stop(): void;
}

interface Watcher {
  readonly session: Session;
  readonly ended: () => void;
}

const cacheMs = 5_000;
const maxCached = 10_000;
const sweepMs = 1_000;
const recheckMs = 3_000;
const recheckedAtOnce = 500;
/** How long newly watched sessions are collected, to be checked together: after an outage thousands come at once. */
const collectMs = 100;
/** Between two warnings: anybody can cause refused sign-ins. */
const quietMs = 60_000;
const crowdedNetwork =
  'sign-ins from one network are refused after a hundred failures: if it is the network of a proxy, see TRUST_PROXY';
/** The maximum life of a session, whatever the service says of its token's. */
const maxLifetimeMs = 366 * 24 * 3_600_000;

/** What a sealed notes token is bound to: it opens for no other session. */
const place = (id: string) => `session ${id}`;

/** Sessions stored in the database. */
export function createSessions(options: {
  readonly database: Database;
  readonly notes: NotesClient;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly grants: GrantTable;
  readonly telemetry: Telemetry;
}): Sessions {
  const { database, notes, sealer, clock, grants, telemetry } = options;
  const { kysely } = database;
  const cache = new Map<string, { readonly session: Session; readonly until: number }>();
  /** Digests of tokens whose sessions were found: making one takes longer than the rest of finding a session. */
  const digests = createCache<string>(maxCached);
  const watchers = new Set<Watcher>();
  /** Counts the endings seen: what was read from the store before one may be out of date after it. */
  let endingsSeen = 0;
  /** Sessions that are being deleted from the store: they count as ended already. */
  const beingEnded = new Set<string>();
  const warnSeldom = createWarnings(telemetry, { quietMs });
  const window = { windowMs: 15 * 60_000, clock };
  const byAddress = createThrottle({ ...window, limit: 10 });
  const byNetwork = createThrottle({ ...window, limit: 100, onRefused: () => warnSeldom(crowdedNetwork) });

  const toSession = (row: SessionTable): Session | undefined => {
    const notesToken = sealer.open(row.notes_token, place(row.id));
    if (notesToken === undefined) return undefined;
    const email = fromKeyText(row.email);
    const caller = {
      sessionId: row.id,
      userId: fromKeyText(row.user_id),
      email,
      grants: grantsOf(grants, email),
    };
    return { caller, notesToken, expiresAt: row.expires_at };
  };

  const select = prepare(kysely, (id: MakePlaceholder<string>) =>
    kysely
      .selectFrom('sessions')
      .selectAll()
      .where(
        'id',
        '=',
        id((wanted) => wanted),
      ),
  );

  async function load(id: string): Promise<Session | undefined> {
    const [row] = await select(kysely, id);
    return row && toSession(row);
  }

  function remember(token: string, session: Session): void {
    const { sessionId } = session.caller;
    digests.set(ownText(token), sessionId); // the client's own text would keep its headers in memory
    cache.delete(sessionId);
    cache.set(sessionId, { session, until: clock.now() + cacheMs });
    if (cache.size > maxCached) cache.delete(cache.keys().next().value!);
  }

  async function lookUp(token: string, id: string): Promise<Session | undefined> {
    const before = endingsSeen;
    const session = await load(id);
    if (!session || session.expiresAt <= clock.now()) return undefined;
    if (before === endingsSeen) remember(token, session);
    return session;
  }

  function tellEnded(isOver: (session: Session) => boolean): void {
    for (const watcher of watchers) {
      if (!isOver(watcher.session)) continue;
      watchers.delete(watcher);
      watcher.ended();
    }
  }

  function forget(id: string): void {
    endingsSeen += 1;
    cache.delete(id);
    tellEnded(({ caller }) => caller.sessionId === id);
  }

  /** Asks the store which of these sessions still exist, and forgets the others. */
  async function recheck(ids: readonly string[]): Promise<void> {
    try {
      for (let from = 0; from < ids.length; from += recheckedAtOnce) {
        const asked = ids.slice(from, from + recheckedAtOnce);
        const rows = await kysely.selectFrom('sessions').select('id').where('id', 'in', asked).execute();
        const standing = new Set(rows.map(({ id }) => id));
        for (const id of asked) if (!standing.has(id)) forget(id);
      }
    } catch (err) {
      telemetry.log.warn({ err }, 'sessions could not be checked');
    }
  }

  /** They may have ended between being found and being watched. */
  const newlyWatched = new Set<string>();

  function recheckNewlyWatched(): void {
    const ids = [...newlyWatched];
    newlyWatched.clear();
    void recheck(ids);
  }

  let checking: Promise<void> | undefined;

  function recheckWatched(): Promise<void> {
    const ids = new Set(Array.from(watchers, ({ session }) => session.caller.sessionId));
    checking ??= recheck([...ids]).finally(() => (checking = undefined));
    return checking;
  }

  /** For when signals were lost, at an unknown time. */
  function recheckAll(): void {
    endingsSeen += 1;
    cache.clear();
    // A check under way may have read the store before the lost signals were sent.
    void (checking ?? Promise.resolve()).then(recheckWatched);
  }

  const unlisten = database.listen('sessions', (id) => (id === '' ? recheckAll() : forget(id)));
  const sweep = setInterval(() => tellEnded(({ expiresAt }) => expiresAt <= clock.now()), sweepMs).unref();
  // A signal may be lost without anybody noticing.
  const slowCheck = setInterval(() => void recheckWatched(), recheckMs).unref();

  async function whoIs({ token }: IssuedToken): Promise<User> {
    try {
      return toUser(await notes.me(token));
    } catch (cause) {
      if (!(cause instanceof SessionEnded)) throw cause;
      // Not `SessionEnded`: the caller may be signed in already, and that session has not ended.
      throw new GatewayError(
        'UPSTREAM_INVALID_RESPONSE',
        'The notes service rejected the token that it had just issued.',
        {
          cause,
        },
      );
    }
  }

  /** Not while this machine's clock is wrong: the sessions are those of all replicas. `find` goes by it even so. */
  async function deleteExpired(): Promise<void> {
    if ((await clockSkew(database)) !== undefined) return;
    await kysely.deleteFrom('sessions').where('expires_at', '<=', clock.now()).execute();
  }

  async function exchange(email: string, password: string): Promise<SignedIn | 'WRONG_CREDENTIALS'> {
    const issued = await notes.signIn(email, password);
    if (issued === 'WRONG_CREDENTIALS') return issued;
    const user = await whoIs(issued);
    const token = randomBytes(32).toString('base64url');
    const id = digest(token);
    const row: SessionTable = {
      id,
      user_id: keyText(user.upstreamId),
      email: keyText(user.email),
      notes_token: sealer.seal(issued.token, place(id)),
      created_at: clock.now(),
      expires_at: Math.floor(Math.min(issued.expiresAt, clock.now() + maxLifetimeMs)),
    };
    await deleteExpired();
    await kysely.insertInto('sessions').values(row).execute();
    const session = toSession(row)!;
    remember(token, session);
    return { token, session, user };
  }

  return {
    signIn({ email, password, ip }) {
      const wrong = (outcome: unknown) => outcome === 'WRONG_CREDENTIALS';
      const address = digest(email.trim().toLowerCase());
      const run = () => byAddress.attempt(address, () => exchange(email, password), wrong);
      return byNetwork.attempt(networkOf(ip), run, wrong);
    },
    find(token) {
      const id = digests.get(token) ?? digest(token);
      if (beingEnded.has(id)) return undefined;
      const cached = cache.get(id);
      const now = clock.now();
      if (!cached || cached.until <= now) return lookUp(token, id);
      return cached.session.expiresAt > now ? cached.session : undefined;
    },
    async end(sessionId) {
      beingEnded.add(sessionId);
      try {
        await kysely.deleteFrom('sessions').where('id', '=', sessionId).execute();
        forget(sessionId);
      } finally {
        beingEnded.delete(sessionId);
      }
      database.signal('sessions', sessionId);
    },
    watch(session, ended) {
      const watcher = { session, ended };
      watchers.add(watcher);
      if (newlyWatched.size === 0) setTimeout(recheckNewlyWatched, collectMs).unref();
      newlyWatched.add(session.caller.sessionId);
      return () => watchers.delete(watcher);
    },
    stop() {
      unlisten();
      clearInterval(sweep);
      clearInterval(slowCheck);
      newlyWatched.clear();
      watchers.clear();
    },
  };
}
