import { resolve } from 'node:path';
import type { Environment } from '../config/environment.js';
import { backUp } from '../store/sqlite/backup.js';
import { restore } from '../store/sqlite/restore.js';
import { CommandError, say, type Program } from './program.js';
import { settings } from './start.js';

/** `trivium backup FILE`: a copy of the embedded database, which a gateway may be using. */
export function runBackup({ environment }: Program, file: string | undefined): void {
  if (file === undefined) throw new CommandError('Name the file to write: trivium backup FILE');
  const path = embeddedDatabase(environment, 'back it up with pg_dump or its own means');
  const hasKey = backUp(path, resolve(file));
  const key = hasKey ? `SECRET_KEYS or, if you set none, ${file}.key` : 'SECRET_KEYS as they are now';
  say(`Backed up ${path} to ${file}. To use it, you need its key: ${key}.`);
}

/** `trivium restore FILE`: a backup in the place of the embedded database, and what is then left to do. */
export async function runRestore({ environment }: Program, file: string | undefined): Promise<void> {
  if (file === undefined) throw new CommandError('Name the backup: trivium restore FILE');
  const path = embeddedDatabase(environment, 'restore it with pg_restore or its own means');
  const { hasKey, replaced } = await restore(resolve(file), path);
  say(`Restored ${path} from ${file}.`);
  if (replaced.length > 0)
    say(`What was there before is now ${replaced.join(', ')}: keep or delete all of it together.`);
  const key = hasKey
    ? 'Its key is in place. If you set SECRET_KEYS, set them as they were then.'
    : `There is no ${file}.key: set SECRET_KEYS as they were then.`;
  say(`
Before the gateway starts:
- ${key}
- Bookings made since the backup are unknown here: compare with the appointment service. A client that repeats one with
  its idempotency key would book again.
Then:
- Rotate again each secret that was rotated since the backup.
- Everybody has to sign in again.`);
}

/** The path of the database that the settings name; `advice` is for one on Postgres. */
function embeddedDatabase(environment: Environment, advice: string): string {
  const { databaseUrl } = settings({
    DATABASE_URL: environment['DATABASE_URL'],
    DATABASE_URL_FILE: environment['DATABASE_URL_FILE'],
  });
  if (!databaseUrl.startsWith('sqlite:'))
    throw new CommandError(`DATABASE_URL names a Postgres database: ${advice}.`);
  return databaseUrl.slice('sqlite:'.length);
}
