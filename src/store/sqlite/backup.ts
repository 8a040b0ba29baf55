import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { UnusableDatabase } from '../sql/unusable-database.js';

const busyMs = 5_000;

/** Opens an embedded database for reading, while a gateway may be using it. */
export function openReadOnly(path: string): InstanceType<typeof DatabaseSync> {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
    database.prepare('select count(*) from sqlite_schema').get();
    return database;
  } catch (cause) {
    const { message } = cause as Error;
    throw new UnusableDatabase(`Cannot read the database ${path}: ${message}.`, { cause });
  }
}

/**
 * Copies the embedded database at `path` to `target`, as it is at one moment, while a gateway goes on writing to it; and
 * its key file, if it has one, to `<target>.key`. Both are for their owner only. Nothing of another `target` may be left,
 * and it is there only when the copy is whole and on disk. Returns whether there was a key file. Throws an
 * `UnusableDatabase`.
 */
export function backUp(path: string, target: string): boolean {
  // A write-ahead log that is left of another database would be read into this one.
  for (const file of [target, `${target}-wal`, `${target}.key`])
    if (existsSync(file)) throw new UnusableDatabase(`${file} exists: choose another name for the backup.`);
  if (!existsSync(path)) throw new UnusableDatabase(`There is no database ${path}.`);
  const draft = `${target}.${randomUUID()}.part`; // another run may have the same target
  const database = openReadOnly(path);
  try {
    closeSync(openSync(draft, 'wx', 0o600)); // SQLite would make it readable by others
    database.prepare('vacuum into ?').run(draft);
    flush(draft);
    const hasKey = existsSync(`${path}.key`);
    if (hasKey) copyKey(`${path}.key`, `${target}.key`);
    renameSync(draft, target);
    flushFolder(dirname(target));
    return hasKey;
  } catch (cause) {
    const { message } = cause as Error;
    throw new UnusableDatabase(`Cannot write the backup ${target}: ${message}.`, { cause });
  } finally {
    database.close();
    rmSync(draft, { force: true });
  }
}

function copyKey(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  chmodSync(to, 0o600);
  flush(to);
}

/** Until then, a file that was renamed in it may be gone after a power cut. Not every system flushes folders. */
function flushFolder(path: string): void {
  try {
    flush(path);
  } catch {
    // It is as durable as the system makes it.
  }
}

function flush(path: string): void {
  const file = openSync(path, 'r');
  fsyncSync(file);
  closeSync(file);
}
