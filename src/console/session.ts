import { useCallback, useEffect, useRef, useState } from 'react';
import { isUnauthenticated, post } from './gateway.js';
import { problemOf, type Problem } from './problem.js';

/** The person who is signed in, as the page shows them. */
export interface Viewer {
  readonly email: string;
  readonly name: string;
  readonly grants: readonly string[];
}

interface State {
  /** Who is signed in; null for nobody, undefined while that is not known. */
  readonly viewer: Viewer | null | undefined;
  /** Whether that came of `signIn` or `signOut`, here or in another window, and of nothing that happened elsewhere. */
  readonly asked: boolean;
  /** What went wrong last; undefined when nothing did. */
  readonly problem: Problem | undefined;
}

/** The page's session: the gateway keeps it in a cookie that no script can read. */
export interface Session extends State {
  readonly signIn: (email: string, password: string) => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** Asks the gateway who is signed in. */
  readonly refresh: () => Promise<void>;
  /** Lets go of the problem. */
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

const notKept: Problem = {
  message: 'The browser did not keep the session: are cookies blocked, or is https expected?',
  mendable: false,
};

/** Asks who is signed in when the page opens, and keeps that up to date. */
export function useSession(): Session {
  const [state, setState] = useState<State>({ viewer: undefined, asked: false, problem: undefined });
  const tell = useCallback((problem: Problem | undefined) => setState((now) => ({ ...now, problem })), []);
  const dismiss = useCallback(() => tell(undefined), [tell]);

  const latest = useRef(0);
  /** What a look-up found; undefined where another has begun, or a sign-out been done, before its answer came. */
  const look = useCallback(async () => {
    const mine = ++latest.current;
    const found = await lookUp();
    return mine === latest.current ? found : undefined;
  }, []);

  const show = useCallback(
    async (asked: boolean) => {
      const found = await look();
      if (found) setState({ ...found, asked });
    },
    [look],
  );
  const refresh = useCallback(() => show(false), [show]);

  useEffect(() => {
    const follow = (): void => void show(true);
    void refresh();
    windows.addEventListener('message', follow);
    return () => windows.removeEventListener('message', follow);
  }, [refresh, show]);

  const signIn = useCallback(
    async (email: string, password: string) => {
      dismiss(); // so that the same words are told again
      const refused = await trySignIn(email, password);
      if (refused) return tell(refused);
      windows.postMessage(null);
      // That a session was made does not mean that the browser kept its cookie.
      const found = await look();
      if (!found) return undefined;
      const { viewer, problem } = found;
      return setState({ viewer, asked: viewer !== null, problem: viewer ? undefined : (problem ?? notKept) });
    },
    [dismiss, tell, look],
  );

  const signOut = useCallback(async () => {
    const answer = await post({ query: signOutMutation });
    const failed = problemOf(answer);
    // A session that has ended elsewhere is as good as signed out.
    if (failed && !isUnauthenticated(answer)) return tell(failed);
    windows.postMessage(null);
    latest.current++; // what was looked up before says who was signed in
    return setState({ viewer: null, asked: true, problem: undefined });
  }, [tell]);

  return { ...state, signIn, signOut, refresh, dismiss };
}

async function lookUp(): Promise<{ readonly viewer: Viewer | null; readonly problem: Problem | undefined }> {
  const answer = await post<{ viewer: Viewer | null }>({ query: viewerQuery });
  return { viewer: answer.data?.viewer ?? null, problem: problemOf(answer) };
}

async function trySignIn(email: string, password: string): Promise<Problem | undefined> {
  const answer = await post<SignInData>({ query: signInMutation, variables: { input: { email, password } } });
  const [mistake] = answer.data?.signIn.errors ?? [];
  return mistake ? { message: mistake.message, mendable: true } : problemOf(answer);
}
