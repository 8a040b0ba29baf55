import { randomBytes } from 'node:crypto';
import type { Caller } from '../caller.js';
import type { Clock } from '../clock.js';
import { GatewayError, SessionEnded } from '../errors.js';
import type { IssuedToken, NotesClient } from '../notes/client.js';
import { createCache, ownText } from '../cache.js';
import { digest, type Sealer } from '../seal.js';
import type { Database } from '../store/database.js';
import { prepare, type Given } from '../store/prepared.js';
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

/** A live session: who it is, and the notes token that must not leave the server. */
export interface Session {
  readonly caller: Caller;
  readonly notesToken: string;
  /** Milliseconds since the epoch: when the notes token ends, and the session with it. */
  readonly expiresAt: number;
}

/** What a sign-in gives: the only time that the session's token is seen. */
export interface SignedIn {
  readonly token: string;
  readonly session: Session;
  readonly user: User;
}

/** Sessions: opaque 256-bit tokens out, sealed notes tokens within. Every replica sees the same. */
export interface Sessions {
  /** Trades credentials for a session (`apis/notes.md` §5); `RATE_LIMITED` for an address or network that guesses. */
  signIn(credentials: {
    email: string;
    password: string;
    ip: string;
  }): Promise<SignedIn | 'WRONG_CREDENTIALS'>;
  /** The live session of a token; at once where it was opened or looked up here some seconds ago. */
  find(token: string): Session | undefined | Promise<Session | undefined>;
  /** Ends a session here and on every replica; its watchers hear of it. */
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
const mostCached = 10_000;
const sweepMs = 1_000;
const recheckMs = 3_000;
const recheckedAtOnce = 500;
/** After an outage thousands come at once: so long a new one waits for others to be looked for with it. */
const gatherMs = 100;
/** Anybody can have sign-ins refused. */
const quietMs = 60_000;
const crowdedNetwork =
  'sign-ins from one network are refused, as a hundred have failed: if it is that of a proxy, see TRUST_PROXY';
/** A service that gives its tokens a longer life is not believed. */
const longestMs = 366 * 24 * 3_600_000;

/** The place that a sealed notes token is bound to. */
const place = (id: string) => `session ${id}`;

/** Sessions over the store. */
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
  /** Of tokens by which a session was found: making one takes longer than all else of finding it. */
  const digests = createCache<string>(mostCached);
  const watchers = new Set<Watcher>();
  /** How many endings were heard of: what was read from the store before one may be wrong after it. */
  let endings = 0;
  /** Those that are about to be deleted from the store: they are over already. */
  const ending = new Set<string>();
  const warnSeldom = createWarnings(telemetry, { quietMs });
  const window = { windowMs: 15 * 60_000, clock };
  const byAddress = createThrottle({ ...window, limit: 10 });
  const byNetwork = createThrottle({ ...window, limit: 100, refused: () => warnSeldom(crowdedNetwork) });

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

  const select = prepare(kysely, (id: Given<string>) =>
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
    digests.set(ownText(token), sessionId); // the client's is a part of its headers
    cache.delete(sessionId);
    cache.set(sessionId, { session, until: clock.now() + cacheMs });
    if (cache.size > mostCached) cache.delete(cache.keys().next().value!);
  }

  async function lookUp(token: string, id: string): Promise<Session | undefined> {
    const before = endings;
    const session = await load(id);
    if (!session || session.expiresAt <= clock.now()) return undefined;
    if (before === endings) remember(token, session);
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
    endings += 1;
    cache.delete(id);
    tellEnded(({ caller }) => caller.sessionId === id);
  }

  /** Asks the store which of these sessions still stand. */
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

  /** Newly watched: they may have ended between being found and being watched. */
  const fresh = new Set<string>();

  function recheckFresh(): void {
    const ids = [...fresh];
    fresh.clear();
    void recheck(ids);
  }

  let checking: Promise<void> | undefined;

  function recheckWatched(): Promise<void> {
    const ids = new Set(Array.from(watchers, ({ session }) => session.caller.sessionId));
    checking ??= recheck([...ids]).finally(() => (checking = undefined));
    return checking;
  }

  /** Signals were lost, at a time that is not known. */
  function recheckAll(): void {
    endings += 1;
    cache.clear();
    // What a check under way was told may be older than what was missed.
    void (checking ?? Promise.resolve()).then(recheckWatched);
  }

  const unlisten = database.listen('sessions', (id) => (id === '' ? recheckAll() : forget(id)));
  const sweep = setInterval(() => tellEnded(({ expiresAt }) => expiresAt <= clock.now()), sweepMs).unref();
  // A signal may have been lost that nobody knows of.
  const slowCheck = setInterval(() => void recheckWatched(), recheckMs).unref();

  async function whoIs({ token }: IssuedToken): Promise<User> {
    try {
      return toUser(await notes.me(token));
    } catch (cause) {
      if (!(cause instanceof SessionEnded)) throw cause;
      // The caller may have a session already: that is not the one which ended here.
      throw new GatewayError('UPSTREAM_INVALID_RESPONSE', 'The notes service refuses its own token.', {
        cause,
      });
    }
  }

  /** Not by a clock that is wrong: those of all replicas are among them. Until it is right they are not found here. */
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
      expires_at: Math.floor(Math.min(issued.expiresAt, clock.now() + longestMs)),
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
      if (ending.has(id)) return undefined;
      const cached = cache.get(id);
      const now = clock.now();
      if (!cached || cached.until <= now) return lookUp(token, id);
      return cached.session.expiresAt > now ? cached.session : undefined;
    },
    async end(sessionId) {
      ending.add(sessionId);
      try {
        await kysely.deleteFrom('sessions').where('id', '=', sessionId).execute();
        forget(sessionId);
      } finally {
        ending.delete(sessionId);
      }
      database.signal('sessions', sessionId);
    },
    watch(session, ended) {
      const watcher = { session, ended };
      watchers.add(watcher);
      if (fresh.size === 0) setTimeout(recheckFresh, gatherMs).unref();
      fresh.add(session.caller.sessionId);
      return () => watchers.delete(watcher);
    },
    stop() {
      unlisten();
      clearInterval(sweep);
      clearInterval(slowCheck);
      fresh.clear();
      watchers.clear();
    },
  };
}
