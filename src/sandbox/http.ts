import type { IncomingMessage } from 'node:http';

/** The services whose calls are recorded and can be made to fail. */
export type ServiceName = 'notes' | 'appointments' | 'issuer' | 'payments';

/** What a handler sees of a request. */
export interface Request {
  readonly query: URLSearchParams;
  readonly params: Readonly<Record<string, string>>;
  /** The bearer token, if the request carries one. */
  readonly bearer: string | undefined;
  /** The body as a JSON object; throws a 415 or 400 refusal if it is not one. */
  json(): Record<string, unknown>;
}

/** The response to a request. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One endpoint: a method, a path such as `/notes/:id`, and its handler. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly handle: (request: Request) => Answer | Promise<Answer>;
}

/** A JSON answer. */
export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return { status, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(value) };
}

/** Thrown by a handler to answer with an error. */
export class HttpError extends Error {
  readonly answer: Answer;

  constructor(instead: Answer) {
    super(`refused with ${instead.status}`);
    this.answer = instead;
  }
}

/** A refusal with the body `{error:{code,message}}` (the shape of an error's body is undocumented). */
export function httpError(
  status: number,
  code: string,
  message: string,
  headers?: Record<string, string>,
): HttpError {
  return new HttpError(json(status, { error: { code, message } }, headers));
}

/** Answers a request by the first matching route: 404 for an unknown path, 405 for an unknown method. */
export async function answer(
  routes: readonly Route[],
  message: IncomingMessage,
  url: URL,
  body: string,
): Promise<Answer> {
  try {
    const { route, params } = findRoute(routes, message.method ?? 'GET', url.pathname);
    return await route.handle({
      query: url.searchParams,
      params,
      bearer: /^Bearer +(\S+)$/i.exec(message.headers.authorization ?? '')?.[1],
      json: () => parseObject(message.headers['content-type'], body),
    });
  } catch (error) {
    if (error instanceof HttpError) return error.answer;
    throw error;
  }
}

function findRoute(routes: readonly Route[], method: string, path: string) {
  const candidates = routes.flatMap((route) => {
    const params = matchPath(route.path, path);
    return params ? [{ route, params }] : [];
  });
  if (candidates.length === 0) throw httpError(404, 'not_found', `There is nothing at ${path}.`);
  const found = candidates.find(({ route }) => route.method === method);
  if (!found) throw httpError(405, 'method_not_allowed', `${path} does not take ${method}.`);
  return found;
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const actual = given[index] ?? '';
    if (part.startsWith(':') && actual !== '') params[part.slice(1)] = decode(actual);
    else if (part !== actual) return undefined;
  }
  return params;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw httpError(400, 'invalid_path', 'The path is not correctly encoded.');
  }
}

function parseObject(contentType: string | undefined, body: string): Record<string, unknown> {
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? ''))
    throw httpError(415, 'unsupported_media_type', 'The body must be application/json.');
  const value = parse(body);
  if (!isObject(value)) throw httpError(400, 'invalid_json', 'The body must be a JSON object.');
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a parsed JSON value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** In characters: no request of a gateway has more. */
const maxBody = 2 * 1024 * 1024;
/** In characters, so that most clients have sent all before they are refused, and read the answer. */
const maxDiscarded = 64 * 1024 * 1024;

/** Reads a request's body as text; throws an `HttpError` of status 413 if it is too long, and keeps nothing of it. */
export async function readBody(message: IncomingMessage): Promise<string> {
  message.setEncoding('utf8');
  let body = '';
  let length = 0;
  for await (const chunk of message.iterator({ destroyOnReturn: false })) {
    length += String(chunk).length;
    body = length > maxBody ? '' : body + String(chunk);
    if (length > maxDiscarded) break;
  }
  if (length > maxBody)
    throw httpError(413, 'body_too_large', 'The body is too large.', { connection: 'close' });
  return body;
}
