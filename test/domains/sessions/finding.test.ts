import { Grants } from '../../../src/domains/sessions/grants.js';
import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { NotesClient } from '../../../src/domains/notes/service/client.js';
import { createSealer } from '../../../src/lib/sealer.js';
import { createSessions, type Sessions, type SignedIn } from '../../../src/domains/sessions/sessions.js';
import { LightAbortController } from '../../../src/lib/async/abort.js';
import type { Database } from '../../../src/store/database.js';
import { openDatabase } from '../../support/database.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { engines } from '../../support/engines.js';
import { heapInUse, mebibyte } from '../../support/memory.js';

const telemetry = createTelemetry('silent');
const start = Date.parse('2026-01-01T00:00:00.000Z');
const signedIn = { token: 'token', expiresAt: start + 60_000 };
const user = { upstreamId: 'usr_1', email: 'user', name: 'User', createdAt: '2026-01-01T00:00:00Z' };

/** A client of the notes service that accepts every sign-in. */
const notes = { signIn: async () => signedIn, me: async () => user } as unknown as NotesClient;

async function signIn(sessions: Sessions): Promise<SignedIn> {
  const signal = new LightAbortController();
  const opened = await sessions.signIn({ email: 'user', password: 'password', ip: '', signal });
  if (opened === 'WRONG_CREDENTIALS') throw new Error('Nobody is wrong here.');
  return opened;
}

/** Has a database answer nothing until `answer` is called; `asked` tells how many statements came. */
function holdAnswers({ kysely }: Database) {
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const execute = kysely.executeQuery.bind(kysely);
  const spy = vi.spyOn(kysely, 'executeQuery').mockImplementation(async (query) => {
    await answered;
    return execute(query);
  });
  return { answer, asked: () => spy.mock.calls.length };
}

