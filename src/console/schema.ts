import { buildSchema, introspectionFromSchema, type IntrospectionQuery } from 'graphql';
import type { GraphiQLProps } from 'graphiql';
import { soonAgain } from './again.js';
import type { Problem } from './problem.js';

type Fetcher = GraphiQLProps['fetcher'];
type Tell = (problem: Problem | undefined) => void;

/** The name of the query by which GraphiQL asks for the schema. */
export const schemaQuery = 'SchemaOfTheExplorer';

/**
 * Answers GraphiQL when it asks for the schema, from where that is public, be introspection on or off; all else goes to
 * `fetcher`. While the schema cannot be had, that is told, and it is tried again.
 */
export function withSchema(fetcher: Fetcher, tell: Tell): Fetcher {
  return (operation, options) =>
    operation.operationName === schemaQuery ? insistOnSchema(tell) : fetcher(operation, options);
}

async function insistOnSchema(tell: Tell): Promise<{ readonly data: Record<string, unknown> }> {
  try {
    const schema = await readSchema();
    tell(undefined);
    return { data: { ...schema } };
  } catch {
    tell({ message: 'The schema cannot be read.', mendable: false });
    await new Promise<void>((resolve) => void soonAgain(resolve));
    return insistOnSchema(tell);
  }
}

async function readSchema(): Promise<IntrospectionQuery> {
  const response = await fetch('/schema.graphql');
  if (!response.ok) throw new Error(`status ${response.status}`);
  return introspectionFromSchema(buildSchema(await response.text()));
}
