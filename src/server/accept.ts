import Negotiator from 'negotiator';

const json = 'application/json; charset=utf-8';
/** The media types that Apollo Server can answer with. */
const answerTypes = [
  json,
  'application/graphql-response+json; charset=utf-8',
  'application/json; callbackSpec=1.0; charset=utf-8',
];
const page = 'text/html';

/** The media type of an answer to this client, by Apollo Server's own rule; undefined if it accepts none of them. */
export function answerTypeFor(accept: string | undefined): string | undefined {
  return accept ? new Negotiator({ headers: { accept } }).mediaType(answerTypes) : json;
}

/** The media type of a refusal: an answer's for a client's fault; for a 5xx plain JSON, a failure to all clients. */
export function refusalTypeFor(accept: string | undefined, status: number): string {
  return (status < 500 && answerTypeFor(accept)) || json;
}

/** Whether the client prefers a page to any of the answer types, as browsers do. */
export function wantsPage(accept: string | undefined): boolean {
  return !!accept && new Negotiator({ headers: { accept } }).mediaType([...answerTypes, page]) === page;
}
