import { Keyv, type KeyvStoreAdapter } from 'keyv';
import type { Clock } from '../clock.js';
import type { Sealer } from '../seal.js';
import type { Database } from './database.js';
import { keyText } from './text.js';

/** Where the values of one namespace are kept, and how. */
export interface KeyvParts {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly namespace: string;
  readonly clock: Clock;
}

type Storage = Pick<KeyvStoreAdapter, 'get' | 'getMany' | 'set' | 'delete' | 'clear'>;

/** Rows of the table `keyv`, each value sealed to its key. */
function createStorage({ database: { kysely }, sealer, namespace, clock }: KeyvParts): Storage {
  const prefix = `${keyText(namespace)}:`;
  const place = (key: string) => `keyv:${prefix}${key}`;
  const rowKey = (key: string) => prefix + keyText(key);

  // A value that no longer opens (its key is gone, or it was moved) is as good as absent.
  const get = async (key: string): Promise<string | undefined> => {
    const row = await kysely
      .selectFrom('keyv')
      .select(['value', 'expires_at'])
      .where('key', '=', rowKey(key))
      .executeTakeFirst();
    if (!row || (row.expires_at !== null && row.expires_at <= clock.now())) return undefined;
    return sealer.open(row.value, place(key));
  };

  return {
    get: get as Storage['get'],
    // Keyv's own turns a failing store into absent values.
    getMany: ((keys: string[]) => Promise.all(keys.map(get))) as NonNullable<Storage['getMany']>,
    async set(key: string, text: string, ttlMs?: number) {
      const value = sealer.seal(text, place(key));
      const expires_at = ttlMs === undefined ? null : Math.ceil(clock.now() + ttlMs);
      await kysely
        .insertInto('keyv')
        .values({ key: rowKey(key), value, expires_at })
        .onConflict((conflict) => conflict.column('key').doUpdateSet({ value, expires_at }))
        .execute();
      await kysely.deleteFrom('keyv').where('expires_at', '<=', clock.now()).execute();
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
 * Values that outlive the process and are shared by its replicas: JSON, sealed at rest. A store that does not
 * answer rejects; it never looks like an absent value.
 */
export function createKeyv(parts: KeyvParts): Keyv {
  return new Keyv({ store: createStorage(parts), useKeyPrefix: false, throwOnErrors: true });
}
