import type { Clock } from '../../lib/clock.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Session } from './session.js';

/** Why a watcher is called: the session has ended, or its user has lost a grant. */
export type WatchedChange = 'ended' | 'restricted';

/** Those who want to know when a session ends, or may do less than before. */
export interface Watchers {
  /**
   * Calls `changed` once with `ended` when the session ends or expires, within seconds, and before that with
   * `restricted` whenever its user loses a grant; returns a function that stops watching.
   */
  watch(session: Session, changed: (change: WatchedChange) => void): () => void;
  /** Calls the watchers of a session that has ended. */
  tell(sessionId: string): void;
  /** Calls the watchers of sessions whose users have lost a grant. */
  tellRestricted(isRestricted: (session: Session) => boolean): void;
  /** Checks all watched sessions, as endings may have been missed. */
  recheck(): void;
  stop(): void;
}

/** What watchers work with. */
export interface WatchersOptions {
  /** Which of these sessions have not ended. */
  standing(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Called with each session that turns out to have ended. */
  onEnded(sessionId: string): void;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

interface Watcher {
  readonly session: Session;
  readonly changed: (change: WatchedChange) => void;
}

const sweepMs = 1_000;
const recheckMs = 3_000;
const recheckedAtOnce = 500;
/** How long newly watched sessions are collected, to be checked together: after an outage thousands come at once. */
const collectMs = 100;

/** Watchers, at first none; until `stop`, looks for expired sessions every second, and for ended ones every three. */
export function createWatchers({ standing, onEnded, clock, telemetry }: WatchersOptions): Watchers {
  const watchers = new Set<Watcher>();
  /** They may have ended between being found and being watched. */
  const newlyWatched = new Set<string>();
  let checking: Promise<void> | undefined;

  function tellEnded(isOver: (session: Session) => boolean): void {
    for (const watcher of watchers) {
      if (!isOver(watcher.session)) continue;
      watchers.delete(watcher);
      watcher.changed('ended');
    }
  }

  async function check(ids: readonly string[]): Promise<void> {
    try {
      for (let from = 0; from < ids.length; from += recheckedAtOnce) {
        const asked = ids.slice(from, from + recheckedAtOnce);
        const left = await standing(asked);
        for (const id of asked) if (!left.has(id)) onEnded(id);
      }
    } catch (err) {
      telemetry.log.warn({ err }, 'sessions could not be checked');
    }
  }

  function checkNewlyWatched(): void {
    const ids = [...newlyWatched];
    newlyWatched.clear();
    void check(ids);
  }

  function checkWatched(): Promise<void> {
    const ids = new Set(Array.from(watchers, ({ session }) => session.caller.sessionId));
    checking ??= check([...ids]).finally(() => (checking = undefined));
    return checking;
  }

  const sweep = setInterval(() => tellEnded(({ expiresAt }) => expiresAt <= clock.now()), sweepMs).unref();
  // A signal may be lost without anybody noticing.
  const slowCheck = setInterval(() => void checkWatched(), recheckMs).unref();

  return {
    watch(session, changed) {
      const watcher = { session, changed };
      watchers.add(watcher);
      if (newlyWatched.size === 0) setTimeout(checkNewlyWatched, collectMs).unref();
      newlyWatched.add(session.caller.sessionId);
      return () => watchers.delete(watcher);
    },
    tell: (sessionId) => tellEnded(({ caller }) => caller.sessionId === sessionId),
    tellRestricted(isRestricted) {
      for (const { session, changed } of watchers) if (isRestricted(session)) changed('restricted');
    },
    recheck() {
      // A check under way may have read the store before what was missed.
      void (checking ?? Promise.resolve()).then(checkWatched);
    },
    stop() {
      clearInterval(sweep);
      clearInterval(slowCheck);
      newlyWatched.clear();
      watchers.clear();
    },
  };
}
