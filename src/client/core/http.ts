import { callBack } from './attempt.js';
import { TriviumError, type Answer } from './error.js';
import type { Payload } from './document.js';
import { schemaHash } from '../generated/schema-hash.js';

/** In milliseconds, longer than any operation takes: a connection may be dead without a word. */
const patienceMs = 60_000;

/** What identifies the caller on a request. */
export interface Credentials {
  /** The session's token; undefined if a cookie counts, or nobody is signed in. */
  readonly token: string | undefined;
  readonly credentials: 'include' | 'omit';
}

/** The gateway's GraphQL address, the `fetch` to use, and the credentials that each request takes anew. */
export interface HttpOptions {
  readonly url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly credentials: () => Credentials;
}

/** `HttpOptions`, and who is told of another schema. */
export interface PostOptions extends HttpOptions {
  /** Told once, if the gateway has another schema than the one that this client was built with. */
  readonly onOtherSchema: () => void;
}

/** An answer, and the status that it came with. */
export interface Answered extends Answer {
  readonly status: number;
}

/**
 * Posts an operation. Rejects with `UNREACHABLE`, `NOT_GRAPHQL` or the signal's reason; errors are data. An answer that takes
 * longer than any operation is `UNREACHABLE`, too; beside a signal, only where `AbortSignal.any` is known.
 */
export type Post = (payload: Payload, signal?: AbortSignal | null) => Promise<Answered>;

/** How a request, or a websocket, says whose session it is; empty without a token. */
export function authorizationOf(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** The headers with which a request says who is calling. */
export function headersFor({ token }: Credentials, accept: string): Record<string, string> {
  return { accept, 'content-type': 'application/json', ...authorizationOf(token) };
}

/** Sends operations to `/graphql`. */
export function createPost({ url, fetch, credentials, onOtherSchema }: PostOptions): Post {
  let isTold = false;
  return async (payload, signal) => {
    const caller = credentials();
    const limit = AbortSignal.timeout(patienceMs);
    // What JSON cannot express fails before the request does.
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: headersFor(caller, 'application/graphql-response+json, application/json;q=0.9'),
      credentials: caller.credentials,
      body: JSON.stringify(payload),
      signal: signal ? (AbortSignal.any?.([signal, limit]) ?? signal) : limit,
    }).catch((cause: unknown) => {
      signal?.throwIfAborted();
      throw new TriviumError('UNREACHABLE', 'The gateway cannot be reached.', { cause });
    });
    const theirs = response.headers.get('x-schema-hash');
    if (theirs !== null && theirs !== schemaHash && !isTold) {
      isTold = true;
      callBack(onOtherSchema);
    }
    return { ...(await readAnswer(response, signal)), status: response.status };
  };
}

/** The answer in a response; rejects with `NOT_GRAPHQL` if there is none, or `UNREACHABLE` if it was cut off. */
export async function readAnswer(response: Response, signal?: AbortSignal | null): Promise<Answer> {
  const { status } = response;
  let text: string;
  try {
    text = await response.text();
  } catch (cause) {
    signal?.throwIfAborted();
    throw new TriviumError('UNREACHABLE', 'The connection was lost.', { cause, status });
  }
  try {
    const body = JSON.parse(text) as Answer | null;
    if (Array.isArray(body?.errors) || (typeof body?.data === 'object' && body.data !== null)) return body;
  } catch {
    // not JSON: a page of a proxy, or of another server
  }
  throw new TriviumError('NOT_GRAPHQL', `Something else than the gateway answered: ${status}.`, {
    status,
  });
}
