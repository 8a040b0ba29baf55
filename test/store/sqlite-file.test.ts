import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  copyFile,
  mkdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../support/database.js';
import { createTestFile } from '../support/sqlite.js';
import { unprivileged } from '../support/unprivileged.js';
import { open, silent } from './open-database.js';

const child = fileURLToPath(new URL('child.ts', import.meta.url));

async function freshPath(): Promise<string> {
  return (await createTestFile()).slice('sqlite:'.length);
}

/** Starts `child.ts`; even as root, an obedient one may not write where the modes of files forbid it. */
function start(url: string, { count = 0, obedient = false } = {}) {
  const command = [process.execPath, ['--import', 'tsx', child, url, String(count)]] as const;
  const [program, args] = obedient ? unprivileged(...command) : command;
  const started = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void started.kill('SIGKILL'));
  const lines = createInterface(started.stdout)[Symbol.asyncIterator]();
  return { started, line: async () => (await lines.next()).value as string | undefined };
}

async function refusal(path: string): Promise<string> {
  const opening = openDatabase(`sqlite:${path}`, { log: silent });
  opening.then(
    ({ stop }) => stop(),
    () => undefined,
  );
  return opening.then(
    () => 'opened',
    (error: unknown) => (error as Error).message,
  );
}

describe('an embedded database', () => {
  test('is created, with its directory, for its owner only', async () => {
    const path = join(dirname(await freshPath()), 'a', 'b', 'gateway.db');
    await open(`sqlite:${path}`);
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
    const header = await readFile(path);
    expect(header.subarray(0, 15).toString()).toBe('SQLite format 3');
  });

  test.skipIf(process.platform === 'win32')(
    'is readable by its owner only, also in a directory that others may read; one that exists keeps its mode',
    async () => {
      const made = await freshPath();
      const linked = `${made}.link`;
      await symlink(`${made}.linked`, linked);
      const kept = await freshPath();
      await writeFile(kept, '');
      await chmod(kept, 0o640);
      for (const [path, mode] of [
        [made, 0o600],
        [linked, 0o600],
        [kept, 0o640],
      ] as const) {
        await chmod(dirname(path), 0o755);
        await open(`sqlite:${path}`);
        const file = await realpath(path);
        const files = await Promise.all([file, `${file}-wal`, `${file}-shm`].map((each) => stat(each)));
        expect(files.map((each) => each.mode & 0o777)).toEqual([mode, mode, mode]);
      }
    },
  );

  test('keeps its data when it is reopened', async () => {
    const url = await createTestFile();
    const first = await open(url);
    await first.kysely.updateTable('log_head').set({ seq: 7 }).execute();
    const before = await first.kysely.selectFrom('log_head').selectAll().execute();
    await first.stop();
    expect(await (await open(url)).kysely.selectFrom('log_head').selectAll().execute()).toEqual(before);
  });

  test('has a write-ahead log that is on disk before a commit is acknowledged', async () => {
    const path = await freshPath();
    const { kysely } = await open(`sqlite:${path}`);
    expect((await sql`pragma journal_mode`.execute(kysely)).rows).toEqual([{ journal_mode: 'wal' }]);
    expect((await sql`pragma synchronous`.execute(kysely)).rows).toEqual([{ synchronous: 2 }]);
  });

  test('cannot be opened by a second process until the first is killed', async () => {
    const url = await createTestFile();
    const { started, line } = start(url);
    expect(await line()).toBe('open');
    expect(await refusal(url.slice('sqlite:'.length))).toMatch(/another process is using it/);
    started.kill('SIGKILL');
    await once(started, 'exit');
    await expect(open(url)).resolves.toBeDefined();
  });

  test('cannot be opened twice in the same process, not even through a symlink', async () => {
    const path = await freshPath();
    await open(`sqlite:${path}`);
    await symlink(path, `${path}.link`);
    expect(await refusal(path)).toMatch(/another process is using it/);
    expect(await refusal(`${path}.link`)).toMatch(/another process is using it/);
    const { line } = start(`sqlite:${path}.link`); // the refused attempts did not release the lock
    expect(await line()).toMatch(/another process is using it/);
  });

  test('cannot be opened twice through a symlink that led nowhere at first', async () => {
    const path = await freshPath();
    await symlink(path, `${path}.link`);
    await open(`sqlite:${path}.link`);
    expect(await refusal(path)).toMatch(/another process is using it/);
    expect(await refusal(`${path}.link`)).toMatch(/another process is using it/);
  });

  test('has every acknowledged write after a kill -9', { retry: 0 }, async () => {
    const url = await createTestFile();
    const { started, line } = start(url, { count: 1_000_000 });
    let acknowledged = await line();
    for (let i = 0; i < 300; i++) acknowledged = await line();
    started.kill('SIGKILL');
    await once(started, 'exit');
    for (let last: string | undefined; (last = await line());) acknowledged = last;
    const { kysely } = await open(url);
    const { rows } = await kysely
      .selectFrom('keyv')
      .select((it) => it.fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow();
    expect(rows).toBeGreaterThanOrEqual(Number(acknowledged));
  });

  test.each([
    ['removed', (path: string) => rm(path)],
    ['moved', (path: string) => rename(path, `${path}.old`)],
    ['replaced', (path: string) => copyFile(path, `${path}.new`).then(() => rename(`${path}.new`, path))],
  ])('is lost when it is %s while it is in use', async (_, change) => {
    const path = await freshPath();
    const { lost } = await open(`sqlite:${path}`);
    await change(path);
    expect((await lost).message).toBe(`The database file ${path} was removed or replaced.`);
  });

  test('refuses a file that is not a SQLite database, and does not change it', async () => {
    const path = await freshPath();
    await writeFile(path, 'These are minutes of a meeting. '.repeat(500));
    expect(await refusal(path)).toBe(`Cannot open the database ${path}: the file is not a SQLite database.`);
    expect(await readFile(path, 'utf8')).toBe('These are minutes of a meeting. '.repeat(500));
  });

  test('in a read-only file is refused at once', async () => {
    const path = await freshPath();
    await (await openDatabase(`sqlite:${path}`, { log: silent })).stop();
    await chmod(path, 0o444);
    const { line } = start(`sqlite:${path}`, { obedient: true });
    expect(await line()).toBe(`Cannot open the database ${path}: the file cannot be written.`);
  });

  test('in a directory that cannot be written is refused at once', async () => {
    const directory = join(dirname(await freshPath()), 'closed');
    await mkdir(directory, { mode: 0o555 });
    const inside = start(`sqlite:${directory}/gateway.db`, { obedient: true });
    expect(await inside.line()).toMatch(/cannot be opened for writing\.$/);
    const below = start(`sqlite:${directory}/deeper/gateway.db`, { obedient: true });
    expect(await below.line()).toMatch(/its directory cannot be created\.$/);
  });

  test('at a path that is a directory, or goes through a file, is refused', async () => {
    const path = await freshPath();
    expect(await refusal(dirname(path))).toMatch(/cannot be opened for writing\.$/);
    await writeFile(path, '');
    expect(await refusal(`${path}/gateway.db`)).toMatch(/not a directory\.$/);
  });

  test.each(['sqlite:', 'sqlite::memory:', 'mysql://root@localhost/x', ''])(
    'cannot have the address %j',
    async (url) => {
      await expect(openDatabase(url, { log: silent })).rejects.toThrow(
        /^The address of an? .*database must be/,
      );
    },
  );

  test('in an empty file is a new one', async () => {
    const path = await freshPath();
    await writeFile(path, '');
    const { kysely } = await open(`sqlite:${path}`);
    expect(await kysely.selectFrom('log_head').select('seq').execute()).toEqual([{ seq: 0 }]);
  });

  test('can be read while a transaction is open', async () => {
    const path = await freshPath();
    const { kysely } = await open(`sqlite:${path}`);
    let reads = 0;
    await kysely.transaction().execute(async () => {
      for (; reads < 10; reads++) await kysely.selectFrom('log_head').selectAll().execute();
    });
    expect(reads).toBe(10);
  });

  test('in a damaged file is refused', async () => {
    const path = await freshPath();
    await (await openDatabase(`sqlite:${path}`, { log: silent })).stop();
    const bytes = await readFile(path);
    await writeFile(path, bytes.fill(0xff, 100));
    expect(await refusal(path)).toMatch(/the file is damaged\.$/);
  });
});
