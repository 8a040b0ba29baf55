import { useState } from 'react';
import { Provider, useQuery, useSubscription } from 'urql';
import { ShipmentsDocument, ShipmentUpdatesDocument } from '../../../src/client/generated/index.js';
import { createUrqlClient } from '../../../src/client/urql/urql.js';
import { servePage } from '../live/strict-page.js';

servePage((trivium) => {
  const client = createUrqlClient(trivium);
  return {
    Provider: ({ children }) => <Provider value={client}>{children}</Provider>,
    useList(filter) {
      const [after, setAfter] = useState<string | null>(null);
      const [{ data }] = useQuery({ query: ShipmentsDocument, variables: { first: 3, filter, after } });
      const { edges, pageInfo } = data?.shipments ?? {};
      return {
        rows: edges?.map(({ node }) => node) ?? [],
        hasMore: pageInfo?.hasNextPage ?? false,
        more: () => setAfter(pageInfo?.endCursor ?? null),
      };
    },
    useUpdates: () => void useSubscription({ query: ShipmentUpdatesDocument, variables: {} }),
  };
});
