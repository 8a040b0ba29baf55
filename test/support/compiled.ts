import { Kind, parse } from 'graphql';
import { afterAll } from 'vitest';
import { watchApollo } from './apollo.js';

/**
 * A setup for whole test files: every query that a test sends has been asked once before, by nobody and so without a
 * call to any service. The lane knows it then, and what the test gets is the answer of its compiled form.
 */
const usual = globalThis.fetch;
const asked = new Set<string>();
const seenByApollo = watchApollo();
const left: string[] = [];
let compiled = 0;

globalThis.fetch = async (url, init) => {
  const query = typeof url === 'string' && url.endsWith('/graphql') ? queryOf(init) : undefined;
  if (query === undefined) return usual(url, init);
  await askBefore(url as string, init!, query);
  const response = await usual(url, init);
  if (response.status === 200) await tell(query, response);
  return response;
};

afterAll(() => {
  // oxlint-disable-next-line no-console -- how much of the file was on this way
  console.log(`${compiled} answers of compiled queries`);
  if (left.length > 0)
    throw new Error(`The lane left these to Apollo Server, without an error:\n${left.join('\n')}`);
});

/** The text of a request that the lane is meant to take. */
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

/** Once for each document, and once for what decides on the headers of an answer. */
async function askBefore(url: string, init: RequestInit, query: string): Promise<void> {
  const headers = new Headers(init.headers);
  for (const name of ['authorization', 'cookie', 'x-request-id']) headers.delete(name);
  const kind = `${url} ${headers.get('origin')} ${headers.get('accept')}`;
  for (const [key, body] of [
    [kind, '{"query":"{ __typename }"}'],
    [`${url} ${query}`, init.body],
  ] as const) {
    if (asked.has(key)) continue;
    asked.add(key);
    // A gateway that does not answer is the test's own affair.
    await usual(url, { method: 'POST', headers, body: body ?? null }).catch(() => undefined);
  }
}

async function tell(query: string, response: Response): Promise<void> {
  const { errors } = (await response.clone().json()) as { readonly errors?: unknown };
  if (errors !== undefined) return;
  if (seenByApollo.has(response.headers.get('x-request-id') ?? '')) left.push(query);
  else compiled += 1;
}
