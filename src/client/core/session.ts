import type { UserPartsFragment } from '../generated/index.js';
import { attempt, callBack } from './attempt.js';
import type { Credentials } from './http.js';

/** Who is signed in. */
export type Viewer = UserPartsFragment;

/** A session as it is known here. */
export interface Session {
  /** `unknown` until the gateway has been asked: a page's cookie cannot be read. */
  readonly status: 'unknown' | 'signed-in' | 'signed-out';
  /** Who is signed in; null if nobody is, or it is unknown. */
  readonly viewer: Viewer | null;
  /** Whether it ended by itself, not by `signOut` here or in another tab: it expired, or was ended elsewhere. */
  readonly ended: boolean;
}

/** Where a token survives, such as `localStorage`; one that is full or forbidden is done without. */
export interface TokenStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Where a session is kept: in a cookie, in `storage`, or in memory alone. */
export interface SessionOptions {
  readonly url: string;
  /** A session's token, for a program that has one. */
  readonly token: string | undefined;
  readonly storage: TokenStorage | undefined;
  /** Whether a browser keeps the session in a cookie. */
  readonly usesCookie: boolean;
}

/** The session of a client: who is signed in, and how requests say so. */
export interface SessionKeeper {
  readonly session: Session;
  /** Counts sign-ins and sign-outs: an answer to an older request says nothing about the session of now. */
  readonly epoch: number;
  credentials(): Credentials;
  /** Somebody has signed in, perhaps again. */
  signedIn(viewer: Viewer, token: string | undefined): void;
  /** The gateway says for whom the credentials of now are. */
  confirmed(viewer: Viewer): void;
  /** Nobody is signed in any more; `ended` if it was not asked for. */
  signedOut(ended: boolean): void;
  /** Takes the token that the storage has now, if there is a storage: another tab signed in or out. */
  reread(): void;
  listen(listener: (session: Session) => void): () => void;
}

const unknown: Session = { status: 'unknown', viewer: null, ended: false };
const signedOut: Session = { status: 'signed-out', viewer: null, ended: false };

/** Keeps the session of the gateway at `url`; it is `unknown` at first where a token or a cookie may stand for one. */
export function createSessionKeeper({ url, token, storage, usesCookie }: SessionOptions): SessionKeeper {
  const key = `trivium ${url}`;
  const listeners = new Set<(session: Session) => void>();
  let kept = token ?? attempt(() => storage?.getItem(key) ?? undefined);
  let epoch = 0;
  let session = kept !== undefined || usesCookie ? unknown : signedOut;

  function keep(next: string | undefined): void {
    const before = kept;
    kept = next;
    epoch++;
    // If it is forbidden or full, the session lasts as long as the page.
    attempt(() => {
      if (next !== undefined) storage?.setItem(key, next);
      else if (storage?.getItem(key) === before) storage?.removeItem(key); // another may have signed in
    });
  }

  function tell(next: Session): void {
    session = next;
    for (const listener of listeners) callBack(() => listener(next));
  }

  return {
    get session() {
      return session;
    },
    get epoch() {
      return epoch;
    },
    credentials: () => ({ token: kept, credentials: usesCookie && kept === undefined ? 'include' : 'omit' }),
    signedIn(viewer, next) {
      keep(next);
      tell({ status: 'signed-in', viewer, ended: false });
    },
    confirmed(viewer) {
      if (session.status !== 'unknown' && session.viewer?.id !== viewer.id) keep(kept);
      // The gateway's word that nothing has changed is no change.
      if (JSON.stringify(viewer) === JSON.stringify(session.viewer)) return;
      tell({ status: 'signed-in', viewer, ended: false });
    },
    signedOut(ended) {
      if (session.status === 'signed-out' && (session.ended || !ended)) return;
      keep(undefined);
      tell({ ...signedOut, ended });
    },
    reread() {
      epoch++;
      if (storage) attempt(() => (kept = storage.getItem(key) ?? undefined));
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
