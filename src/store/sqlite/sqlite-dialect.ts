import {
  Kysely,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import { checkBound, transactionEnded, type Bound } from '../sql/parameters.js';
import type { Tables } from '../sql/schema.js';
import type { StatementResult } from './sqlite-statements.js';
import { createWriterLock, type WriterLock } from './writer-lock.js';

const turnMs = 5_000;

/** The connection that only reads, in this thread. */
export interface Reader {
  run(sql: string, parameters: Bound): StatementResult;
  stop(): void;
}

/** What the connections of one database share. */
export interface SqliteParts {
  readonly reader: Reader;
  /** The connection that writes, wherever it is. */
  readonly writer: {
    run(sql: string, parameters: Bound): Promise<StatementResult>;
    stop(): Promise<void>;
    /** Held by whoever uses the writer: a transaction from begin to end, any other statement by itself. */
    readonly lock: WriterLock;
  };
}

/**
 * What Kysely takes for a connection; it costs nothing until it is used. A SELECT outside a transaction reads at once,
 * without waiting for a writer; a transaction holds the writer from begin to end.
 */
class SqliteConnection implements DatabaseConnection {
  readonly #parts: SqliteParts;
  #release: (() => void) | undefined;
  #ending = false;

  constructor(parts: SqliteParts) {
    this.#parts = parts;
  }

  async executeQuery<Row>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<Row>> {
    const values = checkBound(parameters);
    const { rows, changes } = await this.#run(sql, values, SelectQueryNode.is(query));
    return {
      rows: rows as Row[],
      ...(changes === undefined ? {} : { numAffectedRows: BigInt(changes) }),
    };
  }

  async #run(sql: string, values: Bound, reads: boolean): Promise<StatementResult> {
    const { reader, writer } = this.#parts;
    if (this.#ending) throw new Error(transactionEnded);
    if (this.#release) return writer.run(sql, values);
    if (reads) return reader.run(sql, values);
    return writer.lock.run(() => writer.run(sql, values));
  }

  async begin(): Promise<void> {
    const release = await this.#parts.writer.lock.acquire();
    try {
      await this.#parts.writer.run('begin immediate', []);
      this.#release = release;
    } catch (error) {
      release();
      throw error;
    }
  }

  async commit(): Promise<void> {
    await this.#runLast('commit');
    this.#releaseWriter();
  }

  async rollback(): Promise<void> {
    // It fails if SQLite has already rolled back by itself: then nothing is left to do.
    await this.#runLast('rollback').catch(() => undefined);
    this.#releaseWriter();
  }

  async #runLast(sql: 'commit' | 'rollback'): Promise<void> {
    this.#ending = true;
    try {
      await this.#parts.writer.run(sql, []);
    } finally {
      this.#ending = false;
    }
  }

  #releaseWriter(): void {
    this.#release?.();
    this.#release = undefined;
  }

  // eslint-disable-next-line require-yield
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('Rows cannot be streamed; read them in pages.');
  }
}

function createDriver(parts: SqliteParts): Driver {
  const own = (connection: DatabaseConnection) => connection as SqliteConnection;
  return {
    init: async () => undefined,
    acquireConnection: async () => new SqliteConnection(parts),
    beginTransaction: (connection) => own(connection).begin(),
    commitTransaction: (connection) => own(connection).commit(),
    rollbackTransaction: (connection) => own(connection).rollback(),
    releaseConnection: async () => undefined,
    async destroy() {
      const release = await parts.writer.lock.acquire(); // waits for a running transaction to end
      parts.reader.stop();
      await parts.writer.stop().finally(release); // the stopped writer refuses later statements
    },
  };
}

/** Lets migrations run in a transaction: SQLite can do that, though Kysely's adapter says that it cannot. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Kysely on SQLite with one writer. */
export function createSqliteDialect(parts: SqliteParts): Dialect {
  return {
    createDriver: () => createDriver(parts),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalAdapter(),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
  };
}

/** Kysely over a single connection, in its own thread. */
export function createKysely({ run }: Pick<Reader, 'run'>): Kysely<Tables> {
  const reader = { run, stop: () => undefined };
  const writer = {
    run: async (...statement: Parameters<typeof run>) => run(...statement),
    stop: async () => undefined,
    lock: createWriterLock(turnMs),
  };
  return new Kysely<Tables>({ dialect: createSqliteDialect({ reader, writer }) });
}
