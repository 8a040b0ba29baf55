import Negotiator from 'negotiator';

const json = 'application/json; charset=utf-8';
/** What Apollo Server looks for in `Accept`. */
const answerTypes = [
  json,
  'application/graphql-response+json; charset=utf-8',
  'application/json; callbackSpec=1.0; charset=utf-8',
];
const page = 'text/html';

/** The media type of an answer to this client, by Apollo Server's own rule; undefined if it takes none. */
export function answerTypeFor(accept: string | undefined): string | undefined {
  return accept ? new Negotiator({ headers: { accept } }).mediaType(answerTypes) : json;
}

/** The media type of a refusal: an answer's where the client is at fault, while what may pass is a failure to all. */
export function refusalTypeFor(accept: string | undefined, status: number): string {
  return (status < 500 && answerTypeFor(accept)) || json;
}

/** Whether the client likes a page better than any answer, as browsers do. */
export function wantsPage(accept: string | undefined): boolean {
  return !!accept && new Negotiator({ headers: { accept } }).mediaType([...answerTypes, page]) === page;
}
