import { setTimeout as sleep } from 'node:timers/promises';
import { ask, signIn } from './operations.js';

/** Tells a connection's session for its next request. */
export type SessionOf = (connection: number) => string;

/** Who uses a session: each connection its own, or all the same. */
export type Sharing = 'own' | 'shared';

/** More was answered than there are sessions for: sign in more often, and repeat the slice. */
export class SessionsExhausted extends Error {
  override readonly name = 'SessionsExhausted';
}

/** Fewer than the 1,000 calls an hour that the notes service allows a token: sign-in and what comes first take some. */
const callsEach = 950;
const atOnce = 8;

/**
 * Signs in at the server as often as so many answers take, each of so many calls of the notes service. A fresh session
 * first asks `first`, where that is given.
 */
export async function prepareSessions(
  url: string,
  connections: number,
  options: {
    readonly sharing: Sharing;
    readonly calls: number;
    readonly answers: number;
    readonly first?: string | undefined;
  },
): Promise<SessionOf> {
  const { sharing, calls, answers, first } = options;
  const each = calls === 0 ? Number.POSITIVE_INFINITY : Math.floor(callsEach / calls);
  const users = sharing === 'own' ? connections : 1;
  const pool: string[] = [];
  const begin = async () => {
    const session = await signIn(url);
    if (first !== undefined) await ask(url, first, session);
    pool.push(session);
  };
  for (let missing = users + Math.ceil(answers / each); missing > 0; missing -= atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, missing) }, begin));
  await sleep(20); // what signing in left behind is not part of the slice

  const current = Array.from({ length: users }, () => ({ session: '', left: 0 }));
  return (connection) => {
    const user = current[connection % users]!;
    if (user.left > 0) {
      user.left -= 1;
      return user.session;
    }
    const session = pool.pop();
    if (session === undefined)
      throw new SessionsExhausted('The slice took more sessions than were signed in.');
    current[connection % users] = { session, left: each - 1 };
    return session;
  };
}
