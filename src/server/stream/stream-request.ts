import type { FastifyRequest } from 'fastify';
import { isObject } from '../../lib/json.js';
import { noDocument, repetitionIn, requestedDocument } from '../documents/requested-document.js';
import type { OperationPayload } from '../live/live-operation.js';

const badObject = (name: string) => `\`${name}\` must be a JSON object.`;

/** The operation that a request names, by the parameters of a GET or the JSON of a POST; or what is wrong with it. */
export function readOperation({ method, url, body }: FastifyRequest): OperationPayload | string {
  return method === 'GET' ? readParameters(url) : readBody(body);
}

/** The last `id:` that the client of a stream has received; the stream resumes after it. Undefined if it has none. */
export function lastEventId({ headers }: FastifyRequest): string | undefined {
  return String(headers['last-event-id'] ?? '') || undefined;
}

function readParameters(url: string): OperationPayload | string {
  const { searchParams } = new URL(url, 'http://gateway');
  const repetition = repetitionIn(searchParams);
  if (repetition !== undefined) return repetition;
  const objects: Record<string, unknown> = {};
  for (const name of ['variables', 'extensions']) {
    const text = searchParams.get(name);
    try {
      objects[name] = text ? JSON.parse(text) : undefined;
    } catch {
      return badObject(name);
    }
  }
  return check({
    query: searchParams.get('query'),
    documentId: searchParams.get('documentId'),
    operationName: searchParams.get('operationName'),
    ...objects,
  });
}

function readBody(body: unknown): OperationPayload | string {
  return isObject(body)
    ? check(body)
    : 'Send the operation as a JSON object, with `Content-Type: application/json`.';
}

function check(request: Readonly<Record<string, unknown>>): OperationPayload | string {
  const { operationName, variables, extensions } = request;
  const requested = requestedDocument(request);
  if (typeof requested === 'string') return requested;
  if (requested.text === '') return noDocument;
  if (operationName != null && typeof operationName !== 'string') return '`operationName` must be a string.';
  if (variables != null && !isObject(variables)) return badObject('variables');
  if (extensions != null && !isObject(extensions)) return badObject('extensions');
  const { query, documentId } = request as OperationPayload;
  // An empty name is none, as over the other transports.
  return { query, documentId, extensions, operationName: operationName || undefined, variables };
}
