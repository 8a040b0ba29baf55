import { useMemo } from 'react';
import {
  RelayEnvironmentProvider,
  useLazyLoadQuery,
  usePaginationFragment,
  useSubscription,
} from 'react-relay';
import type { ConcreteRequest, OperationType, ReaderFragment } from 'relay-runtime';
import { createRelayEnvironment } from '../../../src/client/relay/relay.js';
import type { HookedList } from '../live/strict-page.js';
import { servePage } from '../live/strict-page.js';

/** What Relay's compiler made, by name; the test hands it to the page. */
declare const artifacts: {
  readonly query: ConcreteRequest;
  readonly list: ReaderFragment;
  readonly updates: ConcreteRequest;
};

interface Data {
  readonly shipments: { readonly edges: readonly { readonly node: HookedList['rows'][number] }[] };
}

servePage((trivium) => {
  const environment = createRelayEnvironment(trivium);
  return {
    Provider: ({ children }) => (
      <RelayEnvironmentProvider environment={environment}>{children}</RelayEnvironmentProvider>
    ),
    useList(filter) {
      const screen = useLazyLoadQuery<OperationType>(artifacts.query, { count: 3, filter });
      const { data, hasNext, loadNext } = usePaginationFragment<OperationType, never>(
        artifacts.list,
        screen as never,
      );
      const { edges } = (data as Data).shipments;
      const rows = useMemo(() => edges.map(({ node }) => node), [edges]);
      return { rows, hasMore: hasNext, more: () => loadNext(3) };
    },
    useUpdates: () =>
      useSubscription(useMemo(() => ({ subscription: artifacts.updates, variables: {} }), [])),
  };
});
