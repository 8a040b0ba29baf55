import type { IncomingHttpHeaders } from 'node:http';
import {
  Kind,
  OperationTypeNode,
  type DocumentNode,
  type ExecutionResult,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { compileQuery, isCompiledQuery, type CompiledQuery } from 'graphql-jit';
import type { Context } from '../context.js';

/**
 * The quick way for queries that come again: compiled to code on their second use. It answers only what Apollo Server
 * would answer with the same bytes; whatever is out of the ordinary it leaves to Apollo. The gateway works the same
 * without it.
 */
export interface Lane {
  /** Apollo Server has taken this text: it is parsed and valid. */
  admit(source: string, document: DocumentNode): void;
  /** Apollo Server has answered a request like this one with this content type. */
  learn(request: LaneRequest, contentType: string | undefined): void;
  /**
   * The answer; undefined where this is not for the lane, or has an error that Apollo is to tell of. Then Apollo runs
   * it again with the same context, which keeps what was read: the services are not asked twice.
   */
  take(request: LaneRequest, context: Context): Promise<LaneAnswer | undefined> | undefined;
}

/** A request as it came, its body parsed. */
export interface LaneRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** A success: status 200. */
export interface LaneAnswer {
  readonly contentType: string;
  readonly body: string;
}

interface Admitted {
  readonly document: DocumentNode;
  readonly operationName: string | undefined;
  /** Null where it cannot be compiled. */
  compiled?: CompiledQuery | null;
}

/** A compiled document takes some 100 KB. */
const mostDocuments = 300;
const mostAccepts = 50;

/** A lane over a schema. */
export function createLane(schema: GraphQLSchema): Lane {
  const documents = new Map<string, Admitted>();
  /** What Apollo Server answers to which `Accept`. */
  const contentTypes = new Map<string | undefined, string>();

  function find({ query, operationName }: PlainRequest): CompiledQuery | null {
    const admitted = documents.get(query);
    if (!admitted || (operationName ?? admitted.operationName) !== admitted.operationName) return null;
    // The latest used stand last, so that the first are those to forget.
    documents.delete(query);
    documents.set(query, admitted);
    if (admitted.compiled === undefined) admitted.compiled = compile(schema, admitted.document);
    return admitted.compiled;
  }

  return {
    admit(source, document) {
      const operation = documents.has(source) ? undefined : plainQuery(source, document);
      if (!operation) return;
      documents.set(source, { document, operationName: operation.name?.value });
      if (documents.size > mostDocuments) documents.delete(documents.keys().next().value!);
    },
    learn({ headers: { accept } }, contentType) {
      if (contentType !== undefined && contentTypes.size < mostAccepts) contentTypes.set(accept, contentType);
    },
    take({ method, url, headers, body }, context) {
      const contentType = contentTypes.get(headers.accept);
      const isPlain =
        method === 'POST' && url === '/graphql' && headers['content-type'] === 'application/json';
      if (!isPlain || contentType === undefined || !isPlainRequest(body)) return undefined;
      const compiled = find(body);
      return compiled ? answer(compiled, body, contentType, context) : undefined;
    },
  };
}

async function answer(
  { query }: CompiledQuery,
  { variables }: PlainRequest,
  contentType: string,
  context: Context,
): Promise<LaneAnswer | undefined> {
  const result = (await query(undefined, context, variables ?? {})) as ExecutionResult;
  return result.errors ? undefined : { contentType, body: `${JSON.stringify(result)}\n` };
}

function compile(schema: GraphQLSchema, document: DocumentNode): CompiledQuery | null {
  const compiled = compileQuery(schema, document);
  return isCompiledQuery(compiled) ? compiled : null;
}

/** The one query of a document that has no other operation; introspection is Apollo's. */
function plainQuery(source: string, { definitions }: DocumentNode): OperationDefinitionNode | undefined {
  const operations = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const [only, ...others] = operations;
  const plain = others.length === 0 && only?.operation === OperationTypeNode.QUERY;
  return plain && !/\b__(schema|type)\b/.test(source) ? only : undefined;
}

interface PlainRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

/** A request with nothing in it that only Apollo knows. */
function isPlainRequest(request: unknown): request is PlainRequest {
  if (!isObject(request)) return false;
  const { query, variables, operationName, extensions, ...more } = request;
  return (
    typeof query === 'string' &&
    (variables == null || isObject(variables)) &&
    (operationName == null || typeof operationName === 'string') &&
    (extensions == null || (isObject(extensions) && !('persistedQuery' in extensions))) &&
    Object.keys(more).length === 0
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
