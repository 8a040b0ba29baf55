import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Database } from '../../../src/store/database.js';
import { HostProbe } from '../../../src/store/postgres/host-probe.js';
import { probeDatabase } from '../../../src/store/probe.js';
import { openDatabase } from '../../support/database.js';
import { noPostgres } from '../../support/engines.js';
import { startPostgres } from '../../support/postgres-server.js';
import { createMigratedDatabase, createTestDatabase, execute } from '../../support/postgres.js';
import { silent } from '../open-database.js';

/** Starts a TCP proxy to Postgres that can be cut, and led to another one. */
async function startProxy(url: string) {
  let target = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [socket, peer] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => peer.destroy());
    }
    near.pipe(far).pipe(near);
  });
  const listen = async (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const proxyUrl = new URL(url);
  proxyUrl.port = String(port);
  const cut = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  onTestFinished(async () => void (server.listening && (await cut())));
  const lead = (to: string) => void (target = new URL(to));
  return { url: proxyUrl.href, cut, restore: () => listen(port), lead };
}

describe.skipIf(noPostgres)('postgres', () => {
  let url: string;
  let database: Database;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeEach(async () => {
    url = await createMigratedDatabase();
    proxy = await startProxy(url);
    database = await openDatabase(proxy.url, { log: silent });
  });
  afterEach(() => database.stop());

  test('statements wait for an open connection at the connection limit, and fail if there is none', async () => {
    const fresh = await createTestDatabase();
    const role = `few_${randomBytes(8).toString('hex')}`;
    await execute(fresh, `create role ${role} login password 'few' connection limit 4`);
    await execute(fresh, `alter database ${new URL(fresh).pathname.slice(1)} owner to ${role}`);
    await execute(fresh, `grant all on schema public to ${role}`);
    const few = new URL(fresh);
    [few.username, few.password] = [role, 'few'];
    const crowded = await openDatabase(few.href, { log: silent });
    onTestFinished(() => crowded.stop());
    const look = () => sql`select pg_sleep(0.1)`.execute(crowded.kysely);
    expect(await Promise.all(Array.from({ length: 12 }, look))).toHaveLength(12);
    await execute(fresh, `alter role ${role} connection limit 0`);
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`;
    expect(await execute(fresh, cut)).not.toEqual([]);
    // A connection may not have noticed yet that it was cut.
    await expect.poll(() => look().catch(String)).toMatch(/too many connections/);
  });

  test('is said to lack the right to its tables, by a start and by a probe, until they are made', async () => {
    const fresh = await createTestDatabase();
    const role = `poor_${randomBytes(8).toString('hex')}`;
    await execute(fresh, `create role ${role} login password 'poor'`);
    await execute(fresh, 'revoke create on schema public from public');
    const poor = new URL(fresh);
    [poor.username, poor.password] = [role, 'poor'];
    const refused = async () => (await probeDatabase(poor.href, undefined).catch(String)).toString();
    expect(await refused()).toContain(
      'its tables are still to be made, and its user may not create any in the schema public.',
    );
    await expect(openDatabase(poor.href, { log: silent })).rejects.toThrow(
      'permission denied for schema public',
    );
    await execute(fresh, `alter role ${role} set search_path = elsewhere`);
    expect(await refused()).toContain('and no schema in its search_path can be used.');
    await execute(fresh, `alter role ${role} reset search_path`);
    await execute(fresh, `grant create on schema public to ${role}`);
    expect(await probeDatabase(poor.href, undefined)).toEqual([]);
    await (await openDatabase(poor.href, { log: silent })).stop();
    await execute(fresh, `revoke create on schema public from ${role}`);
    expect(await probeDatabase(poor.href, undefined)).toEqual([]);
  });

  test('is reconnected after a restart, and listeners are told that they may have missed signals', async () => {
    const heard: string[] = [];
    database.listen('log', (payload) => heard.push(payload));
    await proxy.cut();
    await expect(database.ping()).rejects.toThrow(/ECONNREFUSED|terminated/);
    database.signal('log', 'lost');
    await proxy.restore();
    await vi.waitFor(() => expect(heard).toEqual(['']), { timeout: 10_000 });
    await database.ping();
    database.signal('log', 'found');
    await expect.poll(() => heard).toEqual(['', 'found']);
  });

  test('keeps no connection to a standby, to which the address led during a failover', async () => {
    const standby = await startPostgres();
    onTestFinished(() => standby.stop());
    await execute(standby.url, `create database ${new URL(url).pathname.slice(1)}`);
    await standby.demote();
    await proxy.cut();
    proxy.lead(standby.url);
    await proxy.restore();
    await expect.poll(() => database.ping().catch(String)).toMatch(/during recovery/);
    proxy.lead(url);
    await database.ping();
  });

  test('is written to again once it is not read-only any more, as while its disk was full', async () => {
    const name = new URL(url).pathname.slice(1);
    await execute(url, 'create table written ()');
    const write = () => sql`insert into written default values`.execute(database.kysely);
    await execute(url, `alter database ${name} set default_transaction_read_only = on`);
    await execute(
      url,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`,
    );
    await expect
      .poll(() => write().catch((error: unknown) => (error as { code: string }).code))
      .toBe('25006');
    const probe = new HostProbe({ name, config: { connectionString: url } });
    onTestFinished(() => probe.stop());
    expect(await probe.ask()).toMatchObject({ state: 'standby' });
    const refused = await Promise.allSettled(Array.from({ length: 10 }, write));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set(['rejected']));
    await execute(
      url,
      `begin read write; alter database ${name} reset default_transaction_read_only; commit`,
    );
    expect(await Promise.all(Array.from({ length: 10 }, write))).toHaveLength(10);
    expect(await probe.ask()).toMatchObject({ state: 'writer' });
  });

  test('terminating every connection fails only the transactions in progress', async () => {
    const heard: string[] = [];
    database.listen('log', (payload) => heard.push(payload));
    let begun = () => undefined as void;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const transactions = Array.from({ length: 4 }, (_, i) =>
      database.kysely.transaction().execute(async (transaction) => {
        await transaction
          .insertInto('leases')
          .values({ key: String(i), holder: 'x', expires_at: 1 })
          .execute();
        if (i === 3) begun();
        await sql`select pg_sleep(10)`.execute(transaction);
      }),
    );
    const settled = Promise.allSettled(transactions);
    await running;
    await execute(
      url,
      `select pg_terminate_backend(pid, 10000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
    );
    for (const { status } of await settled) expect(status).toBe('rejected');
    // Once it listens again, the ends of all other connections have been noticed, too.
    await expect.poll(() => heard).toContain('');
    expect(await database.kysely.selectFrom('leases').selectAll().execute()).toEqual([]);
  });

  test('a transaction whose connection is cut rejects with the first error, and the connection is discarded', async () => {
    const cutInside = database.kysely.transaction().execute(async (transaction) => {
      await transaction.updateTable('log_head').set({ seq: 5 }).execute();
      await proxy.cut();
      await transaction.updateTable('log_head').set({ seq: 6 }).execute();
    });
    await expect(cutInside).rejects.toThrow(/terminated|ECONNRESET|not queryable/);
    await proxy.restore();
    expect(await database.kysely.selectFrom('log_head').select('seq').execute()).toEqual([{ seq: 0 }]);
  });

  test('accepts writes, and is ready, even if many reads are waiting', async () => {
    let reads: Promise<unknown>[] = [];
    await database.kysely.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(1)`.execute(transaction);
      reads = Array.from({ length: 30 }, () =>
        sql`select pg_advisory_xact_lock_shared(1)`.execute(database.kysely),
      );
      await database.ready();
      await database.kysely.transaction().execute((other) => sql`select 1`.execute(other));
    });
    expect(await Promise.all(reads)).toHaveLength(30);
  });

  test.each([
    ['acknowledges a commit only once it is on disk', 'synchronous_commit', 'off', 'on'],
    [
      'sees what was committed under a lock',
      'default_transaction_isolation',
      'serializable',
      'read committed',
    ],
  ])('%s, whatever the server’s default', async (_, setting, given, used) => {
    await execute(url, `alter database ${new URL(url).pathname.slice(1)} set ${setting} = '${given}'`);
    const other = await openDatabase(url, { log: silent });
    const { rows } = await sql`show ${sql.raw(setting)}`.execute(other.kysely);
    expect(rows).toEqual([{ [setting]: used }]);
    await other.stop();
  });

  test('can be closed while it is unreachable', async () => {
    await proxy.cut();
    await expect(database.stop()).resolves.toBeUndefined();
    await proxy.restore();
    database = await openDatabase(proxy.url, { log: silent });
  });
});

