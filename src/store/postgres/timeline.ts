import { DatabaseError, type Client, type ClientBase } from 'pg';
import { hangUp } from './hang-up.js';

/** A server that must be neither written to nor read from, although it answers. */
export class UnfitServer extends Error {
  override readonly name = 'UnfitServer';
}

/** The first eight digits of the name of the file that is being written: current at once after a promotion. */
const writersTimeline = `('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint`;
/** That of the last restart point: it may be behind, but is never ahead. */
const standbysTimeline = '(select timeline_id from pg_control_checkpoint())::bigint';

const timeoutMs = 2_000;
/** Begins the codes of errors of a server that is stopping, starting, or at its limits. */
const passing = /^(08|53|57)/;

/** The statement that reads the timeline of a server that can be written to. */
export const timelineStatement = `select ${writersTimeline} as timeline`;

/** The timeline of the server; 0 if it does not tell, as some that are not quite Postgres. */
export async function readTimeline(client: ClientBase, isStandby = false): Promise<number> {
  const text = isStandby ? `select ${standbysTimeline} as timeline` : timelineStatement;
  try {
    const query = { text, query_timeout: timeoutMs };
    const { rows } = await client.query<{ readonly timeline: number }>(query);
    return rows[0]!.timeline;
  } catch (error) {
    if (!(error instanceof DatabaseError) || passing.test(error.code ?? '')) throw error;
    return 0;
  }
}

/**
 * The highest timeline of Postgres that this process has seen. Each promotion of a standby begins a new one, so a server
 * on a lower one is an old primary: it may accept writes, which nobody would ever see. 0 stands for an unknown timeline,
 * which is let pass.
 */
export class TimelineFence {
  /** Whether servers of this database tell their timeline. */
  isTold = true;
  #highest = 0;
  readonly #held = new Map<ClientBase, number>();

  get highest(): number {
    return this.#highest;
  }

  /** Takes note of a timeline: if there was none higher, ends all connections to lower ones. */
  see(timeline: number): void {
    if (timeline <= this.#highest) return;
    this.#highest = timeline;
    for (const [client, own] of this.#held) if (own > 0 && own < timeline) this.#end(client);
  }

  /** Takes note of a server's timeline; throws an `UnfitServer` if there has been a higher one. */
  admit(timeline: number): void {
    this.see(timeline);
    if (timeline > 0 && timeline < this.#highest)
      throw new UnfitServer(
        `the server is on timeline ${timeline}, but there has been ${this.#highest}: it is an old primary (or newly made: ` +
          'then restart this process)',
      );
  }

  /** Admits the server of a connection, which is ended once there is a higher timeline. */
  async hold(client: ClientBase): Promise<void> {
    const timeline = await readTimeline(client);
    this.admit(timeline);
    this.#held.set(client, timeline);
    client.once('end', () => this.#held.delete(client));
  }

  /** Whether a connection that was held still is. */
  holds(client: ClientBase): boolean {
    return this.#held.has(client);
  }

  /** Ends all connections, as no server may be used now. */
  clear(): void {
    for (const client of this.#held.keys()) this.#end(client);
  }

  #end(client: ClientBase): void {
    this.#held.delete(client);
    void hangUp(client as Client);
  }
}
