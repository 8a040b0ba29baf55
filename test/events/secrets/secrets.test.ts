import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { TooManyWaiting } from '../../../src/lib/async/coalesced-read.js';
import { SecretCache } from '../../../src/events/secrets/secret-cache.js';
import { type Rotation, SecretLost } from '../../../src/events/secrets/rotation.js';
import { createSecrets, type Secrets } from '../../../src/events/secrets/secrets.js';
import { createSealer, type Sealer } from '../../../src/lib/sealer.js';
import type { Database } from '../../../src/store/database.js';
import { openDatabase } from '../../support/database.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { engines } from '../../support/engines.js';

const hour = 60 * 60 * 1000;
const start = Date.parse('2026-01-01T00:00:00.000Z');
const lines: string[] = [];
const telemetry = createTelemetry('info', { write: (line) => void lines.push(line) });
const key = randomBytes(32);
const pe1 = { family: 'payments', endpointId: 'pe_1' };

const unopened = (endpoint: string) => new RegExp(`endpoint ${endpoint} was sealed .* SECRET_KEYS`);
const soon = () => new Promise((resolve) => setTimeout(resolve, 10));

describe.each(engines)('secrets on %s', (engine, createUrl) => {
  let url: string;
  let database: Database;
  let now: number;
  let opened: Secrets[];

  beforeEach(async () => {
    url = await createUrl();
    database = await openDatabase(url, { log: telemetry.log });
    now = start;
    opened = [];
    lines.length = 0;
  });

  afterEach(async () => {
    await Promise.all(opened.map((secrets) => secrets.stop()));
    await database.stop();
  });

  /** The secrets of a process that starts on the database with this configuration. */
  async function open(
    configured: { readonly [family in 'shipments' | 'payments']?: Readonly<Record<string, string>> },
    { on = database, sealer = createSealer([key]) }: { on?: Database; sealer?: Sealer } = {},
  ): Promise<Secrets> {
    const { shipments = {}, payments = {} } = configured;
    const secrets = await createSecrets({
      database: on,
      sealer,
      clock: { now: () => now },
      telemetry,
      families: [
        { name: 'shipments', rotates: false },
        { name: 'payments', rotates: true },
      ],
      configured: {
        shipments: new Map(Object.entries(shipments)),
        payments: new Map(Object.entries(payments)),
      },
    });
    opened.push(secrets);
    return secrets;
  }

  test('returns the configured secrets, and none for what is not configured', async () => {
    const secrets = await open({ shipments: { sub_1: 's1' }, payments: { pe_1: 'p1' } });
    expect(secrets.valid({ family: 'shipments', endpointId: 'sub_1' })).toEqual(['s1']);
    expect(secrets.valid(pe1)).toEqual(['p1']);
    for (const [family, endpointId] of [
      ['payments', 'sub_1'],
      ['shipments', 'pe_1'],
      ['other', 'pe_1'],
      ['payments', '__proto__'],
      ['payments', ''],
    ] as const) {
      expect(secrets.valid({ family, endpointId })).toBeUndefined();
      expect(await secrets.latest({ family, endpointId })).toBeUndefined();
    }
  });

  test('does not know an endpoint that is no longer configured, but keeps its row', async () => {
    await open({ payments: { pe_1: 'p1', pe_2: 'p2' } });
    const secrets = await open({ payments: { pe_2: 'p2' } });
    expect(secrets.valid(pe1)).toBeUndefined();
    expect(await secrets.latest(pe1)).toBeUndefined();
    expect(await database.kysely.selectFrom('webhook_secrets').selectAll().execute()).toHaveLength(2);
  });

  test('stores nothing in plain text', async () => {
    const secrets = await open({ shipments: { sub_1: 'clear-1' }, payments: { pe_1: 'clear-2' } });
    await secrets.rotate(pe1, async () => 'clear-3');
    const rows = await database.kysely.selectFrom('webhook_secrets').selectAll().execute();
    expect(rows).toHaveLength(2);
    expect(JSON.stringify(rows)).not.toMatch(/clear-/);
  });

  test('refuses a sealed secret that was copied from another endpoint', async () => {
    await open({ payments: { pe_1: 'p1', pe_2: 'p2' } });
    const { kysely } = database;
    const row = await kysely
      .selectFrom('webhook_secrets')
      .selectAll()
      .where('endpoint_id', '=', 'pe_1')
      .executeTakeFirstOrThrow();
    const { current, configured } = row;
    await kysely
      .updateTable('webhook_secrets')
      .set({ current, configured })
      .where('endpoint_id', '=', 'pe_2')
      .execute();
    await expect(open({ payments: { pe_2: 'p2' } })).rejects.toThrow(unopened('payments/pe_2'));
  });

  test('takes over a changed setting, and keeps the payment secret that it replaces for 24 hours', async () => {
    await open({ shipments: { sub_1: 's1' }, payments: { pe_1: 'p1' } });
    now += hour;
    const secrets = await open({ shipments: { sub_1: 's2' }, payments: { pe_1: 'p2' } });
    expect(secrets.valid({ family: 'shipments', endpointId: 'sub_1' })).toEqual(['s2']);
    expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
    now += 24 * hour - 1;
    expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
    now += 1;
    expect(secrets.valid(pe1)).toEqual(['p2']);
  });

  test('keeps a rotated secret until the setting changes', async () => {
    const first = await open({ payments: { pe_1: 'p1' } });
    await first.rotate(pe1, async () => 'rotated');
    now += hour;
    const second = await open({ payments: { pe_1: 'p1' } });
    expect(second.valid(pe1)).toEqual(['rotated', 'p1']);
    const third = await open({ payments: { pe_1: 'rotated' } });
    expect(third.valid(pe1)).toEqual(['rotated', 'p1']);
    const fourth = await open({ payments: { pe_1: 'p3' } });
    expect(fourth.valid(pe1)).toEqual(['p3', 'rotated', 'p1']);
    now += 23 * hour;
    expect(fourth.valid(pe1)).toEqual(['p3', 'rotated']);
  });

  test('gives processes that start at once the same secrets', async () => {
    await open({ payments: { pe_1: 'p1' } });
    now += hour;
    const all = await Promise.all(
      Array.from({ length: 8 }, () => open({ payments: { pe_1: 'p2', pe_2: 'x' } })),
    );
    for (const secrets of all) {
      expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
      expect(secrets.valid({ family: 'payments', endpointId: 'pe_2' })).toEqual(['x']);
    }
  });

  test('keeps the secrets of all processes that start at once with other ones', async () => {
    const first = await open({ payments: { pe_1: 'p1' } });
    await Promise.all(['p2', 'p3', 'p4'].map((secret) => open({ payments: { pe_1: secret } })));
    expect((await first.latest(pe1))!.toSorted()).toEqual(['p1', 'p2', 'p3', 'p4']);
  });

  test('takes a rotated secret into use, and keeps the old one for 24 hours', async () => {
    const secrets = await open({ payments: { pe_1: 'p1' } });
    expect(await secrets.rotate(pe1, async () => 'p2')).toEqual<Rotation>({
      rotatedAt: '2026-01-01T00:00:00.000Z',
      previousValidUntil: '2026-01-02T00:00:00.000Z',
    });
    expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
    now += hour;
    await secrets.rotate(pe1, async () => 'p3');
    expect(secrets.valid(pe1)).toEqual(['p3', 'p2', 'p1']);
    now += 23 * hour - 1;
    expect(secrets.valid(pe1)).toEqual(['p3', 'p2', 'p1']);
    now += 1;
    expect(secrets.valid(pe1)).toEqual(['p3', 'p2']);
    now += hour;
    expect(secrets.valid(pe1)).toEqual(['p3']);
  });

  test('keeps the last ten secrets replaced within 24 hours, even through a restart', async () => {
    const secrets = await open({ payments: { pe_1: 'p0' } });
    for (let count = 1; count <= 12; count++) await secrets.rotate(pe1, async () => `p${count}`);
    const kept = Array.from({ length: 11 }, (_, at) => `p${12 - at}`);
    expect(secrets.valid(pe1)).toEqual(kept);
    expect((await open({ payments: { pe_1: 'p0' } })).valid(pe1)).toEqual(kept);
  });

  test('does not list a previous secret twice when it becomes current again', async () => {
    const configure = (secret: string) => open({ payments: { pe_1: secret } });
    await configure('p1');
    await configure('p2');
    expect((await configure('p1')).valid(pe1)).toEqual(['p1', 'p2']);
    expect((await configure('p2')).valid(pe1)).toEqual(['p2', 'p1']);
  });

  test.each([
    ['', JSON.stringify([{ secret: 'p1', until: start + hour }]), null],
    [', as version 0.1.0 stored it', 'p1', start + hour],
  ])('reads a row with one previous secret%s, and adds more to it', async (_, previous, until) => {
    const sealer = createSealer([key]);
    const seal = (secret: string) => sealer.seal(secret, 'webhook_secrets payments pe_1');
    const row = {
      family: 'payments',
      endpoint_id: 'pe_1',
      current: seal('p2'),
      previous: seal(previous),
      previous_until: until,
      configured: seal('p1'),
      changed_at: start,
    };
    await database.kysely.insertInto('webhook_secrets').values(row).execute();
    const secrets = await open({ payments: { pe_1: 'p1' } });
    expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
    expect(await rows()).toEqual([row]);
    await secrets.rotate(pe1, async () => 'p3');
    expect(await secrets.latest(pe1)).toEqual(['p3', 'p2', 'p1']);
    now += hour;
    await secrets.rotate(pe1, async () => 'p4');
    expect(await secrets.latest(pe1)).toEqual(['p4', 'p3', 'p2']);
  });

  test('stores a replaced secret so that version 0.1.0, beside or after this one, accepts it as long', async () => {
    const sealer = createSealer([key]);
    const secrets = await open({ payments: { pe_1: 'p1' } });
    await secrets.rotate(pe1, async () => 'p2');
    const [row] = await database.kysely.selectFrom('webhook_secrets').selectAll().execute();
    expect(sealer.open(row!.previous!, 'webhook_secrets payments pe_1')).toBe('p1');
    expect(row!.previous_until).toBe(start + 24 * hour);
  });

  test('logs the endpoint and outcome of each rotation once, marked for an audit, and no secret', async () => {
    const secrets = await open({ payments: { pe_1: 'clear-1' } });
    await secrets.rotate(pe1, async () => 'clear-2');
    await secrets.rotate(pe1, async () => ({ refused: 404 }));
    const cut = new Error('cut');
    await expect(secrets.rotate(pe1, () => Promise.reject(cut))).rejects.toBe(cut);
    const about = { audit: true, family: 'payments', endpointId: 'pe_1' };
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        level: 30,
        ...about,
        previousValidUntil: '2026-01-02T00:00:00.000Z',
        msg: 'rotated a webhook secret',
      },
      { level: 40, ...about, refusal: { refused: 404 }, msg: 'failed to rotate a webhook secret' },
      { level: 40, ...about, err: { message: 'cut' }, msg: 'failed to rotate a webhook secret' },
    ]);
    expect(lines.join('')).not.toContain('clear-');
  });

  test('takes a rotated secret into use even if the clock was set back', async () => {
    const secrets = await open({ payments: { pe_1: 'p1' } });
    now -= hour;
    await secrets.rotate(pe1, async () => 'p2');
    expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
  });

  test('rotates no endpoint that is not configured, or whose family does not rotate', async () => {
    const secrets = await open({ shipments: { sub_1: 's1' }, payments: { pe_1: 'p1' } });
    const obtain = vi.fn<() => Promise<string>>(async () => 'p2');
    for (const [family, endpointId] of [
      ['payments', 'sub_1'],
      ['payments', 'pe_2'],
      ['shipments', 'sub_1'],
    ] as const)
      expect(await secrets.rotate({ family, endpointId }, obtain)).toBeUndefined();
    expect(obtain).not.toHaveBeenCalled();
  });

  test('passes on a refusal or a failure, changes nothing, and allows the next rotation', async () => {
    const secrets = await open({ payments: { pe_1: 'p1' } });
    const outcomes = await Promise.allSettled([
      secrets.rotate(pe1, async () => ({ refused: 404 })),
      secrets.rotate(pe1, async () => {
        throw new Error('cut');
      }),
    ]);
    expect(outcomes).toEqual([
      { status: 'fulfilled', value: { refused: 404 } },
      { status: 'rejected', reason: new Error('cut') },
    ]);
    expect(secrets.valid(pe1)).toEqual(['p1']);
    await secrets.rotate(pe1, async () => 'p2');
    expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
  });

  test('runs one rotation of an endpoint at a time, so that the secret issued last is current', async () => {
    const replicas = [await open({ payments: { pe_1: 'p0' } }), await open({ payments: { pe_1: 'p0' } })];
    let given = 0;
    let inFlight = 0;
    let most = 0;
    const obtain = async () => {
      most = Math.max(most, ++inFlight);
      const secret = `p${++given}`;
      await new Promise((resolve) => setTimeout(resolve, 5));
      inFlight--;
      return secret;
    };
    await Promise.all([0, 1, 2, 3].map((at) => replicas[at % 2]!.rotate(pe1, obtain)));
    expect(most).toBe(1);
    for (const replica of replicas) expect(await replica.latest(pe1)).toEqual(['p4', 'p3', 'p2', 'p1', 'p0']);
  });

  test.each([
    ['is not written at first', false],
    ['is written, but the database does not say so', true],
  ])('stores the new secret, which is shown only once, even if it %s', async (_, isWritten) => {
    let failures = 0;
    const fail = () => {
      failures += 1;
      throw new Error('cut');
    };
    const updates = new WeakSet<object>();
    const failing = database.kysely.withPlugin({
      transformQuery({ node, queryId }) {
        if (failures > 0 || node.kind !== 'UpdateQueryNode') return node;
        updates.add(queryId);
        return isWritten ? node : fail();
      },
      transformResult: async ({ result, queryId }) => (isWritten && updates.has(queryId) ? fail() : result),
    });
    const secrets = await open({ payments: { pe_1: 'p1' } }, { on: { ...database, kysely: failing } });
    await secrets.rotate(pe1, async () => 'p2');
    expect([failures, secrets.valid(pe1)]).toEqual([1, ['p2', 'p1']]);
    expect(await (await open({ payments: { pe_1: 'p1' } })).latest(pe1)).toEqual(['p2', 'p1']);
  });

  if (engine === 'postgres')
    test('stores the new secret even while slow reads have every connection for reads', async () => {
      const secrets = await open({ payments: { pe_1: 'p1' } });
      let reads: Promise<unknown>[] = [];
      await database.kysely.transaction().execute(async (holder) => {
        await sql`select pg_advisory_xact_lock(1)`.execute(holder);
        await secrets.rotate(pe1, async () => {
          const slow = sql`select pg_advisory_xact_lock_shared(1)`;
          reads = Array.from({ length: 30 }, () => slow.execute(database.kysely));
          return 'p2';
        });
      });
      await Promise.all(reads);
      expect(secrets.valid(pe1)).toEqual(['p2', 'p1']);
    });

  test('keeps the old secret if the new one cannot be stored', async () => {
    const secrets = await open({ payments: { pe_1: 'p1' } });
    const rotation = secrets.rotate(pe1, async () => {
      await database.kysely.schema.alterTable('webhook_secrets').renameTo('away').execute();
      return 'clear-2';
    });
    await expect(rotation).rejects.toMatchObject({ name: 'SecretLost', why: 'NOT_STORED' });
    await expect(rotation).rejects.not.toMatchObject({ message: expect.stringContaining('clear') });
    expect(secrets.valid(pe1)).toEqual(['p1']);
    await database.kysely.schema.alterTable('away').renameTo('webhook_secrets').execute();
    await secrets.rotate(pe1, async () => 'p3');
    expect(secrets.valid(pe1)).toEqual(['p3', 'p1']);
  });

  test('refuses a new secret that is already valid', async () => {
    const withoutSignals: Database = { ...database, listen: () => () => undefined };
    const secrets = await open({ payments: { pe_1: 'clear-1' } }, { on: withoutSignals });
    await (await open({ payments: { pe_1: 'clear-1' } })).rotate(pe1, async () => 'clear-2');
    const before = await rows();
    for (const known of ['clear-1', 'clear-2'])
      await expect(secrets.rotate(pe1, async () => known)).rejects.toEqual(new SecretLost('NOT_NEW'));
    expect(await rows()).toEqual(before);
    expect(lines.join('')).not.toContain('clear-');
    await secrets.rotate(pe1, async () => 'clear-3');
    expect(secrets.valid(pe1)).toEqual(['clear-3', 'clear-2', 'clear-1']);
  });

  test('does not let a rotation that outlived its lease replace a later secret', async () => {
    const replicas = [await open({ payments: { pe_1: 'p1' } }), await open({ payments: { pe_1: 'p1' } })];
    const late = replicas[0]!.rotate(pe1, async () => {
      await database.kysely.deleteFrom('leases').execute(); // as if it had expired
      await replicas[1]!.rotate(pe1, async () => 'p3');
      return 'p2';
    });
    await expect(late).rejects.toMatchObject({ name: 'SecretLost', why: 'NOT_STORED' });
    for (const replica of replicas) expect(await replica.latest(pe1)).toEqual(['p3', 'p1']);
  });

  test('reseals at a start during a rotation without making the rotation fail', async () => {
    const next = randomBytes(32);
    const secrets = await open({ payments: { pe_1: 'p1' } }, { sealer: createSealer([key, next]) });
    await secrets.rotate(pe1, async () => {
      const before = await rows();
      await open({ payments: { pe_1: 'p1' } }, { sealer: createSealer([next, key]) });
      expect(await rows()).not.toEqual(before);
      return 'p2';
    });
    expect(await secrets.latest(pe1)).toEqual(['p2', 'p1']);
  });

  test('reads a secret rotated by another process when it gets the signal', async () => {
    const replica = await openReplica();
    const [a, b] = [
      await open({ payments: { pe_1: 'p1' } }),
      await open({ payments: { pe_1: 'p1' } }, { on: replica }),
    ];
    await a.rotate(pe1, async () => 'p2');
    await vi.waitFor(() => expect(b.valid(pe1)).toEqual(['p2', 'p1']), 5000);
    await b.stop();
    if (replica !== database) await replica.stop();
  });

  test('reads all endpoints in one statement at the start, and a rotated one in another', async () => {
    const ids = Array.from({ length: 30 }, (_, at) => `pe_${at}`);
    const payments = Object.fromEntries(ids.map((id) => [id, `of ${id}`]));
    const a = await open({ payments });
    const { recorded, reads } = recordReads(await openReplica());
    const b = await open({ payments }, { on: recorded });
    await vi.waitFor(() => expect(reads).toHaveLength(2), 5000); // and once more, for rotations during the start
    await a.rotate({ family: 'payments', endpointId: 'pe_7' }, async () => 'p2');
    await vi.waitFor(
      () => expect(b.valid({ family: 'payments', endpointId: 'pe_7' })).toEqual(['p2', 'of pe_7']),
      5000,
    );
    expect(reads).toHaveLength(3);
    expect(reads[2]).toContain('pe_7');
    for (let count = 0; count < 50; count++) database.signal('secrets', count % 2 ? 'payments pe_8' : '');
    // What is read after those comes when all of them have been.
    await a.rotate({ family: 'payments', endpointId: 'pe_9' }, async () => 'p2');
    await vi.waitFor(
      () => expect(b.valid({ family: 'payments', endpointId: 'pe_9' })).toEqual(['p2', 'of pe_9']),
      5000,
    );
    expect(reads.length).toBeGreaterThan(3);
    expect(reads.length).toBeLessThan(3 + 50);
    await b.stop();
    if (engine === 'postgres') await recorded.stop();
  });

  test('reads the latest secrets from the database, even without a signal', async () => {
    const withoutSignals: Database = { ...database, listen: () => () => undefined };
    const a = await open({ payments: { pe_1: 'p1' } });
    const b = await open({ payments: { pe_1: 'p1' } }, { on: withoutSignals });
    await b.stop(); // else what it reads after its start may come only after the rotation
    await a.rotate(pe1, async () => 'p2');
    expect(b.valid(pe1)).toEqual(['p1']);
    expect(await b.latest(pe1)).toEqual(['p2', 'p1']);
    expect(b.valid(pe1)).toEqual(['p2', 'p1']);
  });

  test('reads the secrets within a minute if a signal is lost', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { recorded, reads } = recordReads({ ...database, listen: () => () => undefined });
    const a = await open({ payments: { pe_1: 'p1' } });
    const b = await open({ payments: { pe_1: 'p1' } }, { on: recorded });
    await vi.waitFor(() => expect(reads).toHaveLength(2), 5000); // and once more, for rotations during the start
    await a.rotate(pe1, async () => 'p2');
    vi.advanceTimersByTime(60_000);
    await vi.waitFor(() => expect(b.valid(pe1)).toEqual(['p2', 'p1']), 5000);
  });

  test('waits for a rotation in progress, here or elsewhere, before it returns the latest secrets', async () => {
    const replicas = [await open({ payments: { pe_1: 'p1' } }), await open({ payments: { pe_1: 'p1' } })];
    const asked: Promise<unknown>[] = [];
    await replicas[0]!.rotate(pe1, async () => {
      asked.push(...replicas.map((replica) => replica.latest(pe1)));
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 'p2';
    });
    for (const latest of asked) expect(await latest).toEqual(['p2', 'p1']);
  });

  test('lets a hundred callers wait for a rotation, and rejects the others at once', async () => {
    const secrets = await open({ payments: { pe_1: 'p1', pe_2: 'x' } });
    const waiting: Promise<unknown>[] = [];
    const expectRejected = async () => {
      // The number is limited only once the lease has been seen.
      const asked = secrets.latest(pe1);
      waiting.push(asked.catch(() => undefined));
      await expect(Promise.race([asked, soon()])).rejects.toBeInstanceOf(TooManyWaiting);
    };
    await secrets.rotate(pe1, async () => {
      for (let count = 0; count < 100; count++) waiting.push(secrets.latest(pe1));
      await vi.waitFor(expectRejected, 5000);
      const more = Array.from({ length: 200 }, () => secrets.latest(pe1));
      for (const each of await Promise.allSettled(more))
        expect(each).toMatchObject({ reason: expect.any(TooManyWaiting) });
      expect(await secrets.latest({ family: 'payments', endpointId: 'pe_2' })).toEqual(['x']);
      return 'p2';
    });
    const answers = await Promise.all(waiting);
    expect(answers.filter(Boolean).length).toBeGreaterThanOrEqual(100);
    expect(new Set(answers.filter(Boolean).map(String))).toEqual(new Set(['p2,p1']));
    expect(await secrets.latest(pe1)).toEqual(['p2', 'p1']);
  });

  test('shares reads of the latest secrets, each begun after the calls that it answers', async () => {
    const replica = await openReplica();
    const { recorded, reads } = recordReads({ ...replica, listen: () => () => undefined });
    const a = await open({ payments: { pe_1: 'p1' } });
    const b = await open({ payments: { pe_1: 'p1' } }, { on: recorded });
    await vi.waitFor(() => expect(reads).toHaveLength(2), 5000);
    reads.length = 0;
    const flood = () => Array.from({ length: 200 }, () => b.latest(pe1));
    await Promise.all(flood());
    expect(reads).toHaveLength(1);
    const begun = flood();
    await vi.waitFor(() => expect(reads).toHaveLength(2), 5000);
    await a.rotate(pe1, async () => 'p2');
    expect(await Promise.all(flood())).toEqual(Array.from({ length: 200 }, () => ['p2', 'p1']));
    expect(reads).toHaveLength(3);
    await Promise.all(begun);
    await b.stop();
    if (replica !== database) await replica.stop();
  });

  test('rejects if the database fails, and reads again at the next call', async () => {
    const secrets = await open({ payments: { pe_1: 'p1' } });
    const { schema } = database.kysely;
    await schema.alterTable('webhook_secrets').renameTo('away').execute();
    await expect(secrets.latest(pe1)).rejects.toThrow(/webhook_secrets/);
    await schema.alterTable('away').renameTo('webhook_secrets').execute();
    expect(await secrets.latest(pe1)).toEqual(['p1']);
  });

  test('reseals with a new key at the start, so that the old key can be removed', async () => {
    const next = randomBytes(32);
    const first = await open({ payments: { pe_1: 'p1' } });
    await first.rotate(pe1, async () => 'p2');
    await open({ payments: { pe_1: 'p1' } }, { sealer: createSealer([next, key]) });
    const last = await open({ payments: { pe_1: 'p1' } }, { sealer: createSealer([next]) });
    expect(last.valid(pe1)).toEqual(['p2', 'p1']);
  });

  test('writes nothing at a start that changes nothing, even with further keys', async () => {
    const configured = { shipments: { sub_1: 's1' }, payments: { pe_1: 'p1' } };
    await (await open(configured)).rotate(pe1, async () => 'p2');
    const before = await rows();
    await open(configured);
    await open(configured, { sealer: createSealer([key, randomBytes(32)]) });
    expect(await rows()).toEqual(before);
  });

  test.each(['shipments', 'payments'] as const)(
    'refuses to start without the key of a secret of %s, and changes nothing',
    async (family) => {
      const first = await open({ [family]: { id_1: 'old' } });
      if (family === 'payments')
        await first.rotate({ family: 'payments', endpointId: 'id_1' }, async () => 'rotated');
      const before = await rows();
      const other = { sealer: createSealer([randomBytes(32)]) };
      for (const secret of ['old', 'changed'])
        await expect(open({ [family]: { id_1: secret } }, other)).rejects.toMatchObject({
          code: 'DATABASE_UNUSABLE',
          message: expect.stringMatching(unopened(`${family}/id_1`)),
        });
      expect(await rows()).toEqual(before);
      const kept = family === 'payments' ? ['rotated', 'old'] : ['old'];
      expect(await first.latest({ family, endpointId: 'id_1' })).toEqual(kept);
      expect((await open({ [family]: { id_1: 'old' } })).valid({ family, endpointId: 'id_1' })).toEqual(kept);
    },
  );

  test('keeps its secrets and rotates nothing if it lacks the key that another process used', async () => {
    const next = randomBytes(32);
    const first = await open({ payments: { pe_1: 'p1' } });
    await open({ payments: { pe_1: 'p1' } }, { sealer: createSealer([next, key]) });
    const before = await rows();
    const obtain = vi.fn<() => Promise<string>>(async () => 'p2');
    await expect(first.rotate(pe1, obtain)).rejects.toThrow(unopened('payments/pe_1'));
    expect(obtain).not.toHaveBeenCalled();
    await expect(first.latest(pe1)).rejects.toThrow(unopened('payments/pe_1'));
    expect(first.valid(pe1)).toEqual(['p1']);
    expect(await rows()).toEqual(before);
  });

  test('takes over the changed secret of an endpoint, even if it lacks the key of another', async () => {
    const first = await open({ payments: { pe_1: 'p1', pe_2: 'x1' } });
    await open({ payments: { pe_1: 'p1' } }, { sealer: createSealer([randomBytes(32), key]) });
    await open({ payments: { pe_2: 'x2' } });
    await vi.waitFor(
      () => expect(first.valid({ family: 'payments', endpointId: 'pe_2' })).toEqual(['x2', 'x1']),
      5000,
    );
    expect(first.valid(pe1)).toEqual(['p1']);
    expect(lines.join('')).toContain('"family":"payments","endpointId":"pe_1"');
    expect(lines.join('')).not.toContain('"secret"');
  });

  test('never lacks a key while keys are rotated in the order that docs/backup.md gives', async () => {
    const next = randomBytes(32);
    const startUnder = async (...keys: readonly [Buffer, ...Buffer[]]) => {
      const replica = await open({ payments: { pe_1: 'p1' } }, { sealer: createSealer(keys) });
      expect(await replica.latest(pe1)).toEqual(['p2', 'p1']);
      return replica;
    };
    await (await open({ payments: { pe_1: 'p1' } })).rotate(pe1, async () => 'p2');
    const steps: (readonly [Buffer, ...Buffer[]])[] = [[key], [key, next], [next, key], [next]];
    for (const [at, after] of steps.slice(1).entries()) {
      const behind = await startUnder(...steps[at]!);
      await startUnder(...after);
      await behind.latest(pe1);
      await startUnder(...steps[at]!);
      await startUnder(...after);
    }
  });

  const rows = () =>
    database.kysely.selectFrom('webhook_secrets').selectAll().orderBy('endpoint_id').execute();

  /** The database, and the statements that read secrets from it. */
  function recordReads(on: Database) {
    const reads: string[] = [];
    const kysely = on.kysely.withPlugin({
      transformQuery({ node }) {
        const text = JSON.stringify(node);
        if (node.kind === 'SelectQueryNode' && text.includes('webhook_secrets')) reads.push(text);
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    return { recorded: { ...on, kysely } satisfies Database, reads };
  }

  /** The database of a second process; the same one if it is embedded, as that has only one process. */
  async function openReplica(): Promise<Database> {
    return engine === 'sqlite' ? database : openDatabase(url, { log: telemetry.log });
  }
});

test('a read that comes late does not replace newer secrets', () => {
  const held = new SecretCache({ now: () => start });
  const read = (current: string, changedAt: number) =>
    held.put(pe1, { current, previous: [], configured: 'p1', changedAt });
  read('p2', 2);
  read('p1', 1);
  expect(held.valid(pe1)).toEqual(['p2']);
});
