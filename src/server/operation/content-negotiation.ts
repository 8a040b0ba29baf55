import Negotiator from 'negotiator';
import { multipart, serverSentEvents, type StreamFormat } from '../stream/stream-format.js';

/** The media type whose answers may have status 200 without `data` (GraphQL over HTTP). */
export const legacyType = 'application/json; charset=utf-8';
/** The media types that Apollo Server can answer with. */
const answerTypes = [
  legacyType,
  'application/graphql-response+json; charset=utf-8',
  'application/json; callbackSpec=1.0; charset=utf-8',
];
const page = 'text/html';

/** The media type of an answer to this client, by Apollo Server's own rule; undefined if it accepts none of them. */
export function answerTypeFor(accept: string | undefined): string | undefined {
  return accept ? new Negotiator({ headers: { accept } }).mediaType(answerTypes) : legacyType;
}

/** The media type of a refusal: an answer's for a client's fault; for a 5xx plain JSON, a failure to all clients. */
export function refusalTypeFor(accept: string | undefined, status: number): string {
  return (status < 500 && answerTypeFor(accept)) || legacyType;
}

/** Whether the client prefers a page to any of the answer types, as browsers do. */
export function wantsPage(accept: string | undefined): boolean {
  return !!accept && new Negotiator({ headers: { accept } }).mediaType([...answerTypes, page]) === page;
}

/** Whether the client names `text/html` among what it accepts, as browsers do. */
export function namesPage(accept: string | undefined): boolean {
  return /\btext\/html\b/i.test(accept ?? '');
}

/** What a client names to be answered by a stream, and its format. Of what it likes equally, the first counts. */
const streams = [
  ['multipart/@subscription', multipart], // a name that no client may send: `@` is not among a type's characters
  ['text/event-stream', serverSentEvents],
] as const;

/** The format of a stream, if the client names one and prefers it to the other answers, as for a subscription. */
export function streamFormatFor(accept: string | undefined): StreamFormat | undefined {
  if (accept === undefined) return undefined;
  const accepted = accept.toLowerCase().split(',').map(withoutParameters);
  const named = streams.filter(([type]) => accepted.some((each) => each.startsWith(type)));
  if (named.length === 0) return undefined;
  const types = [...answerTypes, ...named.map(([type]) => type)];
  const preferred = new Negotiator({ headers: { accept: accepted.join(',') } }).mediaType(types);
  return named.find(([type]) => type === preferred)?.[1];
}

/**
 * A media type with its preference alone: a parameter would make it more specific, and thereby more preferred. What stands
 * for multipart subscriptions, in the one version there is, gets a name of its own.
 */
function withoutParameters(accepted: string): string {
  const [type = '', ...parameters] = accepted.split(';').map((part) => part.trim());
  const isMultipart =
    type === 'multipart/mixed' && parameters.some((part) => /^subscriptionspec="?1\.0"?$/.test(part));
  const weights = parameters.filter((part) => part.startsWith('q='));
  return [isMultipart ? streams[0][0] : type, ...weights].join(';');
}
