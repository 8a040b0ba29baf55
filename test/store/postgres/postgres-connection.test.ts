import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createPools, endPools, GuardedConnection } from '../../../src/store/postgres/postgres-connection.js';
import type { PrimaryFinder } from '../../../src/store/postgres/primary-finder.js';
import { TimelineFence, UnfitServer } from '../../../src/store/postgres/timeline.js';
import { silent } from '../open-database.js';

/** As many as may write at once. */
const connections = 4;

/** What Postgres says to a client that needs no password, and to one that would write to a standby. */
const ready = 'Z\0\0\0\u0005I';
const welcome = `R\0\0\0\u0008\0\0\0\0${ready}`;
const refusal = `E\0\0\0\u0017C25006\0Mread-only\0\0${ready}`;

/** Finds a server that serves each connection like this, and none any more after so many connections were made. */
async function findBriefly(serve: (socket: Socket) => void): Promise<PrimaryFinder> {
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy());
    serve(socket);
  }).listen(0, '127.0.0.1');
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
  const finder = await findBriefly((socket) => void socket.destroy());
  const pools = createPools({ finder, fence: new TimelineFence(), arePooled: true }, silent);
  onTestFinished(() => endPools(pools));
  const queries = Array.from({ length: 2 * connections }, () =>
    new GuardedConnection(pools).query('values (1)', []),
  );
  const outcomes = await Promise.allSettled(queries);
  expect(outcomes.map(({ status }) => status)).toEqual(queries.map(() => 'rejected'));
  const waited = outcomes.slice(connections) as PromiseRejectedResult[];
  expect(waited.map(({ reason }) => reason as unknown)).toEqual(waited.map(() => new UnfitServer('none')));
});

test('a connection that a standby refuses to prepare is given up, even if it is mute then', async () => {
  const finder = await findBriefly((socket) => {
    socket.once('data', () => {
      socket.write(welcome);
      socket.once('data', () => socket.pause().write(refusal));
    });
  });
  const pools = createPools({ finder, fence: new TimelineFence(), arePooled: false }, silent);
  onTestFinished(() => endPools(pools));
  const query = new GuardedConnection(pools).query('values (1)', []);
  await expect(query).rejects.toMatchObject({ code: '25006' });
});
