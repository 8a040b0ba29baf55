import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UnusableDatabase } from './unusable.js';

/**
 * The key that seals what is stored, where the operator gives none: made once, in a file beside the embedded
 * database (for a development Postgres, in `data/`), readable by its owner only.
 */
export function keyBeside(databaseUrl: string): Buffer {
  const embedded = databaseUrl.startsWith('sqlite:') ? databaseUrl.slice('sqlite:'.length) : undefined;
  const path = embedded === undefined ? join('data', 'gateway.key') : `${embedded}.key`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = Buffer.from(readFileSync(path, 'utf8'), 'base64');
  if (key.length !== 32)
    throw new UnusableDatabase(`The key file ${path} does not hold the base64 of 32 bytes.`);
  return key;
}
