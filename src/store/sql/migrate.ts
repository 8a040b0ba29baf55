import { Migrator, sql, type Migration } from 'kysely';
import type { Logger } from 'pino';
import type { Engine, Executor, Store } from '../store.js';
import { migrationsFor } from './migrations.js';
import { UnusableDatabase } from './unusable-database.js';

/** Where one-way migrations are recorded; every version refuses a database that has one it does not know. */
export const migrationTable = 'trivium_migrations';
/** Where additions are recorded; a version passes over those it does not know. */
const additionTable = 'trivium_additions';

const announcement =
  'the tables are changed now so that earlier versions cannot use them: to go back, a backup from before is needed';

/**
 * Brings the tables up to date; if several processes start together, one of them does it. Says so before it does what an
 * earlier version could not start after. Rejects if a newer version of this program has done that.
 */
export async function migrate(
  kysely: Executor,
  engine: Engine,
  log: Logger,
  { oneWay, additions } = migrationsFor(engine),
): Promise<void> {
  const store = { engine, kysely };
  const migrations = pendingOneWay(await recorded(store, migrationTable), oneWay);
  if (migrations.length > 0) log.warn({ migrations }, announcement);
  await run(store, migrationTable, oneWay);
  await run(store, additionTable, additions);
}

/**
 * The one-way migrations that a start would run on a database with these ones recorded; none on a new database. Throws if
 * a newer version has run one.
 */
export function pendingOneWay(
  names: readonly string[],
  oneWay: Readonly<Record<string, Migration>> = migrationsFor('sqlite').oneWay,
): readonly string[] {
  const unknown = names.find((name) => !(name in oneWay));
  if (unknown !== undefined)
    throw new UnusableDatabase(
      `A newer version of this program has changed the database (${unknown}): run that version, or a later one.`,
    );
  return names.length === 0 ? [] : Object.keys(oneWay).filter((name) => !names.includes(name));
}

/** The names that a table of migrations has; none in a new database. */
export async function recorded({ engine, kysely }: Store, table: string): Promise<readonly string[]> {
  // Not by introspection, which reads every column of every table there is, at each start.
  const found = await (
    engine === 'sqlite'
      ? sql`select 1 from sqlite_schema where name = ${table}`
      : sql`select 1 where to_regclass(${table}) is not null`
  ).execute(kysely);
  if (found.rows.length === 0) return [];
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(table)}`.execute(kysely);
  return rows.map(({ name }) => name);
}

/** Runs the migrations that are not recorded, if any; recorded ones that are not among these are passed over. */
async function run(
  store: Store,
  table: string,
  migrations: Readonly<Record<string, Migration>>,
): Promise<void> {
  const names = await recorded(store, table);
  if (Object.keys(migrations).every((name) => names.includes(name))) return;
  const passedOver = Object.fromEntries(names.map((name) => [name, { up: async () => undefined }]));
  const migrator = new Migrator({
    db: store.kysely,
    provider: { getMigrations: async () => ({ ...passedOver, ...migrations }) },
    migrationTableName: table,
    migrationLockTableName: `${table}_lock`,
    // A version before, started again, may have added what sorts after what comes with the next.
    allowUnorderedMigrations: true,
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error as Error;
}
