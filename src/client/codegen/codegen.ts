import { join } from 'node:path';

const fileIn = (name: string) => join(import.meta.dirname, '..', name);

/** The schema that this package is from, as a path for GraphQL Code Generator. */
export const schema: string = fileIn('schema.graphql');

/** The fragments that the package's own operations are made of, as a path for `documents`. */
export const fragments: string = fileIn('fragments.graphql');

/**
 * The settings with which generated types say what the gateway answers: its scalars, and no member that may be changed. Typed
 * documents are this package's, so that no other has to be installed for them; the preset `client` takes its own all the same.
 */
export const config = {
  scalars: { ID: 'string', DateTime: 'string', SafeInt: 'number', JSON: 'unknown' },
  strictScalars: true,
  useTypeImports: true,
  immutableTypes: true,
  documentNodeImport: '@trivium/client#TypedDocumentNode',
};
