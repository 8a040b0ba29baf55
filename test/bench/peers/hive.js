import { createServer } from 'node:http';
import { createGatewayRuntime } from '@graphql-hive/gateway';
import { getComposedSchemaFromConfig } from '@graphql-mesh/compose-cli';
import { useJIT } from '@graphql-mesh/plugin-jit';
import { loadJSONSchemaSubgraph } from '@omnigraph/json-schema';
import { announce } from '../servers/listen.js';

/** Hive Gateway over the same REST service, composed as its documents do it. It has no sessions: callers bring tokens. */
const endpoint = `${process.env.UPSTREAM}/notes/v1`;
const text = { type: 'string' };
const object = (title, properties) => ({ title, type: 'object', properties });
const array = (items) => ({ type: 'array', items });
const note = object('Note', {
  id: text,
  title: text,
  content: text,
  tags: array(text),
  is_pinned: { type: 'boolean' },
  created_at: text,
  updated_at: text,
});
const tag = object('Tag', { name: text, count: { type: 'integer' } });
const get = (field, path, responseSchema, more = {}) => ({
  type: 'Query',
  field,
  path,
  method: 'GET',
  responseSchema,
  ...more,
});

const notes = loadJSONSchemaSubgraph('Notes', {
  endpoint,
  operationHeaders: { authorization: '{context.headers.authorization}' },
  operations: [
    get('me', '/me', object('User', { id: text, email: text, name: text, created_at: text })),
    get('notes', '/notes?limit={args.limit}', object('NotePage', { data: array(note), next_cursor: text }), {
      argTypeMap: { limit: { type: 'integer' } },
    }),
    get('tags', '/tags', object('TagList', { tags: array(tag) })),
  ],
});

/** Each note's tags with their counts, for which an operation reads the tags once. */
const additionalTypeDefs = 'extend type Note { countedTags: [Tag!]! }';

// Faster than `context.Notes.Query.tags`, which delegates a whole operation.
async function readCounts({ fetch, headers: { authorization } }) {
  const response = await fetch(`${endpoint}/tags`, { headers: { authorization } });
  const { tags } = await response.json();
  return new Map(tags.map(({ name, count }) => [name.toLowerCase(), count]));
}

async function countTags({ tags }, _, context) {
  const counts = await (context.counts ??= readCounts(context));
  return tags.map((name) => ({ name, count: counts.get(name.toLowerCase()) ?? 0 }));
}

const error = (...words) => void process.stderr.write(`${words.join(' ')}\n`);
const log = { debug() {}, info() {}, warn() {}, error, log() {}, child: () => log };
const supergraph = await getComposedSchemaFromConfig({ subgraphs: [{ sourceHandler: notes }] }, log);
const gateway = createGatewayRuntime({
  supergraph,
  additionalTypeDefs,
  additionalResolvers: { Note: { countedTags: { selectionSet: '{ tags }', resolve: countTags } } },
  logging: false,
  plugins: () => [useJIT()], // only the command line heeds `jit: true`
  landingPage: false,
  graphiql: false,
});
const server = createServer((request, response) => void gateway(request, response));
server.listen(0, '127.0.0.1', () => announce(server));
process.once('SIGTERM', () => process.exit(0));
