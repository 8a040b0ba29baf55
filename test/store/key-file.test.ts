import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../support/database.js';
import { keyBeside } from '../../src/store/key-file.js';
import { UnusableDatabase } from '../../src/store/sql/unusable-database.js';
import { createTestFile } from '../support/sqlite.js';
import { silent } from './open-database.js';

const child = fileURLToPath(new URL('key-child.ts', import.meta.url));

async function freshPath(): Promise<string> {
  return (await createTestFile()).slice('sqlite:'.length);
}

/** Starts a process that reads the keys when told to; without `mayWrite`, its first write to a file kills it. */
async function start(paths: readonly string[], { mayWrite = true } = {}) {
  const limit = mayWrite ? '' : 'ulimit -f 0; ';
  const started = spawn(
    'sh',
    ['-c', `${limit}exec "$@"`, 'sh', process.execPath, '--import', 'tsx', child, ...paths],
    {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { ...process.env, TSX_DISABLE_CACHE: '1' },
    },
  );
  onTestFinished(() => void started.kill('SIGKILL'));
  const keys: string[] = [];
  const lines = createInterface(started.stdout);
  await once(lines, 'line');
  lines.on('line', (line) => keys.push(line));
  return async () => {
    started.stdin.end('now');
    await once(started, 'close');
    return keys;
  };
}

describe('the key beside an embedded database', () => {
  test('is created once, even in a new folder, readable by its owner only', async () => {
    const path = join(dirname(await freshPath()), 'a', 'gateway.db');
    const key = keyBeside(`sqlite:${path}`);
    expect(key).toHaveLength(32);
    expect(keyBeside(`sqlite:${path}`)).toEqual(key);
    expect(await readFile(`${path}.key`, 'utf8')).toBe(`${key.toString('base64')}\n`);
    expect((await stat(`${path}.key`)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
    expect(await readdir(dirname(path))).toEqual(['gateway.db.key']);
  });

  test('is created by the next process after one was killed while writing it', async () => {
    const path = await freshPath();
    const run = await start([path], { mayWrite: false });
    expect(await run()).toEqual([]);
    expect(await readdir(dirname(path))).not.toContain(basename(`${path}.key`));
    expect(keyBeside(`sqlite:${path}`)).toHaveLength(32);
  });

  test('is the same for processes that create it at the same time', async () => {
    const folder = dirname(await freshPath());
    const paths = Array.from({ length: 300 }, (_, place) => join(folder, `${place}.db`));
    const runs = await Promise.all([start(paths), start(paths), start(paths)]);
    const [first, ...others] = await Promise.all(runs.map((run) => run()));
    expect(new Set(first).size).toBe(paths.length);
    for (const keys of others) expect(keys).toEqual(first);
    expect(await readdir(folder)).toHaveLength(paths.length);
  });

  test('is not created again for a database whose key is missing', async () => {
    const path = await freshPath();
    await (await openDatabase(`sqlite:${path}`, { log: silent })).stop();
    const files = await readdir(dirname(path));
    expect(() => keyBeside(`sqlite:${path}`)).toThrow(
      `There is no key for the database ${path}: set SECRET_KEYS as before`,
    );
    expect(await readdir(dirname(path))).toEqual(files);
  });

  test('is not created for a file that is not a SQLite database', async () => {
    const path = await freshPath();
    await writeFile(path, '{"name":"package"}');
    expect(() => keyBeside(`sqlite:${path}`)).toThrow(
      `Cannot open the database ${path}: the file is not a SQLite database.`,
    );
    expect(await readdir(dirname(path))).toEqual([basename(path)]);
  });

  test('where it cannot be created, the error names the setting that helps', async () => {
    // A file system takes names of at most 255 bytes: the draft of the key, with 40 more, is too long.
    const path = join(dirname(await freshPath()), `${'a'.repeat(240)}.db`);
    expect(() => keyBeside(`sqlite:${path}`)).toThrow(
      /^Cannot create the key file .*\.key: ENAMETOOLONG.* write there, or choose .* \(DATABASE_URL\)\.$/,
    );
  });

  test('where a part of its path is no folder, the error names it, too', async () => {
    const file = await freshPath();
    await writeFile(file, '');
    expect(() => keyBeside(`sqlite:${join(file, 'data', 'gateway.db')}`)).toThrow(
      /^Cannot create the key file .*\.key: ENOTDIR.* write there, or choose .* \(DATABASE_URL\)\.$/,
    );
  });

  test('where that of a Postgres cannot be created, the error names SECRET_KEYS', async () => {
    const folder = dirname(await freshPath());
    await writeFile(join(folder, 'data'), '');
    const before = process.cwd();
    process.chdir(folder);
    try {
      expect(() => keyBeside('postgres://127.0.0.1/gateway')).toThrow(
        /^Cannot create the key file data\/gateway\.key: .* write there, or set SECRET_KEYS\.$/,
      );
    } finally {
      process.chdir(before);
    }
  });

  test('is not created for a directory', async () => {
    const folder = dirname(await freshPath());
    expect(() => keyBeside(`sqlite:${folder}`)).toThrow(
      `Cannot open the database ${folder}: it is a directory.`,
    );
    expect(existsSync(`${folder}.key`)).toBe(false);
  });

  test('is left unchanged when the file holds no valid key', async () => {
    const path = await freshPath();
    await writeFile(`${path}.key`, '');
    expect(() => keyBeside(`sqlite:${path}`)).toThrow('does not hold 32 bytes in base64');
    expect(await readFile(`${path}.key`, 'utf8')).toBe('');
  });

  test('where it cannot be read, the error names its file', async () => {
    const path = await freshPath();
    await mkdir(`${path}.key`);
    expect(() => keyBeside(`sqlite:${path}`)).toThrow(
      new UnusableDatabase(
        `Cannot read the key file ${path}.key: EISDIR: illegal operation on a directory, read.`,
      ),
    );
  });
});
