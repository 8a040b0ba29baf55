import { closeSync, existsSync, openSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { Kysely } from 'kysely';
import type { Logger } from 'pino';
import { createDamageMonitor, type DamageMonitor } from './corruption.js';
import { watchFile } from '../file-watch.js';
import { makeFolder } from '../make-folder.js';
import type { Tables } from '../sql/schema.js';
import { createNotifications } from '../sql/notifications.js';
import { createSqliteDialect, type Reader } from './sqlite-dialect.js';
import { createStatements, toSqliteError } from './sqlite-statements.js';
import { startWriter, type Writer } from './sqlite-writer.js';
import { UnusableDatabase } from '../sql/unusable-database.js';

const busyMs = 5_000;

const reasons: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'the file is not a SQLite database',
  SQLITE_CORRUPT: 'the file is damaged',
  SQLITE_BUSY: 'another process is using it',
  SQLITE_READONLY: 'the file cannot be written',
  SQLITE_FULL: 'its disk is full',
  SQLITE_CANTOPEN: 'the file or its directory cannot be opened for writing',
  EACCES: 'its directory cannot be created',
  ENOTDIR: 'a part of its path is not a directory',
  EEXIST: 'a part of its path is not a directory',
};

function openReader(path: string, { inspect }: DamageMonitor): Reader {
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyMs });
  const statements = createStatements(database);
  return {
    run(sql, parameters) {
      try {
        return statements.run(sql, parameters);
      } catch (error) {
        throw inspect(error);
      }
    },
    stop: () => database.close(),
  };
}

async function openParts(path: string, module: URL, damage: DamageMonitor) {
  let writer: Writer | undefined;
  try {
    writer = await startWriter(path, module, damage.inspect);
    return { writer, reader: openReader(path, damage) };
  } catch (error) {
    await writer?.stop().catch(() => undefined); // what is wrong is told below
    throw cannotOpen(path, error);
  }
}

/**
 * Creates a missing file, and its folder, for its owner only: SQLite would make it readable by others. What SQLite puts
 * beside it has the mode of the file. Returns its real path: it has one lock, whatever link leads to it.
 */
function createFile(given: string): string {
  try {
    makeFolder(dirname(given));
  } catch (error) {
    throw cannotOpen(resolve(given), error);
  }
  try {
    if (!existsSync(given)) closeSync(openSync(given, 'a', 0o600)); // not 'wx': a link may lead to where it is to be
    return realpathSync(given);
  } catch {
    return resolve(given); // SQLite cannot open it either, and says so
  }
}

/** A failure of SQLite or of the file system, with its reason in plain words. */
export function cannotOpen(path: string, error: unknown): UnusableDatabase {
  const { code, message } = toSqliteError(error);
  const reason = reasons[code] ?? message;
  return new UnusableDatabase(`Cannot open the database ${path}: ${reason}.`, { cause: error });
}

/**
 * Opens the database in a file; creates the file and its directory if they are missing. `writer` is the program of the
 * thread that writes.
 */
export async function openSqlite(given: string, writer: URL, log: Logger) {
  if (!given || given === ':memory:')
    throw new UnusableDatabase('The address of an embedded database must be sqlite:<path of a file>.');
  const path = createFile(given);
  const damage = createDamageMonitor(log);
  const parts = await openParts(path, writer, damage);
  const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(parts) });
  const notifications = createNotifications(log);
  const file = watchFile(path);
  return {
    engine: 'sqlite' as const,
    kysely,
    procedure: parts.writer.procedure,
    signal: notifications.emit,
    listen: notifications.listen,
    lost: Promise.race([parts.writer.lost, file.gone]),
    fault: damage.recent,
    cannotOpen: (error: unknown) => cannotOpen(path, error),
    stop() {
      file.stop();
      return kysely.destroy();
    },
  };
}
