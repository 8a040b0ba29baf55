import { describe, expect, onTestFinished, test } from 'vitest';
import { settings } from '../../../src/store/postgres/postgres-connection.js';
import { startListener } from '../../../src/store/postgres/postgres-listener.js';
import { PrimaryFinder } from '../../../src/store/postgres/primary-finder.js';
import { TimelineFence } from '../../../src/store/postgres/timeline.js';
import { createNotifications } from '../../../src/store/sql/notifications.js';
import { openProxy } from '../../client/proxy.js';
import { noPostgres } from '../../support/engines.js';
import { createTestDatabase, execute } from '../../support/postgres.js';
import { startPostgres } from '../../support/postgres-server.js';
import { silent } from '../open-database.js';

/** Listens to a database through a proxy. */
async function startListening() {
  const url = await createTestDatabase();
  const proxy = await openProxy(url);
  onTestFinished(() => proxy.stop());
  const host = Object.assign(new URL(url), { port: new URL(proxy.url).port, pathname: 'postgres' });
  const fence = new TimelineFence();
  const config = { ...settings, connectionString: host.href };
  const finder = new PrimaryFinder({ hosts: [{ name: host.host, config }], fence, log: silent });
  const notifications = createNotifications(silent);
  const heard: string[] = [];
  notifications.listen('log', (payload) => heard.push(payload));
  const listener = await startListener({ finder, fence }, notifications, silent);
  return { proxy, fence, listener, heard };
}

describe.skipIf(noPostgres)('the connection that listens to a server that is mute', () => {
  test('is given up once another server was promoted', async () => {
    const promoted = await startPostgres();
    onTestFinished(() => promoted.stop());
    await promoted.demote();
    await execute(promoted.url, 'select pg_promote()');
    const { proxy, fence, listener, heard } = await startListening();
    onTestFinished(() => listener.stop());
    proxy.mute();
    proxy.redirectTo(promoted.url);
    fence.see(fence.highest + 1);
    // Before the heartbeat could find out.
    await expect.poll(() => heard, { timeout: 12_000 }).toEqual(['']);
    await execute(promoted.url, `select pg_notify('trivium_log', 'found')`);
    await expect.poll(() => heard).toEqual(['', 'found']);
  });

  test('does not hold up its end', async () => {
    const { proxy, listener } = await startListening();
    proxy.mute();
    await expect(listener.stop()).resolves.toBeUndefined();
  });
});
