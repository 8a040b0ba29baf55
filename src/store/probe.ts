import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { pino } from 'pino';
import { openReadOnly } from './sqlite/backup.js';
import { migrationTable, pendingOneWay, recorded } from './sql/migrate.js';
import { UnusableDatabase } from './sql/unusable-database.js';

/**
 * Reaches a database without changing it: it answers, or it is an embedded one that is still to be made. Resolves with
 * what each of several hosts is, and whether a start would change it so that earlier versions could not use it. Rejects
 * with an `UnusableDatabase`, whose message contains no password.
 */
export async function probeDatabase(url: string, listenUrl: string | undefined): Promise<readonly string[]> {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length);
    checkPlace(path);
    return existsSync(path) ? announce(recordedIn(path)) : [];
  }
  const { openPostgres } = await import('./postgres/postgres.js');
  const options = { listenUrl, log: pino({ level: 'silent' }) };
  const { engine, kysely, hosts, stop } = await openPostgres(url, options).catch((error: unknown) => {
    throw error instanceof UnusableDatabase ? error : new UnusableDatabase('It cannot be reached.');
  });
  try {
    return [...hosts(), ...announce(await recorded({ engine, kysely }, migrationTable))];
  } finally {
    await stop();
  }
}

/** Refuses a database that a start could not make or write, as far as its place shows. */
function checkPlace(path: string): void {
  try {
    const file = existsSync(path) ? realpathSync(path) : undefined;
    let folder = dirname(file ?? path);
    while (!existsSync(folder)) folder = dirname(folder);
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is not a directory`);
    for (const place of file === undefined ? [folder] : [folder, file]) accessSync(place, constants.W_OK);
  } catch (cause) {
    throw new UnusableDatabase(`Cannot write the database ${path}: ${(cause as Error).message}.`, { cause });
  }
}

function recordedIn(path: string): readonly string[] {
  const database = openReadOnly(path);
  try {
    const has: unknown = database.prepare('select 1 from sqlite_schema where name = ?').get(migrationTable);
    if (has === undefined) return [];
    const rows = database.prepare(`select name from ${migrationTable}`).all() as { readonly name: string }[];
    return rows.map(({ name }) => name);
  } finally {
    database.close();
  }
}

function announce(names: readonly string[]): readonly string[] {
  const pending = pendingOneWay(names);
  return pending.length === 0
    ? []
    : [
        `a start changes its tables so that earlier versions cannot use it (${pending.join(', ')}): back it up first`,
      ];
}
