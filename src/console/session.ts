import { useCallback, useEffect, useRef, useState, type Dispatch, type SetStateAction } from 'react';
import { soonAgain } from './again.js';
import { isUnauthenticated, knowsOrigin, post, type Answer } from './gateway.js';
import { problemOf, type Problem } from './problem.js';

/** The person who is signed in, as the page shows them. */
export interface Viewer {
  readonly email: string;
  readonly name: string;
  readonly grants: readonly string[];
}

interface State {
  /** Who is signed in; null for nobody, undefined until that could be found out. */
  readonly viewer: Viewer | null | undefined;
  /** Whose answers the page may show: who is signed in, or was until the session ended without being asked to. */
  readonly owner: string | undefined;
  /** The answer to the sign-in or sign-out that made the owner another one: nothing in it is the former owner's. */
  readonly spared: Answer | undefined;
  /** What went wrong last; undefined when nothing did. */
  readonly problem: Problem | undefined;
  /** Why it is not known who is signed in now; each time it is found anew. */
  readonly doubt: Problem | undefined;
}

/** The page's session: the gateway keeps it in a cookie that no script can read. */
export interface Session extends State {
  readonly signIn: (email: string, password: string) => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** Asks the gateway who is signed in, after a hint that the session has ended. */
  readonly refresh: () => void;
  /** Asks it after a sign-in or sign-out in the editor, and tells the other windows. */
  readonly follow: (spared: Answer | undefined) => void;
  /** Asks it where that could not be found out, after a hint that the gateway answers again. */
  readonly heard: () => void;
  /** Clears the problem. */
  readonly dismiss: () => void;
}

/** The explorer's windows, which share the cookie: each tells the others that it signed somebody in or out. */
const windows = new BroadcastChannel('trivium-session');

const viewerQuery = 'query Viewer { viewer { email name grants } }';
const signInMutation =
  'mutation SignIn($input: SignInInput!) { signIn(input: $input) { errors { message } } }';
const signOutMutation = 'mutation SignOut { signOut { signedOut } }';

interface SignInData {
  readonly signIn: { readonly errors: readonly { readonly message: string }[] };
}

const unknown: State = {
  viewer: undefined,
  owner: undefined,
  spared: undefined,
  problem: undefined,
  doubt: undefined,
};

const notKept: Problem = {
  message: 'The browser did not keep the session: are cookies blocked, or is https expected?',
  mendable: false,
};

const notKnown: Problem = {
  message: `This address (${location.origin}) is not one the gateway knows: set PUBLIC_URL or ALLOWED_ORIGINS.`,
  mendable: false,
};

/** Asks who is signed in when the page opens, and keeps that up to date. */
export function useSession(): Session {
  const [state, setState] = useState(unknown);
  const { look, heard, signedOut, failed } = useLookUps(setState);
  const tell = (problem: Problem | undefined): void => setState((now) => ({ ...now, problem }));
  const dismiss = (): void => tell(undefined);

  const refresh = useCallback(() => void look(false), [look]);
  const follow = useCallback(
    (spared: Answer | undefined) => {
      windows.postMessage(null);
      void look(true, spared);
    },
    [look],
  );

  useEffect(() => {
    const hear = (): void => void look(true);
    void look(false);
    windows.addEventListener('message', hear);
    return () => windows.removeEventListener('message', hear);
  }, [look]);

  const { doubt } = state;
  useEffect(() => (doubt ? soonAgain(() => void look(false), doubt.retryAfter) : undefined), [doubt, look]);

  const signIn = async (email: string, password: string): Promise<void> => {
    dismiss(); // so that the same words are told again
    const refused = await trySignIn(email, password);
    if (refused) return tell(refused);
    windows.postMessage(null);
    // That a session was made does not mean that the browser kept its cookie.
    if ((await look(true)) === null) tell((await knowsOrigin()) ? notKept : notKnown);
    return undefined;
  };

  const signOut = async (): Promise<void> => {
    const answer = await post({ query: signOutMutation });
    const problem = problemOf(answer);
    // A session that has ended elsewhere is as good as signed out.
    if (problem && !isUnauthenticated(answer)) return failed(problem);
    windows.postMessage(null);
    return signedOut();
  };

  return { ...state, signIn, signOut, refresh, follow, heard, dismiss };
}

interface LookUps {
  /**
   * Asks who is signed in, `asked` where somebody signed in or out just before, and shows it. Gives who it is;
   * undefined when that is not known, or out of date already.
   */
  readonly look: (asked: boolean, spared?: Answer) => Promise<Viewer | null | undefined>;
  /** Looks where the last time it failed. */
  readonly heard: () => void;
  /** Shows why it is not known who is signed in, and keeps who was. */
  readonly failed: (problem: Problem) => void;
  /** Shows that nobody is signed in, whatever a look-up that is under way will find. */
  readonly signedOut: () => void;
}

/** The look-ups, of which only the one begun last is believed. */
function useLookUps(setState: Dispatch<SetStateAction<State>>): LookUps {
  const latest = useRef(0);
  /** Whether somebody signed in or out since a look-up was last shown: it may not be the one that was begun for it. */
  const wasAsked = useRef(false);
  const isInDoubt = useRef(false);

  const failed = useCallback(
    (problem: Problem) => {
      isInDoubt.current = true;
      setState((now) => ({ ...now, problem, doubt: problem }));
    },
    [setState],
  );

  const look = useCallback(
    async (asked: boolean, spared?: Answer) => {
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
      setState(({ owner, problem: told, doubt }) => ({
        ...unknown,
        viewer,
        owner: viewer?.email ?? (leaves ? undefined : owner),
        spared,
        // What was wrong with a sign-in stands beside its fields.
        problem: viewer || told === doubt ? undefined : told,
      }));
      return viewer;
    },
    [setState, failed],
  );

  const heard = useCallback(() => {
    if (isInDoubt.current) void look(false);
  }, [look]);

  const signedOut = useCallback(() => {
    latest.current++;
    wasAsked.current = false;
    isInDoubt.current = false;
    setState({ ...unknown, viewer: null });
  }, [setState]);

  return { look, heard, failed, signedOut };
}

async function trySignIn(email: string, password: string): Promise<Problem | undefined> {
  const answer = await post<SignInData>({ query: signInMutation, variables: { input: { email, password } } });
  const [mistake] = answer.data?.signIn.errors ?? [];
  return mistake ? { message: mistake.message, mendable: true } : problemOf(answer);
}
