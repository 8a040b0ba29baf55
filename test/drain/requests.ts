import { request, type Agent, type IncomingHttpHeaders } from 'node:http';

/** An answer, and the headers with which it came. */
export interface Posted {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads whatever shape its own query asks for
  readonly data: any;
  readonly errors: readonly unknown[] | undefined;
}

/** How to ask: as whom, and over which connections. */
export interface Way {
  readonly token?: string;
  readonly agent?: Agent;
  /** Ends the waiting. */
  readonly signal?: AbortSignal;
}

/** A GraphQL request by POST; rejects where there is no whole answer. */
export function postGraphql(url: string, query: string, variables = {}, way: Way = {}): Promise<Posted> {
  const { token, agent, signal } = way;
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
    sent.on('response', (answer) => {
      const { statusCode: status = 0, headers } = answer;
      let text = '';
      answer.on('data', (bytes) => (text += String(bytes)));
      answer.on('error', reject);
      answer.on('end', () => {
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
