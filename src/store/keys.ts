import { randomBytes, randomUUID } from 'node:crypto';
import {
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { UnusableDatabase } from './unusable.js';

/**
 * The key that seals stored secrets if the operator configures none: generated once, in a file beside the embedded
 * database (for a development Postgres, in `data/`), readable by its owner only.
 */
export function keyBeside(databaseUrl: string): Buffer {
  const embedded = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  const path = embedded === undefined ? join('data', 'gateway.key') : `${embedded}.key`;
  const isNew = embedded === undefined || isEmpty(embedded); // checked before the key, which is written first
  if (!existsSync(path)) {
    if (!isNew) throw lost(path, embedded);
    makeKey(path);
  }
  const key = Buffer.from(readFileSync(path, 'utf8'), 'base64');
  if (key.length !== 32) throw new UnusableDatabase(`The key file ${path} does not hold 32 bytes in base64.`);
  return key;
}

function isEmpty(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory())
    throw new UnusableDatabase(`Cannot open the database ${path}: it is a directory.`);
  return (found?.size ?? 0) === 0;
}

/** A newly generated key could open nothing in the existing database. */
function lost(path: string, database: string): UnusableDatabase {
  return new UnusableDatabase(
    `The key file ${path} is missing for the database ${database}: put it back, or set SECRET_KEYS to another key ` +
      '(which cannot open what the missing one sealed).',
  );
}

/** Creates the key file atomically: it is never partial, and if several processes create it at once, one wins. */
function makeKey(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true });
    publish(draft, path);
  } catch (error) {
    if (!alreadyExists(error)) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Fails if the file exists. Without hard links on the file system it is copied, which is not atomic. */
function publish(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if (alreadyExists(error)) throw error;
    copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

function alreadyExists(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST';
}
