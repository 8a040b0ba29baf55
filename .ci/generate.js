/**
 * Writes into `src/generated/` what GraphQL Code Generator does not: `own-documents.ts`, the texts of the operations that
 * the console and the client package send, also through a cache that adds `__typename`, which a gateway trusts always;
 * `subgraph.graphql`, the schema for the composition of a supergraph; and, here and in the client package, the hash of the
 * schema by which that knows its gateway. A part of `npm run codegen`, run by tsx.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
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

// The client package may import nothing of the gateway, so each has it.
const schema = readFileSync(join(root, 'src/generated/schema.graphql'));
const hash = createHash('sha256').update(schema).digest('hex').slice(0, 16);
for (const folder of ['src/generated', 'src/client/generated'])
  writeFileSync(
    join(root, folder, 'schema-hash.ts'),
    `/** By which a client knows whether the gateway has the schema that it was built with. */
export const schemaHash = '${hash}';
`,
  );
