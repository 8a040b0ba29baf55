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

/** The format of a stream, if the client names one and prefers it to the other answers, as for a subscription. */
export function streamFormatFor(accept: string | undefined): StreamFormat | undefined {
  if (accept === undefined) return undefined;
  if (acceptsMultipart(accept)) return multipart;
  if (!accept.toLowerCase().includes('text/event-stream')) return undefined;
  const eventStream = serverSentEvents.contentType;
  const preferred = new Negotiator({ headers: { accept } }).mediaType([...answerTypes, eventStream]);
  return preferred === eventStream ? serverSentEvents : undefined;
}

/** Whether one of the types that it names is that of multipart subscriptions in the one version there is, and is not excluded by `q=0`. */
function acceptsMultipart(accept: string): boolean {
  const types = accept.split(',').filter((type) => /^\s*multipart\/mixed\s*;/i.test(type));
  const has = (type: string, parameter: RegExp) =>
    type.split(';').some((part) => parameter.test(part.trim()));
  return types.some((type) => has(type, /^subscriptionSpec="?1\.0"?$/i) && !has(type, /^q=0(?:\.0*)?$/i));
}
