import { ApolloServer } from '@apollo/server';

/** Collects, from now on, the ids of requests that reach Apollo Server in this process; compiled queries take the others. */
export function watchApollo(): Set<string> {
  const seen = new Set<string>();
  const { executeHTTPGraphQLRequest } = ApolloServer.prototype;
  // A spy would keep every request in memory, and all that it refers to.
  ApolloServer.prototype.executeHTTPGraphQLRequest = async function (this: ApolloServer, request) {
    const { requestId } = (await request.context()) as unknown as { readonly requestId: string };
    seen.add(requestId);
    return executeHTTPGraphQLRequest.call(this, request);
  };
  return seen;
}
