import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import { GuardedConnection, isEnd, timeoutOf, type Pools, type Statement } from './postgres-connection.js';
import { serverLimits } from './time-limits.js';
import { timelineStatement } from './timeline.js';

/**
 * Begins a transaction as every one has to be, whatever the server's defaults: durable, seeing what the holder of a lock
 * has committed, limited in time, and refused by a standby. In its answer the last result is the server's timeline.
 */
const beginning = [
  'begin isolation level read committed read write',
  'set local synchronous_commit = on',
  ...Object.entries(serverLimits).map(([name, value]) => `set local ${name} = ${value}`),
].join('; ');

/**
 * A connection to a pool in transaction mode, such as PgBouncer. Each transaction may run on another connection of the
 * pool, to another server even, so nothing is kept from one to the next: no session is prepared, no statement named, and
 * a statement alone becomes a transaction, since only in one can it be seen which server runs it.
 */
export class PooledConnection extends GuardedConnection {
  readonly #fence: Pools['fence'];
  #isInside = false;

  constructor(pools: Pools) {
    super(pools);
    this.#fence = pools.fence;
  }

  protected override async run(client: PoolClient, statement: Statement): Promise<QueryResult> {
    const { text } = statement;
    if (/^(begin|start transaction)\b/.test(text)) return this.#begin(client);
    if (isEnd(text)) return this.#end(client, text);
    if (this.#isInside) return send(client, statement);
    await this.#begin(client);
    try {
      const result = await send(client, statement);
      await this.#end(client, 'commit');
      return result;
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      await this.#end(client, 'rollback').catch(() => {
        throw new Error(error.message, { cause: error }); // the connection is lost
      });
      throw error;
    }
  }

  async #begin(client: PoolClient): Promise<QueryResult> {
    const tellsTimeline = this.#fence.isTold;
    try {
      const text = tellsTimeline ? `${beginning}; ${timelineStatement}` : beginning;
      const results = (await client.query(text)) as unknown as readonly QueryResult<{ timeline: number }>[];
      const last = results.at(-1)!;
      if (tellsTimeline) this.#fence.admit(last.rows[0]!.timeline);
      this.#isInside = true;
      return last;
    } catch (error) {
      // By any other error than the server's the connection is discarded, and with it the one behind the pool.
      throw new Error(`No transaction could begin: ${(error as Error).message}`, { cause: error });
    }
  }

  #end(client: PoolClient, text: string): Promise<QueryResult> {
    this.#isInside = false;
    return client.query(text);
  }
}

function send(client: PoolClient, { text, values }: Statement): Promise<QueryResult> {
  return client.query({ ...timeoutOf(text), text, values });
}
