import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.js';
import { createTestFile } from '../support/sqlite.js';
import type { GatewayProcess } from '../support/process.js';
import { canFreeze, canMount, fill, mountDisk, run, unmount } from './disk.js';
import { createSender, expectReadiness, settingsFor, start, stored } from './sending.js';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.stop());

const pathOf = (url: string) => url.slice('sqlite:'.length);

/** Expects a running gateway to log a fault and to recover from it; returns the ids that it acknowledged. */
async function expectRecovery(
  database: string,
  gateway: GatewayProcess,
  { cause, repair, message, weight }: { cause(): void; repair(): void; message: RegExp; weight?: number },
): Promise<readonly string[]> {
  const sender = createSender(gateway);
  await sender.expectTaken();
  cause();
  await sender.expectRefused(weight);
  await sender.expectRefused(weight);
  await expectReadiness(gateway, 503);
  await expect.poll(() => gateway.output()).toMatch(/"level":50.*the database accepts no writes/);
  expect(gateway.output()).toMatch(message);
  expect(await stored(database)).toEqual(sender.acknowledged);
  repair();
  await sender.expectTaken();
  await expectReadiness(gateway, 200);
  return sender.acknowledged;
}

describe('a running gateway whose database file fails', () => {
  test.runIf(canFreeze)('answers 503 while the file and its folder are read-only', { retry: 0 }, async () => {
    const database = await createTestFile();
    const path = pathOf(database);
    const gateway = await start(settingsFor(sandbox, database));
    const turn = (how: '+i' | '-i') => run('chattr', how, path, `${path}-wal`, dirname(path));
    onTestFinished(() => turn('-i'));
    const acknowledged = await expectRecovery(database, gateway, {
      cause: () => turn('+i'),
      repair: () => turn('-i'),
      message: /disk I\/O error/,
    });
    expect(await stored(database)).toEqual(acknowledged);
  });

  test.runIf(process.platform === 'linux')(
    'answers 503 while no byte can be written to the file',
    { retry: 0 },
    async () => {
      const database = await createTestFile();
      const gateway = await start(settingsFor(sandbox, database));
      const limit = (bytes: string) =>
        run('prlimit', '--pid', String(gateway.child.pid), `--fsize=${bytes}:unlimited`);
      const acknowledged = await expectRecovery(database, gateway, {
        cause: () => limit('0'),
        repair: () => limit('unlimited'),
        message: /disk I\/O error|database or disk is full/,
      });
      expect(await stored(database)).toEqual(acknowledged);
    },
  );

  test.runIf(canMount)('answers 503 while the disk is full', { retry: 0 }, async () => {
    const folder = mountDisk(4);
    onTestFinished(() => unmount(folder));
    const database = `sqlite:${join(folder, 'gateway.db')}`;
    const gateway = await start(settingsFor(sandbox, database));
    onTestFinished(async () => void (await gateway.end('SIGKILL')));
    const acknowledged = await expectRecovery(database, gateway, {
      cause: () => fill(join(folder, 'other')),
      repair: () => run('rm', join(folder, 'other')),
      message: /database or disk is full/,
    });
    expect(await stored(database)).toEqual(acknowledged);
  });

  test(
    'answers 503 if it needs a damaged page, and works after a repair and a restart',
    { retry: 0 },
    async () => {
      const database = await createTestFile();
      const path = pathOf(database);
      const settings = settingsFor(sandbox, database);
      const first = await start(settings);
      const sender = createSender(first);
      await sender.expectTaken();
      await first.end();
      const gateway = await start(settings); // it has not read the payments yet
      const again = createSender(gateway, sender.acknowledged);
      const repair = await damage(path, 'payments');
      await again.expectRefused();
      await again.expectRefused();
      await expectReadiness(gateway, 503);
      await expect
        .poll(() => gateway.output())
        .toMatch(/"level":50.*the database file is damaged: restore it/);
      expect(await stored(database)).toEqual(sender.acknowledged);
      // A process keeps what it has read of the file, so the repaired file needs a new one.
      await gateway.end();
      await repair();
      await createSender(await start(settings), sender.acknowledged).expectTaken();
      expect(await stored(database)).toEqual(sender.acknowledged);
    },
  );
});

/** Overwrites the first page of a table; returns a function that repairs it. */
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
