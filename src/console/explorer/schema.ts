import { buildSchema, introspectionFromSchema, type IntrospectionQuery } from 'graphql';
import type { GraphiQLProps } from 'graphiql';
import { retrySoon } from '../data/retry.js';
import type { Problem } from './session/problem.js';

type Fetcher = GraphiQLProps['fetcher'];
type Tell = (problem: Problem | undefined) => void;

/** The name of GraphiQL's introspection query. */
export const schemaQuery = 'SchemaOfTheExplorer';

/**
 * Answers GraphiQL's introspection query from `/schema.graphql`; passes all other operations to `fetcher`. While the
 * schema cannot be loaded, calls `tell` with the problem, and tries again: soon, or once `signIn` resolves where the
 * gateway shows it only to those who are signed in.
 */
export function withSchema(fetcher: Fetcher, tell: Tell, signIn: () => Promise<void>): Fetcher {
  return (operation, options) =>
    operation.operationName === schemaQuery ? loadSchema(tell, signIn) : fetcher(operation, options);
}

async function loadSchema(
  tell: Tell,
  signIn: () => Promise<void>,
): Promise<{ readonly data: Record<string, unknown> }> {
  try {
    const schema = await readSchema();
    if (schema) {
      tell(undefined);
      return { data: { ...schema } };
    }
    tell({ message: 'Sign in to see the schema.', isUserError: false });
    await signIn();
  } catch {
    tell({ message: 'The schema could not be loaded.', isUserError: false });
    await new Promise<void>((resolve) => void retrySoon(resolve));
  }
  return loadSchema(tell, signIn);
}

/** Undefined if it is not shown to a stranger. */
async function readSchema(): Promise<IntrospectionQuery | undefined> {
  const response = await fetch('/schema.graphql');
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`status ${response.status}`);
  return introspectionFromSchema(buildSchema(await response.text()));
}
