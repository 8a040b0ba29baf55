import { randomBytes, randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from './make-folder.js';
import { UnusableDatabase } from './sql/unusable-database.js';
import { filesOf } from './sqlite/files.js';

/**
 * The key that seals stored secrets if the operator configures none: generated once, in a file beside the embedded
 * database (for a development Postgres, in `data/`), readable by its owner only.
 */
export function keyBeside(databaseUrl: string): Buffer {
  const { path, key } = findKey(databaseUrl);
  if (key) return key;
  const isEmbedded = databaseUrl.startsWith('sqlite:');
  makeKey(path, isEmbedded ? 'choose another place for the database (DATABASE_URL)' : 'set SECRET_KEYS');
  return readKey(path);
}

/**
 * The key that a start would find for this database; undefined if it would make one. Throws an `UnusableDatabase` if there
 * is no usable one, and could not be made.
 */
export function checkKeyBeside(databaseUrl: string): Buffer | undefined {
  return findKey(databaseUrl).key;
}

/** The key, unless it is still to be made. */
function findKey(databaseUrl: string): { readonly path: string; readonly key: Buffer | undefined } {
  const embedded = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  const path = embedded === undefined ? join('data', 'gateway.key') : filesOf(embedded).key;
  const isNew = embedded === undefined || isEmpty(embedded); // checked before the key, which is written first
  if (existsSync(path)) return { path, key: readKey(path) };
  if (!isNew) throw keyMissing(path, embedded);
  return { path, key: undefined };
}

function readKey(path: string): Buffer {
  const key = Buffer.from(readText(path), 'base64');
  if (key.length !== 32) throw new UnusableDatabase(`The key file ${path} does not hold 32 bytes in base64.`);
  return key;
}

/** The file system's own error may not say which file it is about. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new UnusableDatabase(`Cannot read the key file ${path}: ${(cause as Error).message}.`, { cause });
  }
}

function isEmpty(path: string): boolean {
  if (!existsSync(path)) return true;
  const found = statSync(path);
  if (found.isDirectory()) throw new UnusableDatabase(`Cannot open the database ${path}: it is a directory.`);
  return found.size === 0;
}

/** A newly generated key could open nothing in the existing database. */
function keyMissing(path: string, database: string): UnusableDatabase {
  if (!isSqlite(database))
    return new UnusableDatabase(`Cannot open the database ${database}: the file is not a SQLite database.`);
  return new UnusableDatabase(
    `There is no key for the database ${database}: set SECRET_KEYS as before, or put its key file ${path} back. ` +
      'A new key cannot decrypt what is in the database.',
  );
}

/** By the header string of the file format (SQLite, "Database File Format", §1.3.1). */
function isSqlite(path: string): boolean {
  const header = Buffer.from('SQLite format 3\0');
  const start = Buffer.alloc(header.length);
  const file = openSync(path, 'r');
  try {
    readSync(file, start);
  } finally {
    closeSync(file);
  }
  return start.equals(header);
}

/**
 * Creates the key file atomically: it is never partial, and if several processes create it at once, one wins. `remedy` is
 * what else helps where the gateway may not write.
 */
function makeKey(path: string, remedy: string): void {
  const draft = `${path}.${randomUUID()}`;
  try {
    makeFolder(dirname(path));
    writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true });
    publish(draft, path);
  } catch (error) {
    if (!existsSync(path)) throw cannotCreate(path, error as Error, remedy);
  } finally {
    if (existsSync(draft)) rmSync(draft);
  }
}

function cannotCreate(path: string, cause: Error, remedy: string): UnusableDatabase {
  const advice = `Let the gateway's user write there, or ${remedy}.`;
  return new UnusableDatabase(`Cannot create the key file ${path}: ${cause.message}. ${advice}`, { cause });
}

/** Fails if the file exists. Without hard links on the file system it is copied, which is not atomic. */
function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if (alreadyExists(error)) throw error;
    copyWhole(draft, path);
  }
}

/** It is on disk then; if that fails, nothing is left of it. Fails if the file exists. */
function copyWhole(draft: string, path: string): void {
  const key = readFileSync(draft);
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, key, { flush: true });
  } catch (error) {
    rmSync(path);
    throw error;
  } finally {
    closeSync(file);
  }
}

function alreadyExists(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST';
}
