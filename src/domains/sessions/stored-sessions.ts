import type { Clock } from '../../lib/clock.js';
import type { Sealer } from '../../lib/sealer.js';
import type { Database } from '../../store/database.js';
import { prepare, type MakePlaceholder } from '../../store/sql/prepared.js';
import type { SessionTable } from '../../store/sql/schema.js';
import { clockSkew } from '../../store/clock-skew.js';
import { fromKeyText, keyText } from '../../store/sql/key-text.js';
import type { Grants } from './grants.js';
import type { Session } from './session.js';

/** A session to be stored; its id is the digest of its token. */
export interface NewSession extends Pick<Session, 'notesToken' | 'expiresAt'> {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
}

/** The sessions in the database, their notes tokens sealed. */
export interface StoredSessions {
  /** Resolves with the session as `load` would; first deletes those that have expired. */
  insert(session: NewSession): Promise<Session>;
  /** Undefined if there is none, or this process's keys do not open its notes token. */
  load(id: string): Promise<Session | undefined>;
  /** Which of these, at most some hundreds, are there. */
  standing(ids: readonly string[]): Promise<ReadonlySet<string>>;
  delete(id: string): Promise<void>;
}

/** What a sealed notes token is bound to: it opens for no other session. */
const place = (id: string) => `session ${id}`;

interface StoredSessionsOptions {
  readonly database: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly grants: Grants;
}

/** The table `sessions`. */
export function createStoredSessions(options: StoredSessionsOptions): StoredSessions {
  return new SessionTableStore(options);
}

class SessionTableStore implements StoredSessions {
  readonly #options: StoredSessionsOptions;
  readonly #select: ReturnType<typeof prepareSelect>;

  constructor(options: StoredSessionsOptions) {
    this.#options = options;
    this.#select = prepareSelect(options.database.kysely);
  }

  async insert({ id, userId, email, notesToken, expiresAt }: NewSession): Promise<Session> {
    const row: SessionTable = {
      id,
      user_id: keyText(userId),
      email: keyText(email),
      notes_token: this.#options.sealer.seal(notesToken, place(id)),
      created_at: this.#options.clock.now(),
      expires_at: expiresAt,
    };
    await this.#deleteExpired();
    await this.#options.database.kysely.insertInto('sessions').values(row).execute();
    return this.#toSession(row)!;
  }

  async load(id: string): Promise<Session | undefined> {
    const [row] = await this.#select(this.#options.database.kysely, id);
    return row && this.#toSession(row);
  }

  async standing(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { kysely } = this.#options.database;
    const rows = await kysely.selectFrom('sessions').select('id').where('id', 'in', ids).execute();
    return new Set(rows.map(({ id }) => id));
  }

  async delete(id: string): Promise<void> {
    await this.#options.database.kysely.deleteFrom('sessions').where('id', '=', id).execute();
  }

  #toSession(row: SessionTable): Session | undefined {
    const notesToken = this.#options.sealer.open(row.notes_token, place(row.id));
    if (notesToken === undefined) return undefined;
    const email = fromKeyText(row.email);
    const userId = fromKeyText(row.user_id);
    const { grants } = this.#options;
    const caller = {
      sessionId: row.id,
      userId,
      email,
      get grants() {
        return grants.of(email);
      },
    };
    return { caller, notesToken, expiresAt: row.expires_at };
  }

  /**
   * Deletes nothing while this machine's clock is wrong, since the other replicas need the sessions. Even then, this
   * replica goes by its clock when it looks for one.
   */
  async #deleteExpired(): Promise<void> {
    const { database, clock } = this.#options;
    if ((await clockSkew(database)) !== undefined) return;
    const { kysely } = database;
    await kysely.deleteFrom('sessions').where('expires_at', '<=', clock.now()).execute();
  }
}

function prepareSelect(kysely: Database['kysely']) {
  return prepare(kysely, (id: MakePlaceholder<string>) =>
    kysely
      .selectFrom('sessions')
      .selectAll()
      .where(
        'id',
        '=',
        id((wanted) => wanted),
      ),
  );
}
