import type { Store } from '../store.js';

/**
 * Database work of any number of statements that runs where the database is written: on SQLite in the writer's thread,
 * as one message to it and one back. Input and output are plain data.
 */
export interface Procedure<Settings, Input, Output> {
  /** Its name among the procedures that the writer's thread serves. */
  readonly name: string;
  /** Called once, in the thread that does the work. */
  begin(store: Store, settings: Settings): (input: Input) => Promise<Output>;
}

/** Any procedure: what it takes is known where it is called. */
export type AnyProcedure = Procedure<never, never, unknown>;
