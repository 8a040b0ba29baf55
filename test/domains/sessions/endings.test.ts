import { randomBytes } from 'node:crypto';
import { Grants } from '../../../src/domains/sessions/grants.js';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSealer } from '../../../src/lib/sealer.js';
import type { Session } from '../../../src/domains/sessions/session.js';
import { createSessions } from '../../../src/domains/sessions/sessions.js';
import type { Database } from '../../../src/store/database.js';
import { openDatabase } from '../../support/database.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { engines } from '../../support/engines.js';

const telemetry = createTelemetry('silent');
const clock = { now: () => Date.parse('2026-01-01T00:00:00.000Z') };
const sealer = createSealer([randomBytes(32)]);
const hour = 60 * 60 * 1000;

/** A client of the notes service that must not be called. */
const notes = new Proxy({} as Parameters<typeof createSessions>[0]['notes'], {
  get: () => () => Promise.reject(new Error('The notes service is not there.')),
});

describe.each(engines)('the end of a session on %s', (_, createUrl) => {
  let database: Database;
  /** How many queries have read sessions. */
  let queries: number;

  beforeEach(async () => {
    database = await openDatabase(await createUrl(), telemetry);
    onTestFinished(() => database.stop());
    queries = 0;
  });

  /** Sessions over the database, which get signals only from `signal`. */
  function open() {
    let signal: (payload: string) => void = () => undefined;
    const listen: Database['listen'] = (channel, listener) => {
      signal = listener;
      return database.listen(channel, () => undefined);
    };
    const kysely = database.kysely.withPlugin({
      transformQuery({ node }) {
        if (node.kind === 'SelectQueryNode') queries += 1;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const sessions = createSessions({
      database: { ...database, kysely, listen },
      notes,
      sealer,
      clock,
      grants: new Grants(new Map()),
      telemetry,
    });
    onTestFinished(() => sessions.stop());
    queries = 0; // preparing a statement does not count
    return { sessions, signal };
  }

  /** Watches this many sessions, one of which may have ended before; returns those reported as ended. */
  async function watch(count: number, { sessions }: ReturnType<typeof open>, endedBefore?: string) {
    const ids = Array.from({ length: count }, (__, at) => `session ${at}`);
    const row = {
      user_id: 'usr_1',
      email: 'user',
      notes_token: '',
      created_at: 0,
      expires_at: clock.now() + hour,
    };
    await database.kysely
      .insertInto('sessions')
      .values(ids.filter((id) => id !== endedBefore).map((id) => ({ id, ...row })))
      .execute();
    const ended: string[] = [];
    for (const id of ids) {
      const caller = { sessionId: id, userId: 'usr_1', email: 'user', grants: new Set<never>() };
      const session: Session = { caller, notesToken: '', expiresAt: row.expires_at };
      sessions.watch(session, () => ended.push(id));
    }
    return ended;
  }

  /** The same, once it was checked whether any had ended before they were watched. */
  async function watchFirst(count: number, opened: ReturnType<typeof open>) {
    const ended = await watch(count, opened);
    await vi.waitFor(() => expect(queries).toBeGreaterThanOrEqual(count / 500), 20_000);
    return ended;
  }

  const signOut = (id: string) => database.kysely.deleteFrom('sessions').where('id', '=', id).execute();

  test('is noticed if it came between finding and watching the session, with one query for many', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const ended = await watch(700, open(), 'session 650');
    expect(queries).toBe(0);
    vi.advanceTimersByTime(2_999); // the regular check of all watched sessions is not due yet, and never will be
    vi.useRealTimers();
    await vi.waitFor(() => expect(ended).toEqual(['session 650']), 20_000);
    expect(queries).toBe(2);
  });

  test('is noticed within seconds if its signal is lost, with one query for many', async () => {
    const ended = await watchFirst(700, open());
    queries = 0;
    await signOut('session 650');
    await vi.waitFor(() => expect(ended).toEqual(['session 650']), 20_000);
    expect(queries).toBeLessThan(20);
  });

  test('is looked for among 500 of many at a time, since few signals are lost', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const ended = await watchFirst(1_200, open());
    await signOut('session 1100');
    queries = 0;
    for (const round of [1, 2, 3]) {
      expect(ended).toEqual([]);
      vi.advanceTimersByTime(3_000);
      await expect.poll(() => queries).toBe(round);
    }
    await expect.poll(() => ended).toEqual(['session 1100']);
  });

  test('is checked for at once if signals may have been missed', async () => {
    const opened = open();
    const ended = await watchFirst(3, opened);
    await signOut('session 1');
    const before = queries;
    opened.signal('');
    await vi.waitFor(() => expect(queries).toBeGreaterThan(before), { interval: 1, timeout: 10_000 });
    await expect.poll(() => ended).toEqual(['session 1']);
  });
});
