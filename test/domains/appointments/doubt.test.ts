import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../../src/sandbox/sandbox.js';
import { noPostgres } from '../../support/engines.js';
import { createMigratedDatabase } from '../../support/postgres.js';
import { postsOf, requestOf, startReplica } from './replica.js';

/** A proxy to Postgres that closes the first booking's connection once it is committed, before the client is told. */
async function startProxy(url: string) {
  const { port, hostname } = new URL(url);
  const sockets = new Set<Socket>();
  let isArmed = true;

  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    let hasBooked = false;
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined));
    near
      .on('close', () => far.destroy())
      .on('data', (bytes) => {
        hasBooked ||= bytes.includes('insert into "bookings"');
        far.write(bytes);
      });
    far
      .on('close', () => near.destroy())
      .on('data', (bytes) => {
        const isDue = isArmed && hasBooked && bytes.includes('COMMIT\0');
        if (isDue) near.destroy();
        else near.write(bytes);
        if (isDue) isArmed = false;
      });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return Object.assign(new URL(url), { port: String((server.address() as AddressInfo).port) }).href;
}

const inDoubt = /may or may not have been stored/;

describe.skipIf(noPostgres)(
  'a booking whose database connection is lost after its commit, before it is posted',
  () => {
    test.each([undefined, 'k'])(
      'leaves no row, and is made by the next call (key: %s)',
      async (idempotencyKey) => {
        const sandbox = await startSandbox({ demo: false });
        onTestFinished(() => sandbox.stop());
        const replica = await startReplica(sandbox, await startProxy(await createMigratedDatabase()));
        onTestFinished(() => replica.stop());
        const book = () =>
          replica.bookings.book(requestOf({ ...(idempotencyKey !== undefined && { idempotencyKey }) }));
        const list = () => replica.read().list({ backward: false, limit: 100 });

        await expect(book()).rejects.toThrow(inDoubt);
        expect([await list(), postsOf(sandbox)]).toEqual([[], 0]);
        const made = await book();
        expect(made).toMatchObject({ appointment: { confirmation: 'CONFIRMED' } });
        expect([(await list()).length, postsOf(sandbox)]).toEqual([1, 1]);
      },
    );
  },
);
