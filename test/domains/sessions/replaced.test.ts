import { expect, test, vi } from 'vitest';
import { sessionsResolvers, type SessionsContext } from '../../../src/domains/sessions/resolvers.js';
import type { Session } from '../../../src/domains/sessions/session.js';

const away = new Error('The database is away.');
const sessionOf = (sessionId: string) => ({ caller: { sessionId }, expiresAt: 1 }) as Session;

/** Signs in by a browser that has another session. */
async function signIn({ session, end }: { session(): Promise<Session>; end(): Promise<void> }) {
  const revoke = vi.fn<(id: string) => void>();
  const set = vi.fn<(token: string) => void>();
  const context = {
    caller: null,
    ip: '192.0.2.1',
    cookie: { session, set, clear() {} },
    sessions: { signIn: async () => ({ token: 'new', session: sessionOf('new'), user: {} }), end, revoke },
  } as unknown as SessionsContext;
  const { signIn: resolve } = sessionsResolvers.Mutation! as {
    signIn(...given: unknown[]): Promise<{ readonly sessionToken: string | null }>;
  };
  const { sessionToken } = await resolve({}, { input: { email: 'a', password: 'b' } }, context);
  return { sessionToken, kept: set.mock.calls.map(([token]) => token), revoked: revoke.mock.calls };
}

test('a session that cannot be ended as it is replaced is ended later, and the new one is not lost', async () => {
  const end = () => Promise.reject(away);
  expect(await signIn({ session: async () => sessionOf('old'), end })).toEqual({
    sessionToken: 'new',
    kept: ['new'],
    revoked: [['old']],
  });
});

test('a session is not lost because that which it replaces cannot be looked up', async () => {
  const end = async () => {};
  expect(await signIn({ session: () => Promise.reject(away), end })).toEqual({
    sessionToken: 'new',
    kept: ['new'],
    revoked: [],
  });
});
