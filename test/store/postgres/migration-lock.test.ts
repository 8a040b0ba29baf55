import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/database.js';
import { noPostgres } from '../../support/engines.js';
import { skipPgbouncer, startPgbouncer } from '../../support/pgbouncer.js';
import { testWriter } from '../../support/database.js';
import { execute } from '../../support/postgres.js';
import { startPostgres } from '../../support/postgres-server.js';
import { silent } from '../open-database.js';

const replicas = 6; // more than the pool has connections to the server

test.skipIf(noPostgres || skipPgbouncer)(
  'of replicas that start at once through a pool in transaction mode, one makes the tables, and nobody holds a lock then',
  { timeout: 60_000 },
  async () => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const bouncer = await startPgbouncer(Number(new URL(server.url).port));
    onTestFinished(() => bouncer.stop());
    const options = { listenUrl: server.url, log: silent, writer: testWriter() };
    const opening = Array.from({ length: replicas }, () => openDatabase(bouncer.url, options));
    const opened = await Promise.allSettled(opening);
    for (const one of opened) if (one.status === 'fulfilled') await one.value.stop();
    expect(opened.map(({ status }) => status)).toEqual(opened.map(() => 'fulfilled'));
    expect(await execute(server.url, `select * from pg_locks where locktype = 'advisory'`)).toEqual([]);
  },
);
