import { resolve } from 'node:path';
import { backUp } from '../store/sqlite/backup.js';
import { CommandError, say, type Program } from './program.js';
import { settings } from './start.js';

/** `trivium backup FILE`: a copy of the embedded database, which a gateway may be using. */
export function runBackup({ environment }: Program, file: string | undefined): void {
  if (file === undefined) throw new CommandError('Name the file to write: trivium backup FILE');
  const { databaseUrl } = settings({
    DATABASE_URL: environment['DATABASE_URL'],
    DATABASE_URL_FILE: environment['DATABASE_URL_FILE'],
  });
  if (!databaseUrl.startsWith('sqlite:'))
    throw new CommandError(
      'DATABASE_URL names a Postgres database: back it up with pg_dump or its own means.',
    );
  const path = databaseUrl.slice('sqlite:'.length);
  const hasKey = backUp(path, resolve(file));
  const key = hasKey ? `SECRET_KEYS or, if you set none, ${file}.key` : 'SECRET_KEYS as they are now';
  say(`Backed up ${path} to ${file}. To use it, you need its key: ${key}.`);
}
