import type { IncomingMessage } from 'node:http';
import { isObject } from '../../lib/json.js';
import { costHeader } from '../operation/cost/cost-report.js';

/** A longer body is hardly ever repeated, and is left to the usual way, which has a bound of its own. */
const maxPlainBytes = 16 * 1024;

/** Whether it is a POST of plain JSON whose length is given. */
export function isPlain({ method, url, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    url === '/graphql' &&
    headers[costHeader] === undefined &&
    headers['content-type'] === 'application/json' &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    Number(headers['content-length']) <= maxPlainBytes
  );
}

/** What a request of plain JSON may have. */
export interface PlainRequest {
  readonly query?: unknown;
  readonly documentId?: unknown;
  readonly extensions?: unknown;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

const plainNames = new Set(['query', 'documentId', 'variables', 'operationName', 'extensions']);

/** The request, if nothing in it needs Apollo Server. */
export function parsePlain(text: string): PlainRequest | undefined {
  const request: unknown = JSON.parse(text);
  if (!isObject(request)) return undefined;
  const { variables, operationName, extensions } = request;
  const plain =
    (variables == null || isObject(variables)) &&
    (operationName == null || typeof operationName === 'string') &&
    (extensions == null || isObject(extensions)) &&
    Object.keys(request).every((name) => plainNames.has(name));
  return plain ? request : undefined;
}
