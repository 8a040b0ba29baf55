import { randomBytes } from 'node:crypto';
import type { Keyv } from 'keyv';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSealer } from '../../src/lib/sealer.js';
import type { Database } from '../../src/store/database.js';
import { openDatabase } from '../support/database.js';
import { createKeyv } from '../../src/store/sealed-keyv.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import { SharedToken } from '../../src/upstream/shared-token.js';
import { abortedSignal } from '../support/endings.js';
import { engines } from '../support/engines.js';

const hour = 3_600_000;

describe.each(engines)('the shared token on %s', (_, createDatabase) => {
  let database: Database;
  let keyv: Keyv;
  let clock: { at: number; now(): number };
  let issued: string[];
  /** What the issuer answers: by default a new token each time. */
  let issue: () => Promise<string>;

  beforeEach(async () => {
    database = await openDatabase(await createDatabase(), { log: createTelemetry('silent').log });
    clock = { at: Date.now(), now: () => clock.at };
    const sealer = createSealer([randomBytes(32)]);
    keyv = createKeyv({ database, sealer, namespace: 'tokens', clock });
    issued = [];
    issue = async () => `token-${issued.length + 1}`;
  });

  afterEach(() => database.stop());

  /** The tokens of one replica. */
  function startReplica(key = 'key'): SharedToken {
    async function obtain() {
      await new Promise((resolve) => setTimeout(resolve, 20));
      const token = await issue();
      issued.push(token);
      return { token, lifetimeSeconds: 3600 };
    }
    return new SharedToken({ issuer: 'issuer', key, keyv, database, clock, obtain });
  }

  it('requests one token for a hundred waiting callers', async () => {
    const tokens = startReplica();
    const got = await Promise.all(Array.from({ length: 100 }, () => tokens.get()));
    expect(new Set(got)).toEqual(new Set(['token-1']));
    expect(issued).toEqual(['token-1']);
  });

  it('requests one token for all replicas, including one that starts later', async () => {
    const replicas = Array.from({ length: 5 }, () => startReplica());
    const got = await Promise.all(replicas.flatMap((tokens) => [tokens.get(), tokens.get()]));
    expect(new Set(got)).toEqual(new Set(['token-1']));
    expect(await startReplica().get()).toBe('token-1');
    expect(issued).toHaveLength(1);
  });

  it('requests one token for all replicas, however long it takes to store', async () => {
    const store = keyv;
    const set: Keyv['set'] = async (...entry) => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      return store.set(...entry);
    };
    keyv = Object.assign(Object.create(store) as Keyv, { set });
    const got = await Promise.all([startReplica().get(), startReplica().get()]);
    expect([got, issued]).toEqual([['token-1', 'token-1'], ['token-1']]);
  });

  it('keeps the tokens of different clients apart', async () => {
    expect(await startReplica('one').get()).toBe('token-1');
    expect(await startReplica('two').get()).toBe('token-2');
  });

  it('renews a token after 90 ± 5 % of its lifetime', async () => {
    const tokens = startReplica();
    await tokens.get();
    clock.at += hour * 0.84;
    expect(await tokens.get()).toBe('token-1');
    clock.at += hour * 0.12;
    expect(await tokens.get()).toBe('token-2');
  });

  it('keeps using the old token while the issuer fails, until it expires', async () => {
    const tokens = startReplica();
    await tokens.get();
    issue = () => Promise.reject(new Error('The issuer is away.'));
    clock.at += hour - 1_000;
    expect(await tokens.get()).toBe('token-1');
    clock.at += 1_000;
    await expect(tokens.get()).rejects.toThrow('The issuer is away.');
    issue = async () => 'token-2';
    expect(await tokens.get()).toBe('token-2');
  });

  it.each([
    ['that is due for renewal', 0.96, () => undefined],
    ['that is suspected', 0.5, (tokens: SharedToken) => tokens.suspect('token-1')],
  ])('asks a failing issuer once a minute while it has a token %s', async (__, age, prepare) => {
    const tokens = startReplica();
    await tokens.get();
    let attempts = 0;
    issue = () => Promise.reject(new Error(`The issuer is away: ${(attempts += 1)}.`));
    clock.at += hour * age;
    prepare(tokens);
    const seen: number[] = [];
    for (let minute = 0; minute < 2; minute += 1)
      for (const ms of [5_000, 50_000, 5_000]) {
        expect(await tokens.get()).toBe('token-1');
        seen.push(attempts);
        clock.at += ms;
      }
    expect(seen).toEqual([1, 1, 1, 2, 2, 2]);
  });

  it('asks a failing issuer at once if its old token is discarded', async () => {
    const tokens = startReplica();
    await tokens.get();
    clock.at += hour * 0.96;
    issue = () => Promise.reject(new Error('The issuer is away.'));
    expect(await tokens.get()).toBe('token-1');
    issue = async () => 'token-2';
    tokens.discard('token-1');
    expect(await tokens.get()).toBe('token-2');
  });

  it('uses a token that another replica gets while the issuer fails for this one', async () => {
    const [one, two] = [startReplica(), startReplica()];
    await one.get();
    clock.at += hour * 0.96;
    issue = () => Promise.reject(new Error('The issuer is away.'));
    expect(await one.get()).toBe('token-1');
    issue = async () => 'token-2';
    expect(await two.get()).toBe('token-2');
    clock.at += 5_000;
    expect(await one.get()).toBe('token-2');
    expect(issued).toHaveLength(2);
  });

  it('does not return a token that expired while the issuer was asked in vain', async () => {
    const tokens = startReplica();
    await tokens.get();
    clock.at += hour - 1_000;
    issue = async () => {
      clock.at += 1_000;
      throw new Error('The issuer is away.');
    };
    await expect(tokens.get()).rejects.toThrow('The issuer is away.');
  });

  it('counts the lifetime of a token from before it was requested', async () => {
    const tokens = startReplica();
    issue = async () => {
      clock.at += hour / 2;
      return `token-${issued.length + 1}`;
    };
    await tokens.get();
    clock.at += hour * 0.46;
    expect(await tokens.get()).toBe('token-2');
  });

  it('never returns a discarded token, and requests one new token for all callers', async () => {
    const tokens = startReplica();
    await tokens.get();
    const again = Array.from({ length: 100 }, () => {
      tokens.discard('token-1');
      return tokens.get();
    });
    expect(new Set(await Promise.all(again))).toEqual(new Set(['token-2']));
    tokens.discard('token-1');
    expect(await tokens.get()).toBe('token-2');
    expect(issued).toHaveLength(2);
  });

  it('waits no longer for another replica once it is stopped', async () => {
    const [one, two] = [startReplica(), startReplica()];
    let answer: ((token: string) => void) | undefined;
    issue = () => new Promise((resolve) => (answer = resolve));
    const first = one.get();
    await expect.poll(() => answer).toBeDefined();
    const second = two.get().catch((error: unknown) => error);
    two.stop();
    expect(await second).toMatchObject({ code: 'UPSTREAM_TIMEOUT', reason: 'abandoned' });
    await expect(two.get()).rejects.toMatchObject({ reason: 'abandoned' });
    answer!('token-1');
    expect(await first).toBe('token-1');
  });

  it('uses the old token while another replica waits for the issuer, then the new one', async () => {
    const [one, two] = [startReplica(), startReplica()];
    await one.get();
    clock.at += hour * 0.96;
    let answer: ((token: string) => void) | undefined;
    issue = () => new Promise((resolve) => (answer = resolve));
    const renewed = one.get();
    await expect.poll(() => answer).toBeDefined();
    expect(await two.get()).toBe('token-1');
    answer!('token-2');
    expect(await renewed).toBe('token-2');
    clock.at += 5_000;
    expect(await two.get()).toBe('token-2');
  });

  it('uses the token that another replica has renewed', async () => {
    const [one, two] = [startReplica(), startReplica()];
    await Promise.all([one.get(), two.get()]);
    one.discard('token-1');
    expect(await one.get()).toBe('token-2');
    two.discard('token-1');
    expect(await two.get()).toBe('token-2');
    expect(issued).toHaveLength(2);
  });

  it.each(Array.from({ length: 12 }, (__, turns) => turns))(
    'discards even a token that is being read, %i turns after the store has answered',
    async (turns) => {
      await startReplica().get();
      const store = keyv;
      const late: { discarding?: Promise<string> } = {};
      async function discardInTurn(): Promise<string> {
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        tokens.discard('token-1');
        return tokens.get();
      }
      const get = async (key: string) => {
        const kept: unknown = await store.get(key);
        late.discarding ??= discardInTurn();
        return kept;
      };
      keyv = Object.assign(Object.create(store) as Keyv, { get });
      const tokens = startReplica();
      await tokens.get();
      await new Promise(setImmediate); // By now it is discarded, and its successor is not here yet.
      expect(await Promise.all([tokens.get(), late.discarding])).toEqual(['token-2', 'token-2']);
    },
  );

  it('returns a discarded token if the issuer issues it again', async () => {
    issue = async () => 'the same';
    const tokens = startReplica();
    await tokens.get();
    tokens.discard('the same');
    expect(await tokens.get()).toBe('the same');
    expect(await tokens.get()).toBe('the same');
    expect(issued).toHaveLength(2);
  });

  it('replaces a suspected token, and returns it only while the issuer fails', async () => {
    const tokens = startReplica();
    await tokens.get();
    tokens.suspect('token-1');
    issue = () => Promise.reject(new Error('The issuer is away.'));
    expect(await tokens.get()).toBe('token-1');
    issue = async () => 'token-2';
    clock.at += 60_000;
    expect(await tokens.get()).toBe('token-2');
    expect(issued).toHaveLength(2);
  });

  it('does not return a suspected token once it is discarded as well', async () => {
    const tokens = startReplica();
    await tokens.get();
    tokens.suspect('token-1');
    issue = () => Promise.reject(new Error('The issuer is away.'));
    tokens.discard(await tokens.get());
    await expect(tokens.get()).rejects.toThrow('The issuer is away.');
  });

  it('asks once about a suspected token that the issuer issues again', async () => {
    issue = async () => 'the same';
    const tokens = startReplica();
    tokens.suspect(await tokens.get());
    await tokens.get();
    clock.at += 5_000;
    expect(await tokens.get()).toBe('the same');
    expect(issued).toHaveLength(2);
  });

  it('uses the token that another replica got in place of a suspected one', async () => {
    const [one, two] = [startReplica(), startReplica()];
    for (const tokens of [one, two]) tokens.suspect(await tokens.get());
    expect([await one.get(), await two.get()]).toEqual(['token-2', 'token-2']);
    expect(issued).toHaveLength(2);
  });

  it('keeps the request going when one of its callers leaves', async () => {
    const tokens = startReplica();
    const leaving = tokens.get(abortedSignal());
    const staying = tokens.get();
    await expect(leaving).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect(await staying).toBe('token-1');
  });

  it('asks the issuer again after a failure', async () => {
    const tokens = startReplica();
    issue = () => Promise.reject(new Error('The issuer is away.'));
    const failing = await Promise.allSettled([tokens.get(), tokens.get()]);
    expect(failing.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    issue = async () => 'token';
    expect(await tokens.get()).toBe('token');
  });

  it('stores tokens sealed', async () => {
    issue = async () => 'never-in-the-clear';
    await startReplica().get();
    const rows = await database.kysely.selectFrom('keyv').selectAll().execute();
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain('never-in-the-clear');
  });
});
