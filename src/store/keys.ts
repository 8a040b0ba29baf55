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
 * The key that seals what is stored, where the operator gives none: made once, in a file beside the embedded
 * database (for a development Postgres, in `data/`), readable by its owner only.
 */
export function keyBeside(databaseUrl: string): Buffer {
  const embedded = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  const path = embedded === undefined ? join('data', 'gateway.key') : `${embedded}.key`;
  const isNew = embedded === undefined || isEmpty(embedded); // looked at first: its key is there before it is
  if (!existsSync(path)) {
    if (!isNew) throw lost(path, embedded);
    makeKey(path);
  }
  const key = Buffer.from(readFileSync(path, 'utf8'), 'base64');
  if (key.length !== 32)
    throw new UnusableDatabase(`The key file ${path} does not hold the base64 of 32 bytes.`);
  return key;
}

function isEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** A new key would open nothing of what is there. */
function lost(path: string, database: string): UnusableDatabase {
  return new UnusableDatabase(
    `The key file ${path} is missing beside the database ${database}: put it back, or give a key as SECRET_KEYS ` +
      '(what the missing one sealed only that one opens).',
  );
}

/** Under its name the file is whole from the start, whatever ends the process; of several made at once one stays. */
function makeKey(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  try {
    writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true });
    name(draft, path);
  } catch (error) {
    if (!isThere(error)) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Fails if there is a file already. On a file system without links it is copied, and not whole from the start. */
function name(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch (error) {
    if (isThere(error)) throw error;
    copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

function isThere(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EEXIST';
}
