import type { ApolloServerErrorCode } from '@apollo/server/errors';
import { buildSchema, type GraphQLEnumType } from 'graphql';
import { readFileSync } from 'node:fs';
import type { ErrorCode } from '../../../src/graphql/errors.js';
import type { MadeTable, Rows } from './table.js';

const correct =
  'Correct the operation or its variables. Send mutations over HTTP, subscriptions over a websocket or a stream.';
const correctDocument = 'Correct the document, or pass an `operationName`.';
const correctRequest = 'Correct the HTTP request: one operation as JSON, `POST` for mutations.';
const sendText = 'This gateway has no manifest: send the text of the document.';
const untrusted = 'Ask the operator to add the document to the [trusted documents](trusted-documents.md).';
const retryLater =
  'A service behind the gateway failed. Retry later (after `extensions.retryAfter`, if given). A mutation of a note may have taken effect: check first.';

/** What to do about each code that the gateway or Apollo Server gives: the compiler tells which one is missing here. */
const advice: Readonly<Record<ErrorCode | `${ApolloServerErrorCode}`, string>> = {
  UNAUTHENTICATED: 'Sign in (again).',
  FORBIDDEN:
    'The session lacks the [grant](sign-in.md#grants) that the message names, or the page is on an [origin](sign-in.md#a-page-on-another-origin) that may not call.',
  BAD_USER_INPUT: correct,
  CURSOR_INVALID:
    'Begin with the first page. In a subscription: query the list again, and subscribe from its `liveCursor`.',
  GRAPHQL_PARSE_FAILED: correctDocument,
  GRAPHQL_VALIDATION_FAILED: correctDocument,
  OPERATION_RESOLUTION_FAILURE: correctDocument,
  BAD_REQUEST: correctRequest,
  PERSISTED_QUERY_NOT_SUPPORTED: sendText,
  PERSISTED_QUERY_NOT_FOUND: untrusted,
  DOCUMENT_NOT_TRUSTED: untrusted,
  QUERY_TOO_COMPLEX:
    'Ask for less, as the message says. A mutation has taken effect if `path` goes on after its name. Otherwise it has not, unless the message says that it may have.',
  CURSOR_EXPIRED: 'Query the list again from its first page, and subscribe from its `liveCursor`.',
  RATE_LIMITED:
    'Retry after `extensions.retryAfter` seconds. A mutation may be retried if `path` ends with its name. Without a `path`, it may be retried unless the message says that it may have taken effect.',
  UPSTREAM_UNAVAILABLE: retryLater,
  UPSTREAM_TIMEOUT: retryLater,
  UPSTREAM_INVALID_RESPONSE: retryLater,
  INTERNAL_SERVER_ERROR:
    "Give the `extensions.requestId` to the operator. It also occurs while the gateway's own database is down: retry later.",
};

/** Codes with the same advice share a row. */
function graphqlErrors(): Rows {
  const texts = [...new Set(Object.values(advice))];
  const codesWith = (text: string) =>
    Object.entries(advice)
      .filter(([, other]) => other === text)
      .map(([code]) => `\`${code}\``);
  return [['code', 'what to do'], ...texts.map((text) => [codesWith(text).join(', '), text])];
}

/** The codes of what the user can correct, from the schema. */
function userErrors(): Rows {
  const schema = buildSchema(readFileSync('src/generated/schema.graphql', 'utf8'));
  const codes = (schema.getType('UserErrorCode') as GraphQLEnumType).getValues();
  return [
    ['code', 'what it means'],
    ...codes.map(({ name, description }) => [`\`${name}\``, description ?? '']),
  ];
}

/** The tables of `docs/errors.md`. */
export function errorTables(): readonly MadeTable[] {
  const page = 'docs/errors.md';
  return [
    { page, name: 'graphql errors', rows: graphqlErrors() },
    { page, name: 'user errors', rows: userErrors() },
  ];
}