describe.each(engines)('a session on %s', (engine, createUrl) => {
  async function open() {
    const database = await openDatabase(await createUrl(), telemetry);
    const time = { now: start };
    const options = {
      database,
      notes,
      sealer: createSealer([randomBytes(32)]),
      clock: { now: () => time.now },
      grants: new Grants(new Map()),
      telemetry,
    };
    const sessions = createSessions(options);
    const others = createSessions(options);
    onTestFinished(async () => {
      sessions.stop();
      others.stop();
      await database.stop();
    });
    return { database, sessions, others, time, ...(await signIn(sessions)) };
  }

  test('is cached after signing in, and read from the store some seconds later', async () => {
    const { sessions, time, token, session } = await open();
    expect(sessions.find(token)).toEqual(session);
    time.now += 5_000;
    const found = sessions.find(token);
    expect(found).toBeInstanceOf(Promise);
    expect(await found).toEqual(session);
    expect(sessions.find(token)).toEqual(session);
  });

  test('begins even if the network that it began from cannot be remembered', async () => {
    const { database, sessions } = await open();
    const insertInto = database.kysely.insertInto.bind(database.kysely);
    const spy = vi.spyOn(database.kysely, 'insertInto').mockImplementation((table) => {
      if (table === 'keyv') throw new Error('The database is away.');
      return insertInto(table) as never;
    });
    const signal = new LightAbortController();
    const opened = sessions.signIn({ email: 'user', password: 'password', ip: '192.0.2.1', signal });
    const { token, session } = (await opened) as SignedIn;
    expect(spy).toHaveBeenCalledWith('keyv');
    expect(await sessions.find(token)).toEqual(session);
  });

  test('is deleted once it has expired, but not by a replica whose clock is ahead of the database', async () => {
    const { sessions, others, time, token } = await open();
    const existsLater = async () => {
      time.now += 100_000;
      await signIn(sessions);
      time.now -= 90_000; // past the time in the cache
      return (await others.find(token)) !== undefined;
    };
    const now = Date.now.bind(Date);
    const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() + 600_000);
    expect(await existsLater()).toBe(engine === 'postgres');
    spy.mockRestore();
    expect(await existsLater()).toBe(false);
  });

  test('is not found by another token, nor once it has ended', async () => {
    const { sessions, token, session } = await open();
    expect(await sessions.find(`${token}a`)).toBeUndefined();
    expect(await sessions.find('')).toBeUndefined();
    const ending = sessions.end(session.caller.sessionId);
    expect(await sessions.find(token)).toBeUndefined();
    await ending;
    expect(await sessions.find(token)).toBeUndefined();
  });

  test('is looked for beside unknown tokens, of which a few are looked for at once', async () => {
    const { database, sessions, time, token, session } = await open();
    const execute = database.kysely.executeQuery.bind(database.kysely);
    const count = { running: 0, most: 0, unknown: 0 };
    vi.spyOn(database.kysely, 'executeQuery').mockImplementation(async (query) => {
      count.running += 1;
      count.most = Math.max(count.most, count.running);
      return execute(query).finally(() => (count.running -= 1));
    });
    time.now += 5_000;
    const unknown = Array.from({ length: 100 }, async (_, at) => {
      await sessions.find(`${token}${at}`);
      count.unknown += 1;
    });
    expect(await sessions.find(token)).toEqual(session);
    expect(count.unknown).toBeLessThan(10);
    await Promise.all(unknown);
    expect(count.most).toBe(4);
  });

  test('is not looked for any more once its turn has not come in time', async () => {
    const { database, sessions, time, token } = await open();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { answer, asked } = holdAnswers(database);
    time.now += 5_000;
    const found = [1, 2, 3, 4, 5].map(() =>
      Promise.resolve(sessions.find(token)).catch((error: unknown) => error),
    );
    await vi.advanceTimersByTimeAsync(5_000);
    for (const one of found) expect(await one).toMatchObject({ message: /not looked up within 5000 ms/ });
    await vi.advanceTimersByTimeAsync(1);
    answer();
    vi.useRealTimers();
    expect(await sessions.find('unknown')).toBeUndefined();
    expect(asked()).toBe(5); // four of the others
  });

  test('is not taken for none where its turn comes too late', async () => {
    const { database, sessions, time, token } = await open();
    const { answer } = holdAnswers(database);
    time.now += 5_000;
    const found = [1, 2, 3, 4, 5].map(() => Promise.resolve(sessions.find(token)).catch(String));
    // As after a pause of the whole process: no timer has run yet.
    const now = performance.now() + 6_000;
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now);
    onTestFinished(() => clock.mockRestore());
    answer();
    expect(await found[4]).toContain('came too late');
  });

  test('is not cached by a reader that its end overtakes', async () => {
    const { database, sessions, time, token, session } = await open();
    const execute = database.kysely.executeQuery.bind(database.kysely);
    time.now += 5_000;
    vi.spyOn(database.kysely, 'executeQuery').mockImplementationOnce(async (query) => {
      const read = await execute(query);
      await sessions.end(session.caller.sessionId);
      return read;
    });
    expect(await sessions.find(token)).toEqual(session);
    expect(await sessions.find(token)).toBeUndefined();
  });

  test('is not found in a cache when its end may have been missed', async () => {
    const { database, others, token, session } = await open();
    expect(await others.find(token)).toEqual(session);
    await database.kysely.deleteFrom('sessions').execute();
    expect(others.find(token)).toEqual(session);
    database.signal('sessions', '');
    await expect.poll(() => others.find(token)).toBeUndefined();
  });

  test('is not found with the notes token of another', async () => {
    const { database, sessions, others, token, session } = await open();
    await signIn(sessions);
    const rows = await database.kysely.selectFrom('sessions').select(['id', 'notes_token']).execute();
    const { notes_token } = rows.find(({ id }) => id !== session.caller.sessionId)!;
    await database.kysely.updateTable('sessions').set({ notes_token }).execute();
    expect(await others.find(token)).toBeUndefined();
  });

  test('is not found here once it is revoked while the database fails, and ends when that works again', async () => {
    const { database, sessions, others, token, session } = await open();
    const { token: otherToken } = await signIn(sessions);
    const [endedHere, ended] = [vi.fn<() => void>(), vi.fn<() => void>()];
    sessions.watch(session, endedHere);
    others.watch(session, ended);
    const { schema } = database.kysely;
    await schema.alterTable('sessions').renameTo('away').execute();
    const attempts = vi.spyOn(database.kysely, 'deleteFrom');
    sessions.revoke(session.caller.sessionId);
    await vi.waitFor(() => expect(attempts.mock.calls.length).toBeGreaterThan(1), 20_000);
    expect(await sessions.find(token)).toBeUndefined();
    expect(endedHere).toHaveBeenCalledOnce();
    expect(ended).not.toHaveBeenCalled();
    await schema.alterTable('away').renameTo('sessions').execute();
    expect(await sessions.find(token)).toBeUndefined();
    await vi.waitFor(() => expect(ended).toHaveBeenCalledOnce(), 20_000);
    expect(await others.find(token)).toBeUndefined();
    expect(await others.find(otherToken)).toBeDefined();
  });

  test('is not found here either once revoking it is given up, as this process stops', async () => {
    const { database, sessions, token, session } = await open();
    const { schema } = database.kysely;
    await schema.alterTable('sessions').renameTo('away').execute();
    const attempts = vi.spyOn(database.kysely, 'deleteFrom');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    sessions.revoke(session.caller.sessionId);
    await vi.waitFor(() => expect(attempts.mock.calls.length).toBeGreaterThan(1), 20_000);
    sessions.stop();
    const before = attempts.mock.calls.length;
    await schema.alterTable('away').renameTo('sessions').execute();
    await vi.advanceTimersByTimeAsync(5_000); // longer than the longest pause between two attempts
    vi.useRealTimers();
    expect(attempts).toHaveBeenCalledTimes(before);
    expect(await sessions.find(token)).toBeUndefined();
  });

  test('expires with its notes token, even while it is cached', async () => {
    const { sessions, time, token, session } = await open();
    time.now = signedIn.expiresAt - 1;
    expect(await sessions.find(token)).toEqual(session);
    time.now = signedIn.expiresAt;
    expect(await sessions.find(token)).toBeUndefined();
  });

  test('is cached without the headers that its token came in', async () => {
    const { sessions, others } = await open();
    const tokens = [];
    for (let count = 0; count < 40; count += 1) tokens.push((await signIn(sessions)).token);
    const before = heapInUse();
    for (const [at, token] of tokens.entries()) {
      const given = at % 2 === 0 ? token : token.replace(/.{8}$/, 'is wrong');
      const header = `${'x'.repeat(mebibyte)} ${given}`;
      const session = await others.find(header.slice(-given.length));
      expect(session !== undefined).toBe(given === token);
    }
    expect(heapInUse() - before).toBeLessThan(10 * mebibyte);
  });
});
