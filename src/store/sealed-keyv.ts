import { Keyv, type KeyvStoreAdapter } from 'keyv';
import type { Clock } from '../lib/clock.js';
import type { Sealer } from '../lib/sealer.js';
import type { Database } from './database.js';
import { clockSkew } from './clock-skew.js';
import { keyText } from './sql/key-text.js';

/** Where the values of one namespace are stored, and how they are sealed. */
export interface KeyvParts {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly namespace: string;
  readonly clock: Clock;
}

type Storage = Pick<KeyvStoreAdapter, 'get' | 'getMany' | 'set' | 'delete' | 'clear'>;

/** Rows of the table `keyv`; each value is sealed and bound to its key. */
function createStorage({ database, sealer, namespace, clock }: KeyvParts): Storage {
  const { kysely } = database;
  const prefix = `${keyText(namespace)}:`;
  const place = (key: string) => `keyv:${prefix}${key}`;
  const rowKey = (key: string) => prefix + keyText(key);

  // A value that cannot be opened (its sealing key is gone, or the row was moved) counts as absent.
  const get = async (key: string): Promise<string | undefined> => {
    const row = await kysely
      .selectFrom('keyv')
      .select(['value', 'expires_at'])
      .where('key', '=', rowKey(key))
      .executeTakeFirst();
    if (!row || (row.expires_at !== null && row.expires_at <= clock.now())) return undefined;
    return sealer.open(row.value, place(key));
  };

  /** Deletes nothing while this machine's clock is wrong, since the other replicas need the values. */
  async function deleteExpired(): Promise<void> {
    if ((await clockSkew(database)) !== undefined) return;
    await kysely.deleteFrom('keyv').where('expires_at', '<=', clock.now()).execute();
  }

  return {
    get: get as Storage['get'],
    // Keyv's default would report the values of a failing store as absent.
    getMany: ((keys: string[]) => Promise.all(keys.map(get))) as NonNullable<Storage['getMany']>,
    async set(key: string, text: string, ttlMs?: number) {
      const value = sealer.seal(text, place(key));
      const expires_at = ttlMs === undefined ? null : Math.ceil(clock.now() + ttlMs);
      await kysely
        .insertInto('keyv')
        .values({ key: rowKey(key), value, expires_at })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, expires_at }))
        .execute();
      await deleteExpired();
    },
    async delete(key) {
      const row = await kysely
        .deleteFrom('keyv')
        .where('key', '=', rowKey(key))
        .returning('key')
        .executeTakeFirst();
      return row !== undefined;
    },
    async clear() {
      const end = prefix.slice(0, -1) + ';'; // the character after the colon
      await kysely.deleteFrom('keyv').where('key', '>=', prefix).where('key', '<', end).execute();
    },
  };
}

/**
 * JSON values that outlive the process and are shared by all replicas, sealed at rest. If the database does not
 * answer, calls reject; the value never merely seems absent.
 */
export function createKeyv(parts: KeyvParts): Keyv {
  return new Keyv({ store: createStorage(parts), useKeyPrefix: false, throwOnErrors: true });
}
