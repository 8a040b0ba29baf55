import { DatabaseSync } from '@photostructure/sqlite';
import { execute } from '../support/postgres.js';
import type { Family } from './events.js';

/** The log in a gateway's database, read directly. */
export interface Contents {
  readonly head: number;
  readonly ids: readonly StoredId[];
  /** In log order. */
  readonly events: readonly StoredEvent[];
}

export interface StoredId {
  readonly family: Family;
  readonly event_id: string;
  readonly seq: number;
}

export interface StoredEvent extends StoredId {
  /** As it was sent. */
  readonly body: string;
}

type Row = Readonly<Record<string, string | number | null>>;

/** Reads the database at this address, even while gateways write it. */
export async function readContents(url: string): Promise<Contents> {
  const read = url.startsWith('sqlite:') ? readFile(url.slice('sqlite:'.length)) : readServer(url);
  const [head, ids, events] = await read([
    'select seq from log_head',
    'select family, event_id, seq from event_ids',
    'select family, event_id, seq, body from events order by seq',
  ]);
  const numbered = (row: Row) => ({ ...row, seq: Number(row['seq']) });
  return {
    head: Number(head![0]!['seq']),
    ids: ids!.map(numbered) as unknown as StoredId[],
    events: events!.map(numbered) as unknown as StoredEvent[],
  };
}

type Read = (statements: readonly string[]) => Promise<readonly (readonly Row[])[]>;

function readFile(path: string): Read {
  return async (statements) => {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    try {
      return statements.map((statement) => database.prepare(statement).all() as Row[]);
    } finally {
      database.close();
    }
  };
}

function readServer(url: string): Read {
  return async (statements) => {
    const results: Row[][] = [];
    for (const statement of statements) results.push((await execute(url, statement)) as Row[]);
    return results;
  };
}
