import type { FastifyRequest } from 'fastify';
import { isObject } from '../../lib/json.js';
import type { OperationPayload } from '../live/live-operation.js';

const badObject = (name: string) => `\`${name}\` must be a JSON object.`;

/** The operation that a request names, by the parameters of a GET or the JSON of a POST; or what is wrong with it. */
export function readOperation({ method, url, body }: FastifyRequest): OperationPayload | string {
  return method === 'GET' ? readParameters(url) : readBody(body);
}

function readParameters(url: string): OperationPayload | string {
  const { searchParams } = new URL(url, 'http://gateway');
  const text = searchParams.get('variables');
  let variables: unknown;
  try {
    variables = text ? JSON.parse(text) : undefined;
  } catch {
    return badObject('variables');
  }
  return check({
    query: searchParams.get('query'),
    operationName: searchParams.get('operationName') || undefined,
    variables,
  });
}

function readBody(body: unknown): OperationPayload | string {
  return isObject(body)
    ? check(body)
    : 'Send the operation as a JSON object, with `Content-Type: application/json`.';
}

function check({
  query,
  operationName,
  variables,
}: Readonly<Record<string, unknown>>): OperationPayload | string {
  if (typeof query !== 'string' || query === '') return '`query` must be a document, as a string.';
  if (operationName != null && typeof operationName !== 'string') return '`operationName` must be a string.';
  if (variables != null && !isObject(variables)) return badObject('variables');
  return { query, operationName, variables };
}
