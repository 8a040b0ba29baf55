import { createContext, use, useCallback, useEffect, useMemo, useState } from 'react';
import { joinPage, type Change } from '../../client/core/page.js';
import type { Session as ClientSession, Viewer } from '../../client/core/trivium.js';
import type { Gateway } from '../data/gateway.js';
import { asGatewayError, type GatewayError } from '../data/gateway-error.js';
import { retryAfter } from '../data/retry.js';
import { withWait } from '../parts/words.js';

export type { Viewer } from '../../client/core/trivium.js';

interface State {
  /** Who is signed in, or was until the session ended by itself; null for nobody, undefined until that is known. */
  readonly viewer: Viewer | null | undefined;
  /** Whether the session ended by itself: the views stay, and go on once the same person has signed in again. */
  readonly hasEnded: boolean;
  /** Why it is not known who is signed in. */
  readonly error: GatewayError | undefined;
  /** Grows when another person is signed in than before, or may be; not with the first that is known of. */
  readonly turn: number;
  /** Grows with each sign-in: what failed for want of a session is asked again. */
  readonly epoch: number;
}

/** The page's session, which the gateway keeps in a cookie that scripts cannot read. */
export interface Session extends State {
  /** What is wrong with the credentials, or why nobody could be signed in; undefined if somebody is. */
  readonly signIn: (email: string, password: string) => Promise<string | undefined>;
  /** Why nobody could be signed out; undefined if that is done. */
  readonly signOut: () => Promise<string | undefined>;
  /** To be called when the gateway says that nobody is signed in. */
  readonly ended: () => void;
}

/** The session that the views work in. */
export const SessionContext = createContext<Session | undefined>(undefined);

/** The session that the views work in. */
export function useSession(): Session {
  const session = use(SessionContext);
  if (!session) throw new Error('There is no SessionContext.');
  return session;
}

/** Looks up who is signed in when the page opens, and keeps that up to date. */
export function useNewSession(gateway: Gateway): Session {
  const { session: client } = gateway;
  const [state, setState] = useState<State>({
    viewer: undefined,
    hasEnded: false,
    error: undefined,
    turn: 0,
    epoch: 0,
  });
  const look = useCallback(
    () =>
      client.refresh().then(
        (now) => setState((before) => following(before, now)),
        (cause: unknown) => setState((before) => ({ ...before, error: asGatewayError(cause) })),
      ),
    [client],
  );
  useEffect(() => client.onSession((now) => setState((before) => following(before, now))), [client]);
  useEffect(() => onOtherTab(() => setState(thrownAway)), []);
  useEffect(() => void look(), [look]);
  const { error } = state;
  useEffect(() => (error ? retryAfter(error, () => void look()) : undefined), [error, look]);

  const signIn = useCallback(
    async (email: string, password: string) => {
      try {
        const { errors } = await client.signIn(email, password);
        return errors[0]?.message;
      } catch (cause) {
        return inWords(asGatewayError(cause));
      }
    },
    [client],
  );
  const signOut = useCallback(
    () =>
      client.signOut().then(
        () => undefined,
        (cause: unknown) => inWords(asGatewayError(cause)),
      ),
    [client],
  );
  const ended = useCallback(() => void look(), [look]);
  return useMemo(() => ({ ...state, signIn, signOut, ended }), [state, signIn, signOut, ended]);
}

/** What the page shows next: whoever's session ended by itself is remembered, so that the views can go on. */
function following(before: State, { status, viewer, ended }: ClientSession): State {
  if (status === 'unknown') return before;
  if (viewer) {
    const isSame = before.viewer?.id === viewer.id;
    return {
      viewer,
      hasEnded: false,
      error: undefined,
      turn: isSame || before.viewer === undefined ? before.turn : before.turn + 1,
      epoch: isSame && !before.hasEnded ? before.epoch : before.epoch + 1,
    };
  }
  const hasEnded = ended && !!before.viewer;
  return { ...before, viewer: hasEnded ? before.viewer : null, hasEnded, error: undefined };
}

/** Calls `changed` when another person may be signed in, by what another tab did; not where one failed to sign out. */
function onOtherTab(changed: () => void): () => void {
  let last: Change | undefined;
  const hear = (change: Change): void => {
    const isChange = change === 'signed-out' || (change === 'signed-in' && last !== 'signing-out');
    last = change;
    if (isChange) changed();
  };
  return joinPage(location.origin, (wasKept) => wasKept && changed(), hear).leave;
}

/** Whose views they are cannot be told afterwards, if it is not known yet. */
function thrownAway(before: State): State {
  return before.viewer === undefined ? { ...before, turn: before.turn + 1 } : before;
}

function inWords({ message, retryAfter: seconds }: GatewayError): string {
  return seconds === undefined ? message : `${withWait(message, seconds)}.`;
}
