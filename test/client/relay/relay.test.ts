import {
  commitMutation,
  createOperationDescriptor,
  fetchQuery,
  getSingularSelector,
  requestSubscription,
  type Environment,
} from 'relay-runtime';
import { beforeAll, expect, test } from 'vitest';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { createRelayEnvironment } from '../../../src/client/relay/relay.js';
import { compile, type Artifacts } from '../../relay/compile.js';
import { createSchema } from '../../support/schema.js';
import {
  testCache,
  type Asked,
  type CachingClient,
  type Lists,
  type Row,
  type ShownList,
} from '../live/cache-contract.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { printSchema } from 'graphql';

/** What a page asks of a family. */
const ofFamily = (type: string) => `
query Screen${type}Query($count: Int, $filter: ${type}Filter) {
  ...Screen${type}_query @arguments(count: $count)
}

fragment Screen${type}_query on Query
@argumentDefinitions(count: { type: "Int", defaultValue: 3 }, cursor: { type: "String" })
@refetchable(queryName: "Screen${type}PageQuery") {
  liveCursor
  ${type.toLowerCase()}s(first: $count, after: $cursor, filter: $filter)
  @connection(key: "Screen${type}_${type.toLowerCase()}s") {
    edges {
      node {
        ...Screen${type}_row @relay(mask: false)
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}

fragment Screen${type}_row on ${type} {
  id
  ${type.toLowerCase()}Id
  ${type === 'Shipment' ? 'stage carrier' : 'currency livemode'}
  updatedAt
  revision
}

subscription Screen${type}Subscription($after: String) {
  ${type.toLowerCase()}Updates(after: $after) {
    cursor
    ${type.toLowerCase()} {
      ...Screen${type}_row @relay(mask: false)
    }
  }
}
`;

const documents = `
${['Shipment', 'Payment'].map(ofFamily).join('\n')}

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

const typeOf = { shipments: 'Shipment', payments: 'Payment' };

/** Mounts the list of a filter; it is heard of as a component does. */
function show(
  relay: Environment,
  { family, filter }: Asked,
  changed: (rows: readonly Row[]) => void,
): ShownList {
  const type = typeOf[family];
  const request = artifacts.operation(`Screen${type}Query`);
  const variables = { count: 3, filter };
  const operation = createOperationDescriptor(request, variables);
  const retention = relay.retain(operation);
  const parent = relay.lookup(operation.fragment).data;
  const selector = getSingularSelector(artifacts.fragment(`Screen${type}_query`), parent);
  const list = () => {
    const { data, isMissingData } = relay.lookup(selector);
    return isMissingData ? undefined : ((data as Lists)[family] ?? undefined);
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
      await fetchQuery(relay, artifacts.operation(`Screen${type}PageQuery`), page).toPromise();
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
    show: (asked, changed) => show(relay, asked, changed),
    subscribe() {
      const following = ['Shipment', 'Payment'].map((type) =>
        requestSubscription(relay, {
          subscription: artifacts.operation(`Screen${type}Subscription`),
          variables: {},
        }),
      );
      return () => following.forEach((one) => one.dispose());
    },
    createNote: (title) => createNote(relay, title),
    cached: () => JSON.stringify(relay.getStore().getSource().toJSON()),
    stop: () => {},
  };
}

function createNote(relay: Environment, title: string): Promise<unknown> {
  const mutation = artifacts.operation('ScreenMutation');
  const variables = { input: { title, content: title } };
  return new Promise((onCompleted, onError) => {
    commitMutation(relay, { mutation, variables, onCompleted, onError });
  });
}

testCache(createCaching);

const proxied = useProxiedGateway();

test('asks and writes by the same session, and forgets everything when it ends', async () => {
  const trivium = proxied.connect({ token: await proxied.testbed.signIn() });
  await trivium.refresh();
  const relay = createRelayEnvironment(trivium);
  const written = await createNote(relay, 'By Relay');
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
