import { sql, type CompiledQuery, type RawBuilder } from 'kysely';
import type { Executor } from '../store.js';

/** Makes a placeholder for a parameter of a statement; `read` takes its value from the input of each run. */
export type MakePlaceholder<I> = <T>(read: (input: I) => T) => RawBuilder<T>;

/** Runs a prepared statement with this input and returns its rows. */
export type Prepared<I, R> = (db: Executor, input: I) => Promise<readonly R[]>;

/** A statement of Kysely, however it was built. */
interface Statement<R> {
  compile(kysely: Executor): CompiledQuery<R>;
}

class Placeholder {
  readonly read: (input: never) => unknown;

  constructor(read: Placeholder['read']) {
    this.read = read;
  }
}

/** Makes the placeholders of statements whose input is an `I`. */
export function placeholders<I>(): MakePlaceholder<I> {
  return <T>(read: (input: I) => T) => sql.val(new Placeholder(read)) as unknown as RawBuilder<T>;
}

/** Compiles a statement to SQL once: for one that runs often, as compiling takes long compared with running it. */
export function prepare<I, R>(
  kysely: Executor,
  make: (given: MakePlaceholder<I>) => Statement<R>,
): Prepared<I, R> {
  const compiled = make(placeholders<I>()).compile(kysely);
  return async (db, input) => {
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Placeholder ? parameter.read(input as never) : parameter,
    );
    return (await db.executeQuery<R>({ ...compiled, parameters })).rows;
  };
}
