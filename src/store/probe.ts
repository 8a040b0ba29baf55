import { existsSync } from 'node:fs';
import { pino } from 'pino';
import { openReadOnly } from './sqlite/backup.js';
import { UnusableDatabase } from './sql/unusable-database.js';

/**
 * Reaches a database without changing it: it answers, or it is an embedded one that is still to be made. Resolves with
 * what each of several hosts is. Rejects with an `UnusableDatabase`, whose message contains no password.
 */
export async function probeDatabase(url: string, listenUrl: string | undefined): Promise<readonly string[]> {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length);
    if (existsSync(path)) openReadOnly(path).close();
    return [];
  }
  const { openPostgres } = await import('./postgres/postgres.js');
  const options = { listenUrl, log: pino({ level: 'silent' }) };
  const { hosts, stop } = await openPostgres(url, options).catch((error: unknown) => {
    throw error instanceof UnusableDatabase ? error : new UnusableDatabase('It cannot be reached.');
  });
  await stop();
  return hosts();
}