describe.skipIf(noPostgres)('a postgres database that cannot be opened', () => {
  test('is named in the error, without its password', async () => {
    const url = new URL(await createTestDatabase());
    url.password = 'not-the-password';
    const wrong = openDatabase(url.href, { log: silent });
    await expect(wrong).rejects.toThrow(/^Cannot open the database test_\w+ at 127\.0\.0\.1:\d+: .*password/);
    await expect(wrong).rejects.not.toThrow(/not-the-password/);
    url.pathname = 'nowhere';
    url.password = 'password';
    await expect(openDatabase(url.href, { log: silent })).rejects.toThrow(/"nowhere" does not exist/);
    await expect(openDatabase('postgres://u:hidden@127.0.0.1:1/x', { log: silent })).rejects.toThrow(
      /^Cannot open the database x at 127\.0\.0\.1:1: .*ECONNREFUSED/,
    );
    await expect(openDatabase('postgres://u:hidden@localhost:1/x', { log: silent })).rejects.toThrow(
      /ECONNREFUSED/,
    );
  });

  test('is refused in an encoding that lacks characters', async () => {
    const url = new URL(await createTestDatabase());
    const open = async (encoding: string) => {
      const name = `${encoding.toLowerCase()}_${randomBytes(8).toString('hex')}`;
      const form = `template template0 encoding ${encoding} locale_provider libc locale 'C'`;
      await execute(url.href, `create database ${name} ${form}`);
      return openDatabase(Object.assign(new URL(url), { pathname: name }).href, { log: silent });
    };
    await expect(open('LATIN1')).rejects.toThrow(/: its encoding is LATIN1, but UTF8 is required\.$/);
    await (await open('SQL_ASCII')).stop();
  });

  test('is refused with the name of a certificate that is missing', async () => {
    const opening = openDatabase('postgres://user:hidden@127.0.0.1/x?sslrootcert=/nowhere/ca.crt', {
      log: silent,
    });
    await expect(opening).rejects.toThrow(
      /^The address of the database names a file that cannot be read: ENOENT.*\/nowhere\/ca\.crt/,
    );
  });

  test('does not leak an invalid address to the log', async () => {
    const opening = openDatabase('postgres://user:hidden@ho st:99999999/x', { log: silent });
    const error = await opening.catch((reason: unknown) => reason as Error);
    expect(error).toBeInstanceOf(Error);
    const lines: string[] = [];
    pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }).error(error);
    expect(lines.join()).not.toContain('hidden');
  });
});
