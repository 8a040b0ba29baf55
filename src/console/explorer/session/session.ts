import { useCallback, useEffect, useRef, useState, type Dispatch, type SetStateAction } from 'react';
import type { Change } from '../../../client/core/page.js';
import { retrySoon } from '../../data/retry.js';
import { isUnauthenticated, isOriginAllowed, post, type Answer } from './gateway.js';
import { problemOf, type Problem } from './problem.js';
import { signInMutation, signOutMutation, viewerQuery } from './operations.js';

/** The person who is signed in, as the page shows them. */
export interface Viewer {
  readonly email: string;
  readonly name: string;
  readonly grants: readonly string[];
}

interface State {
  /** Who is signed in; null for nobody, undefined until that is known. */
  readonly viewer: Viewer | null | undefined;
  /** Whose answers the page may show: the user who is signed in, or was until the session ended by itself. */
  readonly owner: string | undefined;
  /** The answer to the sign-in or sign-out that changed the owner: it holds no data of the former owner. */
  readonly keptAnswer: Answer | undefined;
  /** What went wrong last; undefined if nothing did. */
  readonly problem: Problem | undefined;
  /** Why it is not known who is signed in now; a new object after each failed look-up. */
  readonly lookUpProblem: Problem | undefined;
}

/** The page's session, which the gateway keeps in a cookie that scripts cannot read. */
export interface Session extends State {
  readonly signIn: (email: string, password: string) => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** Looks up who is signed in, after a hint that the session has ended. */
  readonly refresh: () => void;
  /** Looks it up after a sign-in or sign-out in the editor, and notifies the other windows. */
  readonly sessionChanged: (change: Change, keptAnswer: Answer | undefined) => void;
  /** Looks it up if the last look-up failed, after a hint that the gateway answers again. */
  readonly gatewayResponded: () => void;
  /** Clears the problem. */
  readonly dismiss: () => void;
}

/** Connects the pages of this origin, which share the cookie: each tells the others what became of the session. */
const windows = new BroadcastChannel(`trivium ${location.origin}`);
const announce = (change: Change): void => windows.postMessage(change);

interface SignInData {
  readonly signIn: { readonly errors: readonly { readonly message: string }[] };
}

const unknown: State = {
  viewer: undefined,
  owner: undefined,
  keptAnswer: undefined,
  problem: undefined,
  lookUpProblem: undefined,
};

const notKept: Problem = {
  message: 'The browser did not store the session cookie: are cookies blocked, or is https required?',
  isUserError: false,
};

const notKnown: Problem = {
  message: `The gateway does not accept this origin (${location.origin}): set PUBLIC_URL or ALLOWED_ORIGINS.`,
  isUserError: false,
};

/** The session of the page: looks up who is signed in when the page opens, and keeps that up to date. */
export function useSession(): Session {
  const [state, setState] = useState(unknown);
  const { look, gatewayResponded, signedOut, failed } = useLookUps(setState);
  const tell = (problem: Problem | undefined): void => setState((now) => ({ ...now, problem }));
  const dismiss = (): void => tell(undefined);

  const refresh = useCallback(() => void look(false), [look]);
  const sessionChanged = useCallback(
    (change: Change, keptAnswer: Answer | undefined) => {
      announce(change);
      void look(true, keptAnswer);
    },
    [look],
  );

  useEffect(() => {
    const hear = (): void => void look(true);
    void look(false);
    windows.addEventListener('message', hear);
    return () => windows.removeEventListener('message', hear);
  }, [look]);

  const { lookUpProblem } = state;
  useEffect(
    () => (lookUpProblem ? retrySoon(() => void look(false), lookUpProblem.retryAfter) : undefined),
    [lookUpProblem, look],
  );

  const signIn = async (email: string, password: string): Promise<void> => {
    dismiss(); // so that the same message is announced again
    const refused = await trySignIn(email, password);
    if (refused) return tell(refused);
    announce('signed-in');
    // A session was created, but the browser may not have stored its cookie.
    if ((await look(true)) === null) tell((await isOriginAllowed()) ? notKept : notKnown);
    return undefined;
  };

  const signOut = async (): Promise<void> => {
    announce('signing-out');
    const answer = await post({ query: signOutMutation });
    const problem = problemOf(answer);
    // If the session has already ended, the user is signed out as well.
    const isStillIn = problem && !isUnauthenticated(answer);
    announce(isStillIn ? 'signed-in' : 'signed-out');
    return isStillIn ? failed(problem) : signedOut();
  };

  return { ...state, signIn, signOut, refresh, sessionChanged, gatewayResponded, dismiss };
}

interface LookUps {
  /**
   * Looks up who is signed in, and shows it; `asked` says that somebody has just signed in or out. Resolves to who it
   * is; undefined if that is unknown or already out of date.
   */
  readonly look: (asked: boolean, keptAnswer?: Answer) => Promise<Viewer | null | undefined>;
  /** Looks again if the last look-up failed. */
  readonly gatewayResponded: () => void;
  /** Shows why it is not known who is signed in, and keeps the last known viewer. */
  readonly failed: (problem: Problem) => void;
  /** Shows that nobody is signed in, whatever a pending look-up returns. */
  readonly signedOut: () => void;
}

/** The look-ups; only the result of the latest one counts. */
function useLookUps(setState: Dispatch<SetStateAction<State>>): LookUps {
  const latest = useRef(0);
  /** Whether somebody has signed in or out since a result was last shown; a later look-up may be the one to show it. */
  const wasAsked = useRef(false);
  const isInDoubt = useRef(false);

  const failed = useCallback(
    (problem: Problem) => {
      isInDoubt.current = true;
      setState((now) => ({ ...now, problem, lookUpProblem: problem }));
    },
    [setState],
  );

  const look = useCallback(
    async (asked: boolean, keptAnswer?: Answer) => {
      const mine = ++latest.current;
      wasAsked.current ||= asked;
      const answer = await post<{ viewer: Viewer | null }>({ query: viewerQuery });
      if (mine !== latest.current) return undefined;
      const problem = problemOf(answer);
      if (problem) {
        failed(problem);
        return undefined;
      }
      isInDoubt.current = false;
      const viewer = answer.data?.viewer ?? null;
      const leaves = wasAsked.current;
      wasAsked.current = false;
      setState(({ owner, problem: told, lookUpProblem }) => ({
        ...unknown,
        viewer,
        owner: viewer?.email ?? (leaves ? undefined : owner),
        keptAnswer,
        // The problem of a failed sign-in stays beside the form.
        problem: viewer || told === lookUpProblem ? undefined : told,
      }));
      return viewer;
    },
    [setState, failed],
  );

  const gatewayResponded = useCallback(() => {
    if (isInDoubt.current) void look(false);
  }, [look]);

  const signedOut = useCallback(() => {
    latest.current++;
    wasAsked.current = false;
    isInDoubt.current = false;
    setState({ ...unknown, viewer: null });
  }, [setState]);

  return { look, gatewayResponded, failed, signedOut };
}

async function trySignIn(email: string, password: string): Promise<Problem | undefined> {
  const answer = await post<SignInData>({ query: signInMutation, variables: { input: { email, password } } });
  const [mistake] = answer.data?.signIn.errors ?? [];
  return mistake ? { message: mistake.message, isUserError: true } : problemOf(answer);
}
