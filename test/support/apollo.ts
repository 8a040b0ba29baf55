import { ApolloServer } from '@apollo/server';

/** From now on: the ids of the requests that come to Apollo Server in this process; the lane has the others. */
export function watchApollo(): Set<string> {
  const seen = new Set<string>();
  const { executeHTTPGraphQLRequest } = ApolloServer.prototype;
  // A spy would keep every request, and with it all that the request was made of.
  ApolloServer.prototype.executeHTTPGraphQLRequest = async function (this: ApolloServer, request) {
    const { requestId } = (await request.context()) as unknown as { readonly requestId: string };
    seen.add(requestId);
    return executeHTTPGraphQLRequest.call(this, request);
  };
  return seen;
}
