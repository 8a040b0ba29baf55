import { ApolloProvider, useQuery, useSubscription } from '@apollo/client/react';
import { createApolloClient } from '../../../src/client/apollo/apollo.js';
import { ShipmentsDocument, ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';
import { servePage } from '../live/strict-page.js';

servePage((trivium) => {
  const client = createApolloClient(trivium);
  return {
    Provider: ({ children }) => <ApolloProvider client={client}>{children}</ApolloProvider>,
    useList(filter) {
      const { data, fetchMore } = useQuery(ShipmentsDocument, { variables: { first: 3, filter } });
      const { edges, pageInfo } = data?.shipments ?? {};
      return {
        rows: edges?.map(({ node }) => node) ?? [],
        hasMore: pageInfo?.hasNextPage ?? false,
        more: () => fetchMore({ variables: { after: pageInfo?.endCursor } }),
      };
    },
    useUpdates: () => void useSubscription(ShipmentUpdatesDocument),
  };
});
