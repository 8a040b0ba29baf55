import {
  commitMutation,
  createOperationDescriptor,
  fetchQuery,
  getSingularSelector,
  requestSubscription,
  type Environment,
  type SingularReaderSelector,
} from 'relay-runtime';
import { beforeAll, expect, test } from 'vitest';
import type { ShipmentFilter } from '../../../src/client/generated/index.js';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { createRelayEnvironment } from '../../../src/client/relay/relay.js';
import { compile, type Artifacts } from '../../relay/compile.js';
import { createSchema } from '../../support/schema.js';
import { testCache, type CachingClient, type Row, type ShownList } from '../live/cache-contract.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { printSchema } from 'graphql';

const documents = `
query ScreenQuery($count: Int, $filter: ShipmentFilter) {
  ...Screen_query @arguments(count: $count)
}

fragment Screen_query on Query
@argumentDefinitions(count: { type: "Int", defaultValue: 3 }, cursor: { type: "String" })
@refetchable(queryName: "ScreenPageQuery") {
  liveCursor
  shipments(first: $count, after: $cursor, filter: $filter) @connection(key: "Screen_shipments") {
    edges {
      node {
        id
        shipmentId
        stage
        carrier
        updatedAt
        revision
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

subscription ScreenSubscription($after: String) {
  shipmentUpdates(after: $after) {
    cursor
    shipment {
      id
      shipmentId
      stage
      carrier
      updatedAt
      revision
    }
  }
}

mutation ScreenMutation($input: CreateNoteInput!) {
  createNote(input: $input) {
    note {
      title
    }
  }
}

query ScreenViewerQuery {
  viewer {
    email
  }
}
`;

let artifacts: Artifacts;

beforeAll(async () => {
  artifacts = await compile(printSchema(createSchema()), documents);
});

interface Shown {
  readonly shipments?: {
    readonly edges: readonly { readonly node: Row }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
  } | null;
}

/** Mounts the list of a filter; it is heard of as a component does. */
function show(
  relay: Environment,
  filter: ShipmentFilter,
  changed: (rows: readonly Row[]) => void,
): ShownList {
  const request = artifacts.operation('ScreenQuery');
  const variables = { count: 3, filter };
  const operation = createOperationDescriptor(request, variables);
  const retention = relay.retain(operation);
  const parent = relay.lookup(operation.fragment).data;
  const selector = getSingularSelector(artifacts.fragment('Screen_query'), parent) as SingularReaderSelector;
  const list = () => {
    const { data, isMissingData } = relay.lookup(selector);
    return isMissingData ? undefined : ((data as Shown).shipments ?? undefined);
  };
  const rows = () => list()?.edges.map(({ node }) => node);
  const watching = relay.subscribe(relay.lookup(selector), () => changed(rows() ?? []));
  const asking = fetchQuery(relay, request, variables).subscribe({
    error: () => {},
    complete: () => changed(rows() ?? []),
  });
  return {
    rows,
    hasMore: () => list()?.pageInfo.hasNextPage ?? false,
    async more() {
      const page = { ...variables, cursor: list()!.pageInfo.endCursor };
      await fetchQuery(relay, artifacts.operation('ScreenPageQuery'), page).toPromise();
    },
    stop() {
      asking.unsubscribe();
      watching.dispose();
      retention.dispose();
    },
  };
}

function createCaching(trivium: Trivium): CachingClient {
  const relay = createRelayEnvironment(trivium);
  return {
    show: (filter, changed) => show(relay, filter, changed),
    subscribe() {
      const subscription = artifacts.operation('ScreenSubscription');
      const following = requestSubscription(relay, { subscription, variables: {} });
      return () => following.dispose();
    },
    stop: () => {},
  };
}

testCache(createCaching);

const proxied = useProxiedGateway();

test('asks and writes by the same session, and forgets everything when it ends', async () => {
  const trivium = proxied.connect({ token: await proxied.testbed.signIn() });
  await trivium.refresh();
  const relay = createRelayEnvironment(trivium);
  const written = await new Promise((onCompleted, onError) => {
    const variables = { input: { title: 'By Relay', content: 'Text' } };
    commitMutation(relay, {
      mutation: artifacts.operation('ScreenMutation'),
      variables,
      onCompleted,
      onError,
    });
  });
  expect(written).toEqual({ createNote: { note: { title: 'By Relay' } } });
  const request = artifacts.operation('ScreenViewerQuery');
  const operation = createOperationDescriptor(request, {});
  relay.retain(operation);
  await fetchQuery(relay, request, {}).toPromise();
  expect(relay.lookup(operation.fragment).data).toMatchObject({ viewer: { email: 'demo@example.com' } });
  await trivium.signOut();
  await expect.poll(() => relay.check(operation).status).toBe('stale');
  expect(relay.lookup(operation.fragment).data).not.toMatchObject({ viewer: { email: expect.anything() } });
  expect(JSON.stringify(relay.getStore().getSource().toJSON())).not.toContain('demo@example.com');
});
