import { ApolloServer } from '@apollo/server';
import { vi } from 'vitest';

/** From now on: the ids of the requests that come to Apollo Server in this process; the lane has the others. */
export function watchApollo(): ReadonlySet<string> {
  const seen = new Set<string>();
  const { executeHTTPGraphQLRequest } = ApolloServer.prototype;
  vi.spyOn(ApolloServer.prototype, 'executeHTTPGraphQLRequest').mockImplementation(async function (
    this: ApolloServer,
    request,
  ) {
    const { requestId } = (await request.context()) as unknown as { readonly requestId: string };
    seen.add(requestId);
    return executeHTTPGraphQLRequest.call(this, request);
  });
  return seen;
}
