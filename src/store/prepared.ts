import { sql, type CompiledQuery, type Kysely, type RawBuilder } from 'kysely';
import type { Tables } from './schema.js';

/** Makes what stands for a parameter in a statement; its value is read from the input of each run. */
export type Given<I> = <T>(read: (input: I) => T) => RawBuilder<T>;

/** Runs a statement with this input, and gives its rows. */
export type Prepared<I, R> = (db: Kysely<Tables>, input: I) => Promise<readonly R[]>;

/** A statement of Kysely, however it was built. */
interface Statement<R> {
  compile(kysely: Kysely<Tables>): CompiledQuery<R>;
}

class Slot {
  readonly read: (input: never) => unknown;

  constructor(read: Slot['read']) {
    this.read = read;
  }
}

/** The parameters of statements that are prepared for such inputs. */
export function givenBy<I>(): Given<I> {
  return <T>(read: (input: I) => T) => sql.val(new Slot(read)) as unknown as RawBuilder<T>;
}

/** Makes the text of a statement once: for one that is run with every event, that takes long beside running it. */
export function prepare<I, R>(
  kysely: Kysely<Tables>,
  make: (given: Given<I>) => Statement<R>,
): Prepared<I, R> {
  const compiled = make(givenBy<I>()).compile(kysely);
  return async (db, input) => {
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Slot ? parameter.read(input as never) : parameter,
    );
    return (await db.executeQuery<R>({ ...compiled, parameters })).rows;
  };
}
