import { useCallback, useEffect, useState } from 'react';
import { post, type Answer } from './gateway.js';

/** The person who is signed in, as the page shows them. */
export interface Viewer {
  readonly email: string;
  readonly name: string;
  readonly grants: readonly string[];
}

/** The page's session: the gateway keeps it in a cookie that no script can read. */
export interface Session {
  /** Who is signed in; null for nobody, undefined while that is not known. */
  readonly viewer: Viewer | null | undefined;
  /** One sentence on what went wrong last; undefined when nothing did. */
  readonly problem: string | undefined;
  readonly signIn: (email: string, password: string) => Promise<void>;
  readonly signOut: () => Promise<void>;
  /** Asks the gateway who is signed in. */
  readonly refresh: () => Promise<void>;
}

const viewerFields = 'viewer { email name grants }';
const viewerQuery = `query Viewer { ${viewerFields} }`;
const signInMutation = `mutation SignIn($input: SignInInput!) {
  signIn(input: $input) { ${viewerFields} errors { message } }
}`;
const signOutMutation = 'mutation SignOut { signOut { signedOut } }';

interface SignInData {
  readonly signIn: {
    readonly viewer: Viewer | null;
    readonly errors: readonly { readonly message: string }[];
  };
}

/** Asks who is signed in when the page opens, and keeps that up to date. */
export function useSession(): Session {
  const [viewer, setViewer] = useState<Viewer | null>();
  const [problem, setProblem] = useState<string>();

  const refresh = useCallback(async () => {
    const answer = await post<{ viewer: Viewer | null }>({ query: viewerQuery });
    setViewer(answer.data?.viewer ?? null);
    setProblem(firstProblem(answer));
  }, []);

  useEffect(() => void refresh(), [refresh]);

  const signIn = useCallback(async (email: string, password: string) => {
    const answer = await post<SignInData>({
      query: signInMutation,
      variables: { input: { email, password } },
    });
    setViewer(answer.data?.signIn.viewer ?? null);
    setProblem(firstProblem(answer) ?? answer.data?.signIn.errors[0]?.message);
  }, []);

  const signOut = useCallback(async () => {
    const failed = firstProblem(await post({ query: signOutMutation }));
    setProblem(failed);
    if (failed === undefined) setViewer(null);
  }, []);

  return { viewer, problem, signIn, signOut, refresh };
}

function firstProblem({ errors }: Answer): string | undefined {
  const error = errors?.[0];
  const retryAfter = error?.extensions?.['retryAfter'];
  return typeof retryAfter === 'number' ? `${error?.message} Try again in ${retryAfter} s.` : error?.message;
}
