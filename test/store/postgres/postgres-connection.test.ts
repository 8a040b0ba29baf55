import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createPools, endPools, GuardedConnection } from '../../../src/store/postgres/postgres-connection.js';
import type { PrimaryFinder } from '../../../src/store/postgres/primary-finder.js';
import { TimelineFence, UnfitServer } from '../../../src/store/postgres/timeline.js';
import { silent } from '../open-database.js';

/** As many as may write at once. */
const connections = 4;

/** Finds a server that ends each connection at once, and none any more after so many connections were made. */
async function findBriefly(): Promise<PrimaryFinder> {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let left = connections;
  const finder = {
    place: 'a server',
    look: async () => undefined,
    get config() {
      if (left-- > 0) return { host: '127.0.0.1', port, user: 'somebody' };
      throw new UnfitServer('none');
    },
  };
  return finder as unknown as PrimaryFinder;
}

test('statements that wait for a connection are told when there is no server to use any more', async () => {
  const pools = createPools(
    { finder: await findBriefly(), fence: new TimelineFence(), arePooled: true },
    silent,
  );
  onTestFinished(() => endPools(pools));
  const queries = Array.from({ length: 2 * connections }, () =>
    new GuardedConnection(pools).query('values (1)', []),
  );
  const outcomes = await Promise.allSettled(queries);
  expect(outcomes.map(({ status }) => status)).toEqual(queries.map(() => 'rejected'));
  const waited = outcomes.slice(connections) as PromiseRejectedResult[];
  expect(waited.map(({ reason }) => reason as unknown)).toEqual(waited.map(() => new UnfitServer('none')));
});
