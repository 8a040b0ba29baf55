/** How a stream writes what it has to say: as server-sent events, or as the parts of a multipart answer. */
export interface StreamFormat {
  /** How the metrics call it. */
  readonly name: 'sse' | 'multipart';
  readonly contentType: string;
  /** Before all else; `cursor` is the position after which the subscription begins. */
  open(cursor: string | undefined): string;
  /** A result; `cursor` is the position just after it, where it has one. */
  next(payload: string, cursor: string | undefined): string;
  /** That the connection is alive, and how far the subscription has come. */
  heartbeat(cursor: string | undefined): string;
  /** The end: there is nothing more to ask for. */
  complete(): string;
  /** An end at which the client asks again, after so many milliseconds. */
  again(delayMs: number): string;
}

/** The id of the last block of a stream that is complete: a browser that asks with it is told to stop. */
export const completeId = 'complete';

const idBlock = (cursor: string | undefined) => (cursor === undefined ? ':\n\n' : `id: ${cursor}\n\n`);

/**
 * Server-sent events in the distinct connections mode (GraphQL over Server-Sent Events). A browser sends the last `id:`
 * back as `Last-Event-ID`, even that of a block with nothing else.
 */
export const serverSentEvents: StreamFormat = {
  name: 'sse',
  contentType: 'text/event-stream; charset=utf-8',
  open: idBlock,
  next: (payload, cursor) =>
    `${cursor === undefined ? '' : `id: ${cursor}\n`}event: next\ndata: ${payload}\n\n`,
  heartbeat: idBlock,
  complete: () => `id: ${completeId}\nevent: complete\ndata: \n\n`,
  again: (delayMs) => `retry: ${delayMs}\n\n`,
};

const boundary = 'graphql';
const part = (json: string) => `\r\ncontent-type: application/json\r\n\r\n${json}\r\n--${boundary}`;

/**
 * Multipart subscriptions over HTTP, as Apollo Client asks for them. A part counts only once the boundary after it has
 * come; one that ends without the last boundary is an error to the client, which may resume.
 */
export const multipart: StreamFormat = {
  name: 'multipart',
  contentType: `multipart/mixed; boundary="${boundary}"; subscriptionSpec=1.0`,
  open: () => `\r\n--${boundary}${part('{}')}`,
  next: (payload) => part(`{"payload":${payload}}`),
  heartbeat: () => part('{}'),
  complete: () => '--\r\n',
  again: () => '',
};

/** What a client waits before it asks again: those who are sent away together come back one after another. */
const delayMs = { least: 1_000, spread: 4_000 };

/** A delay before a client asks again, in milliseconds, with jitter. */
export function againDelayMs(): number {
  return delayMs.least + Math.round(Math.random() * delayMs.spread);
}
