import { chownSync, existsSync, lstatSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { checkKeyBeside } from '../key-file.js';
import { makeFolder } from '../make-folder.js';
import { migrationTable, pendingOneWay, recorded } from '../sql/migrate.js';
import { UnusableDatabase } from '../sql/unusable-database.js';
import {
  copyDatabase,
  copyFile,
  draftOf,
  flush,
  flushFolder,
  hasFile,
  openReadOnly,
  partsAt,
  refuseExisting,
} from './backup.js';
import { filesOf } from './files.js';
import { cannotOpen } from './sqlite.js';
import { createKysely } from './sqlite-dialect.js';
import { createStatements } from './sqlite-statements.js';
import { lockDatabase } from './sqlite-writer.js';

/** What a restore has done. */
export interface Restored {
  /** Whether the backup had a key file, which is now that of the database. */
  readonly hasKey: boolean;
  /** The files that are now what was there before: the database, its write-ahead log and its key, or fewer. */
  readonly replaced: readonly string[];
}

/**
 * Puts a copy of the backup `file`, without its sessions, in the place of the embedded database at `given`, with the key
 * file of the backup if it has one. The database from before becomes `<given>.replaced`, with its write-ahead log and its
 * key. At any moment the one from before is whole, in its place or there. Rejects with an `UnusableDatabase`, having
 * changed nothing, if the backup is of no use or the database is in use.
 */
export async function restore(file: string, given: string): Promise<Restored> {
  if (isSame(file, given)) throw new UnusableDatabase(`${file} is the database itself: name a backup of it.`);
  await checkBackup(file);
  const path = placeOf(given);
  const lock = hold(path);
  try {
    return replace(path, filesOf(given).key, file);
  } catch (cause) {
    if (cause instanceof UnusableDatabase) throw cause;
    const { message } = cause as Error;
    throw new UnusableDatabase(`Cannot restore the database ${path}: ${message}.`, { cause });
  } finally {
    lock.close();
  }
}

/** Rejects unless it is a whole database of this program, which this version can use, and any key beside it is one. */
async function checkBackup(file: string): Promise<void> {
  if (!hasFile(file)) throw new UnusableDatabase(`There is no backup ${file}.`);
  const database = openReadOnly(file);
  try {
    checkWhole(database, file);
    const kysely = createKysely(createStatements(database));
    const names = await recorded({ engine: 'sqlite', kysely }, migrationTable);
    if (names.length === 0) throw new UnusableDatabase(`${file} is not a database of this program.`);
    pendingOneWay(names);
  } finally {
    database.close();
  }
  if (existsSync(filesOf(file).key)) checkKeyBeside(`sqlite:${file}`);
}

/** Indexes are not compared with their tables: the copy gets new ones. */
function checkWhole(database: InstanceType<typeof DatabaseSync>, file: string): void {
  let fault: string;
  try {
    const [row] = database.prepare('pragma quick_check(1)').all() as [{ readonly quick_check: string }];
    fault = row.quick_check;
  } catch (error) {
    fault = (error as Error).message;
  }
  if (fault !== 'ok') throw new UnusableDatabase(`The backup ${file} is damaged: ${fault}.`);
}

function isSame(file: string, other: string): boolean {
  const [one, two] = [file, other].map((path) => (existsSync(path) ? statSync(path) : undefined));
  return one !== undefined && one.ino === two?.ino && one.dev === two.dev;
}

/** The real path of the database, in a folder that is there then. There is a file or nothing: a folder is never moved. */
function placeOf(given: string): string {
  try {
    makeFolder(dirname(given));
    if (!lstatSync(given, { throwIfNoEntry: false }))
      return join(realpathSync(dirname(given)), basename(given));
    if (!existsSync(given)) throw new Error('it is a link to a file that is not there');
    const found = statSync(given);
    if (found.isDirectory()) throw new Error('it is a directory');
    if (!found.isFile()) throw new Error('it is not a regular file');
    return realpathSync(given);
  } catch (error) {
    throw cannotOpen(given, error);
  }
}

/** As a start does. */
function hold(path: string): InstanceType<typeof DatabaseSync> {
  try {
    return lockDatabase(path);
  } catch (error) {
    throw cannotOpen(path, error);
  }
}

/** `key` is that of the database, which a start finds by the name that it is given, and not beside the real `path`. */
function replace(path: string, key: string, file: string): Restored {
  const replaced = `${path}.replaced`;
  const draft = draftOf(path);
  const present = filesOf(path);
  const backup = filesOf(file);
  const keyDraft = draftOf(key);
  const aside = filesOf(replaced);
  const fromBefore = `from a restore before; move elsewhere or delete, together: ${partsAt(replaced).join(', ')}`;
  refuseExisting(replaced, fromBefore);
  const isThere = existsSync(path);
  const hasKey = existsSync(backup.key);
  let isMoved = false;
  try {
    copyDatabase(file, draft);
    deleteSessions(draft);
    if (hasKey) copyFile(backup.key, keyDraft);
    // Copied and not moved, so that the old database is whole on either side of the one step that moves it.
    // The log may be without its database, which was moved by hand.
    if (existsSync(present.wal)) copyFile(present.wal, aside.wal);
    if (existsSync(key)) copyFile(key, aside.key);
    giveToOwner(path, [draft, keyDraft, aside.wal, aside.key, present.lock]);
    flushFolder(dirname(path));
    if (isThere) renameSync(path, replaced);
    isMoved = true;
    flushFolder(dirname(path));
    for (const each of [present.wal, present.shm]) rmSync(each, { force: true });
    if (hasKey) renameSync(keyDraft, key);
    flushFolder(dirname(key));
    renameSync(draft, path);
    flushFolder(dirname(path));
    return { hasKey, replaced: partsAt(replaced) };
  } finally {
    for (const each of [draft, keyDraft, ...(isMoved ? [] : [aside.wal, aside.key])])
      rmSync(each, { force: true });
  }
}

/** A token that was signed out since the backup would be valid again. */
function deleteSessions(path: string): void {
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode = memory; delete from sessions'); // nothing is left beside it if this is cut off
  database.close();
  flush(path);
}

/** What root makes would be of no use to the gateway's user, who owns the database or else its folder. */
function giveToOwner(path: string, files: readonly string[]): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(existsSync(path) ? path : dirname(path));
  for (const file of files) if (existsSync(file)) chownSync(file, uid, gid);
}
