import type { Sandbox } from '../../src/sandbox/sandbox.js';

/** Options of a request. */
export interface RequestOptions {
  readonly method?: string;
  readonly token?: string;
  readonly json?: unknown;
}

/** An answer, its JSON body parsed. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** The members of answers that tests read. */
interface Body {
  readonly access_token?: string;
  readonly created_at?: string;
  readonly updated_at?: string;
  readonly now?: string;
  readonly error?: { readonly message: string };
  readonly data: readonly { readonly id: string; readonly title: string }[];
  readonly next_cursor?: string | null;
}

/** Sends a request over HTTP; with `json`, it is a POST by default. */
export async function ask(url: string, { method, token, json }: RequestOptions = {}): Promise<Reply> {
  const headers = { ...(token && { authorization: `Bearer ${token}` }), 'content-type': 'application/json' };
  const body = json === undefined ? null : JSON.stringify(json);
  const response = await fetch(url, { method: method ?? (body ? 'POST' : 'GET'), headers, body });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

/** Sends a request to the notes service. */
export function askNotes(sandbox: Sandbox, path: string, options?: RequestOptions): Promise<Reply> {
  return ask(`${sandbox.url}/notes/v1${path}`, options);
}

/** Signs a user in to the notes service, by default the demo user, and returns the token. */
export async function signIn(
  sandbox: Sandbox,
  email = 'demo@example.com',
  password = 'demo-password',
): Promise<string> {
  const { body } = await askNotes(sandbox, '/auth/token', { json: { email, password } });
  return body.access_token ?? '';
}
