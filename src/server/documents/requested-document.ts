import { isObject } from '../../lib/json.js';

/** How a client says which document it wants to run: by its text, by an id, or by both. */
export interface RequestedDocument {
  /** Undefined only beside an id; empty if there is nothing at all. */
  readonly text: string | undefined;
  /** `documentId`. */
  readonly documentId?: string | undefined;
  /** Apollo's `extensions.persistedQuery.sha256Hash`. */
  readonly hash?: string | undefined;
}

/** The members of a request, or the fields of a message, by which documents are named. */
interface Naming {
  readonly query?: unknown;
  readonly documentId?: unknown;
  readonly extensions?: unknown;
}

/** What is wrong with a request that names no document. */
export const noDocument = '`query` must be a document, as a string.';

/** The document that a request names; or what is wrong with how it does. */
export function requestedDocument({ query, documentId, extensions }: Naming): RequestedDocument | string {
  if (query != null && typeof query !== 'string') return noDocument;
  if (documentId != null && typeof documentId !== 'string') return '`documentId` must be a string.';
  const hash = hashIn(extensions);
  if (hash !== undefined && typeof hash !== 'string')
    return '`extensions.persistedQuery.sha256Hash` must be a string.';
  // An empty id is none, so that all transports agree: a parameter may be empty.
  if (!documentId && hash === undefined) return { text: query ?? '' };
  // graphql-ws cannot leave out the text: it sends an empty one.
  return { text: query || undefined, documentId: documentId || undefined, hash };
}

function hashIn(extensions: unknown): unknown {
  const persisted = isObject(extensions) ? extensions['persistedQuery'] : undefined;
  if (persisted == null) return undefined;
  return isObject(persisted) ? (persisted['sha256Hash'] ?? null) : null;
}

/** The parameters of a GET that say what is to be run. */
const parameterNames = ['query', 'documentId', 'operationName', 'variables', 'extensions'];

/** What is wrong with the parameters of a GET as such: nobody knows which one counts of those that are repeated. */
export function repetitionIn(parameters: URLSearchParams): string | undefined {
  const repeated = parameterNames.find((name) => parameters.getAll(name).length > 1);
  return repeated === undefined ? undefined : `\`${repeated}\` must be given once.`;
}

/** The members of a GET's parameters by which documents are named; undefined if `extensions` is not JSON. */
export function namingIn(parameters: URLSearchParams): Naming | undefined {
  const extensions = parameters.get('extensions');
  try {
    return {
      query: parameters.get('query'),
      documentId: parameters.get('documentId'),
      extensions: extensions && JSON.parse(extensions),
    };
  } catch {
    return undefined;
  }
}

/** The same request, with the document's text in place of all that named it. */
export function withText<T extends object>(request: T, query: string): T {
  const { documentId: _, extensions, ...others } = request as Naming;
  const { persistedQuery: __, ...left } = isObject(extensions) ? extensions : {};
  return { ...others, query, ...(Object.keys(left).length > 0 && { extensions: left }) } as T;
}
