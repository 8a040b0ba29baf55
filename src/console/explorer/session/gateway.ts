import type { GraphQLFormattedError } from 'graphql';

/** The gateway's GraphQL endpoint on the page's own origin, for POST and websockets. */
export const path = '/graphql';

/** A GraphQL operation as it is sent. */
export interface Operation {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

/** What the gateway answers to an operation. */
export interface Answer<Data = unknown> {
  readonly data?: Data | null | undefined;
  readonly errors?: readonly GraphQLFormattedError[] | undefined;
}

/**
 * Posts one operation; the browser adds the session's cookie. Never rejects: if there is no GraphQL response, the
 * answer is one error that says so.
 */
export async function post<Data>(
  operation: Operation,
  headers: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): Promise<Answer<Data>> {
  try {
    const response = await fetch(path, {
      method: 'POST',
      credentials: 'same-origin',
      headers: {
        accept: 'application/graphql-response+json, application/json;q=0.9',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify(operation),
      signal: signal ?? null,
    });
    return await answerOf<Data>(response);
  } catch {
    return { errors: [{ message: 'The gateway cannot be reached.' }] };
  }
}

/** Whether the gateway allows the page's origin; it lets other origins neither use a session nor read its answers. */
export async function isOriginAllowed(): Promise<boolean> {
  try {
    // A browser sends no Origin header with a GET to its own origin.
    const { headers } = await fetch(path, { method: 'OPTIONS', credentials: 'same-origin' });
    return headers.has('access-control-allow-origin');
  } catch {
    return true; // there is no sign that it does not
  }
}

async function answerOf<Data>(response: Response): Promise<Answer<Data>> {
  const isJson = /^application\/(graphql-response\+)?json\b/.test(response.headers.get('content-type') ?? '');
  if (!isJson)
    return { errors: [{ message: `The gateway answered with status ${response.status} and no JSON.` }] };
  return (await response.json()) as Answer<Data>;
}

/** Whether an answer says that nobody is signed in. */
export function isUnauthenticated({ errors }: Answer): boolean {
  return errors?.some(({ extensions }) => extensions?.['code'] === 'UNAUTHENTICATED') ?? false;
}
