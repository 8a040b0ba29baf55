import { Client, type ClientConfig } from 'pg';
import { hangUp } from './hang-up.js';
import { readTimeline } from './timeline.js';

/** A server of the database. */
export interface Host {
  /** `name:port`, for messages. */
  readonly name: string;
  readonly config: ClientConfig;
}

/** What a server said of itself. */
export interface Finding {
  readonly host: Host;
  readonly state: 'writer' | 'standby' | 'silent';
  /** 0 if unknown. */
  readonly timeline: number;
  /** Whether it waits for a standby with each commit, and has none. */
  readonly isForsaken: boolean;
  /** When the server was started: the same for two addresses of one server. */
  readonly started: string;
  /** Why it is silent. */
  readonly fault?: string;
}

interface Answer extends Pick<Finding, 'isForsaken' | 'started'> {
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
}

const timeoutMs = 2_000;
const question = {
  text: `select pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isReadOnly",
    pg_postmaster_start_time()::text as started,
    current_setting('synchronous_standby_names') <> '' and not exists (select from pg_stat_replication)
      as "isForsaken"`,
  query_timeout: timeoutMs,
};

/** Asks one server, over a connection that it keeps, whether it can be written to. */
export class HostProbe {
  readonly host: Host;
  #client: Client | undefined;
  #isStopped = false;

  constructor(host: Host) {
    this.host = host;
  }

  /** Never rejects, and takes some seconds at most. */
  async ask(): Promise<Finding> {
    const { host } = this;
    try {
      const client = (this.#client ??= await this.#connect());
      const { rows } = await client.query<Answer>(question);
      const { isStandby, isReadOnly, ...own } = rows[0]!;
      const timeline = await readTimeline(client, isReadOnly);
      // A session keeps to what it was told when it began.
      if (isReadOnly && !isStandby) this.#disconnect();
      return { host, state: isReadOnly ? 'standby' : 'writer', timeline, ...own };
    } catch (error) {
      this.#disconnect();
      const { message, code } = error as NodeJS.ErrnoException;
      const fault = message || String(code);
      return { host, state: 'silent', timeline: 0, isForsaken: false, started: '', fault };
    }
  }

  async #connect(): Promise<Client> {
    const client = new Client({ ...this.host.config, connectionTimeoutMillis: timeoutMs });
    client.on('error', () => undefined); // the next question fails, and finds out by itself
    try {
      await client.connect();
      if (this.#isStopped) throw new Error('It is no longer asked.');
      return client;
    } catch (error) {
      void hangUp(client);
      throw error;
    }
  }

  /** From now on it finds the server silent. */
  stop(): void {
    this.#isStopped = true;
    this.#disconnect();
  }

  #disconnect(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client) void hangUp(client);
  }
}
