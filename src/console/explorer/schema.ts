import { buildSchema, introspectionFromSchema, type IntrospectionQuery } from 'graphql';
import type { GraphiQLProps } from 'graphiql';
import { retrySoon } from './session/retry.js';
import type { Problem } from './session/problem.js';

type Fetcher = GraphiQLProps['fetcher'];
type Tell = (problem: Problem | undefined) => void;

/** The name of GraphiQL's introspection query. */
export const schemaQuery = 'SchemaOfTheExplorer';

/**
 * Answers GraphiQL's introspection query from `/schema.graphql`, which is public even if introspection is off; passes
 * all other operations to `fetcher`. While the schema cannot be loaded, calls `tell` with the problem and retries.
 */
export function withSchema(fetcher: Fetcher, tell: Tell): Fetcher {
  return (operation, options) =>
    operation.operationName === schemaQuery ? loadSchema(tell) : fetcher(operation, options);
}

async function loadSchema(tell: Tell): Promise<{ readonly data: Record<string, unknown> }> {
  try {
    const schema = await readSchema();
    tell(undefined);
    return { data: { ...schema } };
  } catch {
    tell({ message: 'The schema could not be loaded.', isUserError: false });
    await new Promise<void>((resolve) => void retrySoon(resolve));
    return loadSchema(tell);
  }
}

async function readSchema(): Promise<IntrospectionQuery> {
  const response = await fetch('/schema.graphql');
  if (!response.ok) throw new Error(`status ${response.status}`);
  return introspectionFromSchema(buildSchema(await response.text()));
}
