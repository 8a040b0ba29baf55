import type { Clock } from '../../lib/clock.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import type { Session } from './session.js';

/** Why a watcher is called: the session has ended, or its user has lost a grant. */
export type WatchedChange = 'ended' | 'restricted';

/** Asks which watched sessions still stand, and tells of those that ended. */
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
/** In one statement, and in one round of the regular check: a signal is seldom lost, and Postgres has other work. */
const recheckedAtOnce = 500;
/** How long newly watched sessions are collected, to be checked together: after an outage thousands come at once. */
const collectMs = 100;

/**
 * Those who want to know when a session ends, or may do less than before; at first none. Until `stop`, looks for expired
 * sessions every second, and for ended ones every three: among 500 at a time, in turn.
 */
export class SessionWatchers {
  readonly #options: WatchersOptions;
  readonly #watchers = new Set<Watcher>();
  /** They may have ended between being found and being watched. */
  readonly #newlyWatched = new Set<string>();
  /** To which the regular check has yet to come. */
  #left: string[] = [];
  #checking: Promise<void> | undefined;
  readonly #sweep: NodeJS.Timeout;
  // A signal may be lost without anybody noticing.
  readonly #slowCheck = setInterval(() => this.#checkSome(), recheckMs).unref();

  constructor(options: WatchersOptions) {
    this.#options = options;
    const { clock } = options;
    this.#sweep = setInterval(
      () => this.#tellEnded(({ expiresAt }) => expiresAt <= clock.now()),
      sweepMs,
    ).unref();
  }

  /**
   * Calls `changed` once with `ended` when the session ends or expires, within seconds, and before that with
   * `restricted` whenever its user loses a grant; returns a function that stops watching.
   */
  watch(session: Session, changed: (change: WatchedChange) => void): () => void {
    const watcher = { session, changed };
    this.#watchers.add(watcher);
    if (this.#newlyWatched.size === 0) setTimeout(this.#checkNewlyWatched, collectMs).unref();
    this.#newlyWatched.add(session.caller.sessionId);
    return () => this.#watchers.delete(watcher);
  }

  /** Calls the watchers of a session that has ended. */
  tell(sessionId: string): void {
    this.#tellEnded(({ caller }) => caller.sessionId === sessionId);
  }

  /** Calls the watchers of sessions whose users have lost a grant. */
  tellRestricted(isRestricted: (session: Session) => boolean): void {
    for (const { session, changed } of this.#watchers) if (isRestricted(session)) changed('restricted');
  }

  /** Checks all watched sessions, as endings may have been missed. */
  recheck(): void {
    // A check under way may have read the store before what was missed.
    void (this.#checking ?? Promise.resolve()).then(this.#checkWatched);
  }

  stop(): void {
    clearInterval(this.#sweep);
    clearInterval(this.#slowCheck);
    this.#newlyWatched.clear();
    this.#watchers.clear();
  }

  #tellEnded(isOver: (session: Session) => boolean): void {
    for (const watcher of this.#watchers) {
      if (!isOver(watcher.session)) continue;
      this.#watchers.delete(watcher);
      watcher.changed('ended');
    }
  }

  async #check(ids: readonly string[]): Promise<void> {
    try {
      for (let from = 0; from < ids.length; from += recheckedAtOnce) {
        const asked = ids.slice(from, from + recheckedAtOnce);
        const left = await this.#options.standing(asked);
        for (const id of asked) if (!left.has(id)) this.#options.onEnded(id);
      }
    } catch (err) {
      this.#options.telemetry.log.warn({ err }, 'sessions could not be checked');
    }
  }

  readonly #checkNewlyWatched = (): void => {
    const ids = [...this.#newlyWatched];
    this.#newlyWatched.clear();
    void this.#check(ids);
  };

  readonly #checkWatched = (): Promise<void> => {
    this.#checking ??= this.#check(this.#watched()).finally(() => (this.#checking = undefined));
    return this.#checking;
  };

  #checkSome(): void {
    if (this.#checking) return;
    if (this.#left.length === 0) this.#left = this.#watched();
    const some = this.#left.splice(0, recheckedAtOnce);
    this.#checking = this.#check(some).finally(() => (this.#checking = undefined));
  }

  #watched(): string[] {
    return [...new Set(Array.from(this.#watchers, ({ session }) => session.caller.sessionId))];
  }
}
