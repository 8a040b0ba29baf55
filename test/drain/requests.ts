import { request, type Agent, type IncomingHttpHeaders } from 'node:http';

/** A GraphQL response with its HTTP status and headers. */
export interface Posted {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads whatever shape its own query asks for
  readonly data: any;
  readonly errors: readonly unknown[] | undefined;
}

/** As whom to send a request, and over which connections. */
export interface RequestOptions {
  readonly token?: string;
  readonly agent?: Agent;
  /** Aborts the request. */
  readonly signal?: AbortSignal;
}

/** Sends a GraphQL request by POST; rejects if no complete response arrives. */
export function postGraphql(
  url: string,
  query: string,
  variables = {},
  options: RequestOptions = {},
): Promise<Posted> {
  const { token, agent, signal } = options;
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/graphql`, {
      method: 'POST',
      ...(agent && { agent }),
      ...(signal && { signal }),
      headers: {
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const { statusCode: status = 0, headers } = response;
      let text = '';
      response.on('data', (bytes) => (text += String(bytes)));
      response.on('error', reject);
      response.on('end', () => {
        try {
          resolve({ status, headers, ...(JSON.parse(text) as Pick<Posted, 'data' | 'errors'>) });
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.end(JSON.stringify({ query, variables }));
  });
}
