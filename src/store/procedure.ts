import type { Kysely } from 'kysely';
import type { Tables } from './schema.js';

/** What a procedure works on. */
export interface Store {
  readonly engine: 'sqlite' | 'postgres';
  readonly kysely: Kysely<Tables>;
}

/**
 * Work on the database that is one step to its caller, and is done where the database is written: on SQLite in the
 * writer's thread, which is asked once, whatever number of statements it takes. What goes in and out is plain data.
 */
export interface Procedure<Settings, Input, Output> {
  /** The address (`import.meta.url`) of the module that exports this procedure under the name `procedure`. */
  readonly module: string;
  /** Made once, in the thread in which the work is done. */
  begin(store: Store, settings: Settings): (input: Input) => Promise<Output>;
}
