import { setTimeout as sleep } from 'node:timers/promises';
import { ask, signIn, type Session } from './operations.js';

/** Returns the session for a connection's next request. */
export type SessionOf = (connection: number) => Session;

/** Whether each connection has a session of its own, or all share one. */
export type Sharing = 'own' | 'shared';

/** More was answered than there are sessions for: sign in more often, and repeat the slice. */
export class SessionsExhausted extends Error {
  override readonly name = 'SessionsExhausted';
}

/** Below the 1,000 calls an hour that the notes service allows a token: sign-in and the first query take some. */
const callsEach = 950;
const atOnce = 8;

/**
 * Opens enough sessions for so many answers, each of which takes so many calls to the notes service. If `first` is
 * given, each session starts with that query. Each is of a user of its own, or all are of `user`.
 */
export async function prepareSessions(
  url: string,
  connections: number,
  options: {
    readonly sharing: Sharing;
    readonly calls: number;
    readonly answers: number;
    readonly first?: string | undefined;
    readonly user?: number;
  },
): Promise<SessionOf> {
  const { sharing, calls, answers, first, user } = options;
  const each = calls === 0 ? Number.POSITIVE_INFINITY : Math.floor(callsEach / calls);
  const askers = sharing === 'own' ? connections : 1;
  const pool: Session[] = [];
  const begin = async () => {
    const session = await signIn(url, user);
    if (first !== undefined) await ask(url, first, session);
    pool.push(session);
  };
  for (let missing = askers + Math.ceil(answers / each); missing > 0; missing -= atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, missing) }, begin));
  await sleep(20); // work that signing in leaves behind is not part of the slice

  const current: { readonly session: Session; left: number }[] = [];
  return (connection) => {
    const asker = current[connection % askers];
    if (asker && asker.left > 0) {
      asker.left -= 1;
      return asker.session;
    }
    const session = pool.pop();
    if (session === undefined)
      throw new SessionsExhausted('The slice took more sessions than were signed in.');
    current[connection % askers] = { session, left: each - 1 };
    return session;
  };
}
