import { readdirSync, readFileSync } from 'node:fs';
import {
  buildASTSchema,
  concatAST,
  Kind,
  parse,
  print,
  printSchema,
  visit,
  type ConstDirectiveNode,
  type DefinitionNode,
  type DocumentNode,
  type ObjectTypeDefinitionNode,
} from 'graphql';

/** What only routers of a supergraph ask for. */
const federationFile = 'federation.graphql';

/** The SDL files in `folder` as one document, in the order of their names. */
export function readSdl(folder: URL): DocumentNode {
  return documentOf(readFiles(folder).map(([, text]) => text));
}

/** The schema as clients see it: without what only routers of a supergraph ask for. It is not validated here. */
export function clientSdl(folder: URL): string {
  return `${printSchema(buildASTSchema(documentOf(clientFiles(folder)), { assumeValidSDL: true }))}\n`;
}

function documentOf(texts: readonly string[]): DocumentNode {
  return concatAST(texts.map((text) => parse(text)));
}

/**
 * The schema as a subgraph of Apollo Federation 2: every `Node` is an entity by `id`, a shipment and a payment also by
 * the id of their service.
 */
export function subgraphSdl(folder: URL): string {
  const document = documentOf([link, ...clientFiles(folder)]);
  return `${print({ ...document, definitions: document.definitions.map(forSubgraph) })}\n`;
}

const link = `extend schema
  @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@inaccessible", "@key", "@shareable"])`;

/** Keys of entities besides `id`: the services' own ids, which stand in a global id as they are. */
export const serviceKeys: Readonly<Record<string, string>> = { Shipment: 'shipmentId', Payment: 'paymentId' };

/**
 * A router finds objects through the entities, since each subgraph has objects of its own. Another subgraph may have these
 * fields, too, which composes only if both are shareable.
 */
const hiddenQueries: ReadonlySet<string> = new Set(['node', 'nodes']);

function forSubgraph(definition: DefinitionNode): DefinitionNode {
  if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION) return definition;
  const { name, directives = [] } = definition;
  if (name.value === 'Query') return hideNodes(definition);
  return { ...definition, directives: [...directives, ...directivesOf(definition)] };
}

function directivesOf({ name, interfaces = [] }: ObjectTypeDefinitionNode): readonly ConstDirectiveNode[] {
  if (name.value === 'PageInfo') return [directive('@shareable')];
  if (!interfaces.some((one) => one.name.value === 'Node')) return [];
  const key = serviceKeys[name.value];
  const keys = key === undefined ? ['id'] : ['id', key];
  return keys.map((fields) => directive(`@key(fields: "${fields}")`));
}

const hidden = ['@inaccessible', '@shareable'].map(directive);

function hideNodes(definition: ObjectTypeDefinitionNode): ObjectTypeDefinitionNode {
  return visit(definition, {
    FieldDefinition: (field) =>
      hiddenQueries.has(field.name.value)
        ? { ...field, directives: [...(field.directives ?? []), ...hidden] }
        : undefined,
  });
}

function directive(text: string): ConstDirectiveNode {
  const [definition] = parse(`scalar Any ${text}`).definitions;
  if (definition?.kind !== Kind.SCALAR_TYPE_DEFINITION) throw new Error('This is no directive.');
  return definition.directives![0]!;
}

function clientFiles(folder: URL): string[] {
  return readFiles(folder)
    .filter(([name]) => name !== federationFile)
    .map(([, text]) => text);
}

function readFiles(folder: URL): readonly (readonly [name: string, text: string])[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.graphql'));
  return names.toSorted().map((name) => [name, readFileSync(new URL(name, folder), 'utf8')] as const);
}
