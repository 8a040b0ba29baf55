import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { createTestFile } from '../support/engines.js';
import type { GatewayProcess } from '../support/process.js';
import { canFreeze, canMount, fill, mountDisk, run, unmount } from './disk.js';
import { createSender, expectReadiness, settingsFor, start, stored } from './sending.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

const pathOf = (url: string) => url.slice('sqlite:'.length);

/** A fault comes and goes under a running gateway, which says so and recovers; gives what it acknowledged. */
async function ride(
  database: string,
  gateway: GatewayProcess,
  { come, go, word, weight }: { come(): void; go(): void; word: RegExp; weight?: number },
): Promise<readonly string[]> {
  const sender = createSender(gateway);
  await sender.expectTaken();
  come();
  await sender.expectRefused(weight);
  await sender.expectRefused(weight);
  await expectReadiness(gateway, 503);
  await expect.poll(() => gateway.output()).toMatch(/"level":50.*the database accepts no writes/);
  expect(gateway.output()).toMatch(word);
  expect(await stored(database)).toEqual(sender.acknowledged);
  go();
  await sender.expectTaken();
  await expectReadiness(gateway, 200);
  return sender.acknowledged;
}

describe('a database file that goes wrong under a running gateway', () => {
  test.runIf(canFreeze)(
    'made read-only, with its folder: 503 until it is writable',
    { timeout: 90_000 },
    async () => {
      const database = await createTestFile();
      const path = pathOf(database);
      const gateway = await start(settingsFor(sandbox, database));
      const turn = (how: '+i' | '-i') => run('chattr', how, path, `${path}-wal`, dirname(path));
      onTestFinished(() => turn('-i'));
      const acknowledged = await ride(database, gateway, {
        come: () => turn('+i'),
        go: () => turn('-i'),
        word: /disk I\/O error/,
      });
      expect(await stored(database)).toEqual(acknowledged);
    },
  );

  test.runIf(process.platform === 'linux')(
    'that takes no byte any more: 503 until it does',
    { timeout: 90_000 },
    async () => {
      const database = await createTestFile();
      const gateway = await start(settingsFor(sandbox, database));
      const limit = (bytes: string) =>
        run('prlimit', '--pid', String(gateway.child.pid), `--fsize=${bytes}:unlimited`);
      const acknowledged = await ride(database, gateway, {
        come: () => limit('0'),
        go: () => limit('unlimited'),
        word: /disk I\/O error|database or disk is full/,
      });
      expect(await stored(database)).toEqual(acknowledged);
    },
  );

  test.runIf(canMount)(
    'on a disk that somebody else fills: 503 until there is room',
    { timeout: 90_000 },
    async () => {
      const folder = mountDisk(4);
      onTestFinished(() => unmount(folder));
      const database = `sqlite:${join(folder, 'gateway.db')}`;
      const gateway = await start(settingsFor(sandbox, database));
      onTestFinished(async () => void (await gateway.end('SIGKILL')));
      const acknowledged = await ride(database, gateway, {
        come: () => fill(join(folder, 'other')),
        go: () => run('rm', join(folder, 'other')),
        word: /database or disk is full/,
      });
      expect(await stored(database)).toEqual(acknowledged);
    },
  );

  test(
    'damaged: 503 where what is damaged is needed; mended, it is used again by the next process',
    { timeout: 90_000 },
    async () => {
      const database = await createTestFile();
      const path = pathOf(database);
      const settings = settingsFor(sandbox, database);
      const first = await start(settings);
      const sender = createSender(first);
      await sender.expectTaken();
      await first.end();
      const gateway = await start(settings); // which has not read the payments yet
      const again = createSender(gateway, sender.acknowledged);
      const mend = await damage(path, 'payments');
      await again.expectRefused();
      await again.expectRefused();
      await expectReadiness(gateway, 503);
      await expect
        .poll(() => gateway.output())
        .toMatch(/"level":50.*the database file is damaged: restore it/);
      expect(await stored(database)).toEqual(sender.acknowledged);
      // What it has read of the file it does not read again: mended, the file wants a new process.
      await gateway.end();
      await mend();
      await createSender(await start(settings), sender.acknowledged).expectTaken();
      expect(await stored(database)).toEqual(sender.acknowledged);
    },
  );
});

/** Overwrites the first page of a table; gives the way to mend it. */
async function damage(path: string, table: string): Promise<() => Promise<void>> {
  const database = new DatabaseSync(path, { readOnly: true });
  const { rootpage } = database
    .prepare(`select rootpage from sqlite_master where name = '${table}'`)
    .get() as {
    rootpage: number;
  };
  const { page_size: size } = database.prepare('pragma page_size').get() as { page_size: number };
  database.close();
  const at = (rootpage - 1) * size;
  const file = await open(path, 'r+');
  onTestFinished(() => file.close());
  const { buffer: before } = await file.read(Buffer.alloc(size), 0, size, at);
  await file.write(Buffer.alloc(size, 0xee), 0, size, at);
  return async () => void (await file.write(before, 0, size, at));
}
