import { Kind, parse } from 'graphql';
import { afterAll } from 'vitest';
import { watchApollo } from './apollo.js';

/**
 * A setup file: each query that a test sends is first sent once anonymously, so without a call to any service. The lane
 * then knows it, and the test gets the answer of the compiled query.
 */
const realFetch = globalThis.fetch;
const asked = new Set<string>();
const seenByApollo = watchApollo();
const left: string[] = [];
let compiled = 0;

globalThis.fetch = async (url, init) => {
  const query = typeof url === 'string' && url.endsWith('/graphql') ? queryOf(init) : undefined;
  if (query === undefined) return realFetch(url, init);
  await askAnonymously(url as string, init!, query);
  const response = await realFetch(url, init);
  if (response.status === 200) await record(query, response);
  return response;
};

afterAll(() => {
  // oxlint-disable-next-line no-console -- how much of the file the lane answered
  console.log(`${compiled} answers of compiled queries`);
  if (left.length > 0)
    throw new Error(`The lane left these to Apollo Server, without an error:\n${left.join('\n')}`);
});

/** The query of a request that the lane should take. */
function queryOf({ method, body, headers }: RequestInit = {}): string | undefined {
  const plain = method === 'POST' && new Headers(headers).get('content-type') === 'application/json';
  if (!plain || typeof body !== 'string') return undefined;
  try {
    const { query } = JSON.parse(body) as { readonly query?: unknown };
    return typeof query === 'string' && isPlainQuery(query) ? query : undefined;
  } catch {
    return undefined; // malformed on purpose
  }
}

function isPlainQuery(text: string): boolean {
  const { definitions } = parse(text);
  const operations = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  return operations.length === 1 && operations[0]!.operation === 'query' && !/\b__(schema|type)\b/.test(text);
}

/** Once for each document, and once for each combination of what decides the answer's headers. */
async function askAnonymously(url: string, init: RequestInit, query: string): Promise<void> {
  const headers = new Headers(init.headers);
  for (const name of ['authorization', 'cookie', 'x-request-id']) headers.delete(name);
  const kind = `${url} ${headers.get('origin')} ${headers.get('accept')}`;
  for (const [key, body] of [
    [kind, '{"query":"{ __typename }"}'],
    [`${url} ${query}`, init.body],
  ] as const) {
    if (asked.has(key)) continue;
    asked.add(key);
    // If the gateway does not answer, that is for the test itself to find.
    await realFetch(url, { method: 'POST', headers, body: body ?? null }).catch(() => undefined);
  }
}

async function record(query: string, response: Response): Promise<void> {
  const { errors } = (await response.clone().json()) as { readonly errors?: unknown };
  if (errors !== undefined) return;
  if (seenByApollo.has(response.headers.get('x-request-id') ?? '')) left.push(query);
  else compiled += 1;
}
