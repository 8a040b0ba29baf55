import type { FastifyRequest } from 'fastify';
import { GraphQLError } from 'graphql';
import { isObject } from '../../lib/json.js';
import { namingIn, repetitionIn, requestedDocument, withText } from '../documents/requested-document.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';

/** A request as Apollo Server takes it: with a document's text. */
interface Asked {
  readonly search: string;
  readonly body: unknown;
  /** Why the document that it names must not run; then some other document stands in for it. */
  readonly refusal?: GraphQLError | undefined;
}

/** What is asked for in place of a document that is refused. */
const placeholder = { search: '?query={__typename}', body: { query: '{__typename}' } };

/** The request, with the text of the document that it names, if that may run. */
export function readDocument(
  { method, url, body }: Pick<FastifyRequest, 'method' | 'url' | 'body'>,
  documents: TrustedDocuments,
): Asked {
  const parameters = parametersOf(url);
  const repetition = method === 'GET' ? repetitionIn(parameters) : undefined;
  if (repetition !== undefined) return { ...placeholder, refusal: badRequest(repetition) };
  const naming = method === 'GET' ? namingIn(parameters) : isObject(body) ? body : undefined;
  const requested = naming && requestedDocument(naming);
  const unchanged = { search: `?${parameters}`, body: withoutEmptyName(body) };
  if (requested === undefined) return unchanged;
  if (typeof requested === 'string')
    return documents.knowsIds ? { ...placeholder, refusal: badRequest(requested) } : unchanged;
  const { text, refusal } = documents.take(requested);
  if (refusal) return { ...placeholder, refusal };
  // Without a manifest, Apollo Server itself refuses its form of ids.
  const isNamed = requested.documentId !== undefined || requested.hash !== undefined;
  if (!isNamed || !documents.knowsIds) return unchanged;
  for (const name of ['documentId', 'extensions']) parameters.delete(name);
  parameters.set('query', text);
  return { search: `?${parameters}`, body: isObject(body) ? withText(withoutEmptyName(body), text) : body };
}

function badRequest(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_REQUEST' } });
}

/** The parameters of a GET that have these values are as good as absent (GraphQL over HTTP), but not to Apollo Server. */
const absentParameters = [
  ['operationName', ''],
  ['variables', ''],
  ['variables', 'null'],
  ['extensions', ''],
  ['extensions', 'null'],
] as const;

/** The same of a POST: a client that has no name to send may send an empty one. */
function withoutEmptyName<T>(body: T): T {
  return isObject(body) && body['operationName'] === '' ? { ...body, operationName: null } : body;
}

function parametersOf(target: string): URLSearchParams {
  const { searchParams } = new URL(target, 'http://gateway');
  for (const [name, value] of absentParameters) searchParams.delete(name, value);
  return searchParams;
}
