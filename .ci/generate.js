/**
 * Writes into `src/generated/` what GraphQL Code Generator does not: `own-documents.ts`, the texts of the operations that
 * the console and the client package send, also through a cache that adds `__typename`, which a gateway trusts always;
 * and `subgraph.graphql`, the schema for the composition of a supergraph. A part of `npm run codegen`, run by tsx.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { addTypenameToDocument } from '@apollo/client/utilities';
import * as client from '../src/client/generated/index.ts';
import { subgraphSdl } from '../src/api/schema-text.ts';
import { textOf } from '../src/client/core/document.ts';
import * as console from '../src/console/generated/index.ts';
import * as explorer from '../src/console/explorer/session/operations.ts';

const documentsOf = (module) =>
  Object.entries(module)
    .filter(([name, document]) => !name.endsWith('FragmentDoc') && typeof document !== 'function')
    .map(([, document]) => document);
const documents = [client, console, explorer].flatMap(documentsOf);
// As the caches of Apollo Client and urql send them.
const withTypename = documentsOf(client).map(addTypenameToDocument);
const texts = [...documents, ...withTypename].map(textOf);

const root = join(import.meta.dirname, '..');
writeFileSync(
  join(root, 'src/generated/own-documents.ts'),
  `/** The operations of the console and of the client package. */
export const ownDocuments: readonly string[] = ${JSON.stringify([...new Set(texts)], null, 2)};
`,
);
writeFileSync(
  join(root, 'src/generated/subgraph.graphql'),
  subgraphSdl(new URL('../schema/', import.meta.url)),
);
