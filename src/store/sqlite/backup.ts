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
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { UnusableDatabase } from '../sql/unusable-database.js';
import { filesOf } from './files.js';

const busyMs = 5_000;

/** Opens an embedded database for reading, while a gateway may be using it. */
export function openReadOnly(path: string): InstanceType<typeof DatabaseSync> {
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
    database.prepare('select count(*) from sqlite_schema').get();
    return database;
  } catch (cause) {
    throw cannotRead(path, cause);
  }
}

/** Whether there is such a file. Throws an `UnusableDatabase` if that cannot be seen, as in the folder of another user. */
export function hasFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    throw cannotRead(path, cause);
  }
}

function cannotRead(path: string, cause: unknown): UnusableDatabase {
  const { message } = cause as Error;
  return new UnusableDatabase(`Cannot read the database ${path}: ${message}.`, { cause });
}

/**
 * Copies the embedded database at `path` to `target`, as it is at one moment, while a gateway goes on writing to it; and
 * its key file, if it has one, to `<target>.key`. Both are for their owner only. Nothing of another `target` may be left,
 * and it is there only when the copy is whole and on disk. Returns whether there was a key file. Throws an
 * `UnusableDatabase`.
 */
export function backUp(path: string, target: string): boolean {
  refuseExisting(target, 'choose another name for the backup');
  const draft = draftOf(target);
  try {
    copyDatabase(path, draft);
    const { key } = filesOf(path);
    const hasKey = existsSync(key);
    if (hasKey) copyFile(key, filesOf(target).key);
    renameSync(draft, target);
    flushFolder(dirname(target));
    return hasKey;
  } catch (cause) {
    if (cause instanceof UnusableDatabase) throw cause;
    const { message } = cause as Error;
    throw new UnusableDatabase(`Cannot write the backup ${target}: ${message}.`, { cause });
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Where to write `target` until it is whole; another run may have the same target. */
export function draftOf(target: string): string {
  return `${target}.${randomUUID()}.part`;
}

/**
 * Throws an `UnusableDatabase` with this advice if there is a database at `path`, or something left of one: a write-ahead
 * log that is left would be read into the one that is put there.
 */
export function refuseExisting(path: string, advice: string): void {
  const [file] = partsAt(path);
  if (file !== undefined) throw new UnusableDatabase(`${file} exists: ${advice}.`);
}

/** What there is of a database at `path`: its file, its write-ahead log and its key, or fewer. */
export function partsAt(path: string): string[] {
  const { wal, key } = filesOf(path);
  return [path, wal, key].filter((file) => existsSync(file));
}

/** Copies a database, which others may be writing, to a new file for its owner only, and onto the disk. */
export function copyDatabase(path: string, target: string): void {
  if (!hasFile(path)) throw new UnusableDatabase(`There is no database ${path}.`);
  const database = openReadOnly(path);
  try {
    closeSync(openSync(target, 'wx', 0o600)); // SQLite would make it readable by others
    database.prepare('vacuum into ?').run(target);
    flush(target);
  } finally {
    database.close();
  }
}

/** Copies a file to a new one for its owner only, and onto the disk. */
export function copyFile(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  chmodSync(to, 0o600);
  flush(to);
}

/** Until then, a file that was renamed in it may be gone after a power cut. Not every system flushes folders. */
export function flushFolder(path: string): void {
  try {
    flush(path);
  } catch {
    // It is as durable as the system makes it.
  }
}

/** Puts what was written to a file onto the disk. */
export function flush(path: string): void {
  const file = openSync(path, 'r');
  fsyncSync(file);
  closeSync(file);
}
