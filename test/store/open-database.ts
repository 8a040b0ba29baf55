import { CompiledQuery, type KyselyPlugin, type RootOperationNode } from 'kysely';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Database } from '../../src/store/database.js';
import { openDatabase } from '../support/database.js';

export const silent = pino({ level: 'silent' });

const opened: Database[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.stop()));
});

/** Opens a database that is closed after the test. */
export async function open(url: string): Promise<Database> {
  const database = await openDatabase(url, { log: silent });
  opened.push(database);
  return database;
}

/** The same database, and the statements run on it since, if it is given one at a time. */
export function recordStatements(given: Database) {
  const statements: RootOperationNode[] = [];
  let built: RootOperationNode;
  const recorder: KyselyPlugin = {
    transformQuery: ({ node }) => (built = node), // also called for subqueries, before the whole
    async transformResult({ result }) {
      statements.push(built);
      return result;
    },
  };
  return { database: { ...given, kysely: given.kysely.withPlugin(recorder) }, statements };
}

/**
 * A database for a group of tests, filled before the first of them and closed after the last, and the statements run on it
 * since, as `recordStatements` has them.
 */
export function recordFilled(freshUrl: () => Promise<string>, fill: (database: Database) => Promise<void>) {
  const recorded = {} as ReturnType<typeof recordStatements>; // has its members once a test runs
  beforeAll(async () => {
    const database = await openDatabase(await freshUrl(), { log: silent });
    await fill(database);
    Object.assign(recorded, recordStatements(database));
  });
  afterAll(() => recorded.database.stop());
  return recorded;
}

/** The same database, and how many characters each statement has read since. */
export function recordLengths(given: Database) {
  const lengths: number[] = [];
  const recorder: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const values = result.rows.flatMap((row) => Object.values(row));
      lengths.push(values.reduce<number>((sum, value) => sum + String(value).length, 0));
      return result;
    },
  };
  return { database: { ...given, kysely: given.kysely.withPlugin(recorder) }, lengths };
}

/** How the database would run a statement. */
export async function planOf({ engine, kysely }: Database, statement: RootOperationNode): Promise<string> {
  const { sql, parameters } = kysely.getExecutor().compileQuery(statement, { queryId: '' });
  const explain = engine === 'postgres' ? 'explain' : 'explain query plan';
  const { rows } = await kysely.executeQuery<object>(CompiledQuery.raw(`${explain} ${sql}`, [...parameters]));
  return rows.flatMap((row) => Object.values(row) as unknown[]).join('\n');
}
