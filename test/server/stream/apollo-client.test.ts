import {
  ApolloClient,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
  type TypedDocumentNode,
} from '@apollo/client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startTestbed, type Testbed } from '../../support/testbed.js';

interface Updates {
  readonly shipmentUpdates: {
    readonly cursor: string;
    readonly replayed: boolean;
    readonly event: { readonly eventId: string };
  };
}

const updates: TypedDocumentNode<Updates, { after?: string }> = gql`
  subscription ShipmentUpdates($after: String) {
    shipmentUpdates(after: $after) {
      cursor
      replayed
      event {
        eventId
      }
      shipment {
        id
        revision
      }
    }
  }
`;

let testbed: Testbed;

beforeAll(async () => {
  testbed = await startTestbed({ streamBeatMs: 50 });
});
afterAll(() => testbed.stop());

/** Apollo Client as a page without a websocket link makes it. */
function createClient(token: string): ApolloClient {
  const headers = { authorization: `Bearer ${token}` };
  const client = new ApolloClient({
    link: new HttpLink({ uri: `${testbed.url}/graphql`, headers }),
    cache: new InMemoryCache(),
  });
  onTestFinished(() => client.stop());
  return client;
}

/** What a subscription has brought, and how it ended. */
function follow(client: ApolloClient, after?: string) {
  const got: Updates['shipmentUpdates'][] = [];
  const errors: unknown[] = [];
  let isComplete = false;
  const subscription = client
    .subscribe({ query: updates, variables: after === undefined ? {} : { after } })
    .subscribe({
      next: ({ data, error }) => {
        if (data) got.push(data.shipmentUpdates);
        if (error) errors.push(error);
      },
      error: (error) => errors.push(error),
      complete: () => (isComplete = true),
    });
  onTestFinished(() => subscription.unsubscribe());
  const ids = () => got.map(({ event }) => event.eventId);
  return { got, ids, errors, isComplete: () => isComplete, leave: () => subscription.unsubscribe() };
}

const send = async () => (await testbed.sandbox.webhooks.emitShipment()).eventId;
const codesOf = (errors: readonly unknown[]) =>
  errors.flatMap((error) =>
    CombinedGraphQLErrors.is(error) ? error.errors.map(({ extensions }) => extensions?.['code']) : [error],
  );

test('Apollo Client without a websocket link subscribes, resumes by the cursor, and ends at sign-out', async () => {
  const token = await testbed.signIn();
  const client = createClient(token);
  const after = (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor as string;
  const first = await send();
  const following = follow(client, after);
  await expect.poll(following.ids).toEqual([first]);
  const second = await send();
  await expect.poll(following.ids).toEqual([first, second]);
  expect(following.got.map(({ replayed }) => replayed)).toEqual([true, false]);
  following.leave();

  const missed = await send();
  const resumed = follow(client, following.got.at(-1)!.cursor);
  await expect.poll(resumed.ids).toEqual([missed]);
  const live = await send();
  await expect.poll(resumed.ids).toEqual([missed, live]);

  await testbed.ask('mutation { signOut { signedOut } }', {}, token);
  await expect.poll(resumed.isComplete).toBe(true);
  expect([...following.errors, ...resumed.errors]).toEqual([]);
});

test.each([
  ['a cursor that is none', 'x', 'CURSOR_INVALID'],
  ['no session', undefined, 'UNAUTHENTICATED'],
])('Apollo Client is told of %s', async (_, after, code) => {
  const refused = follow(createClient(after === undefined ? 'none' : await testbed.signIn()), after);
  await expect.poll(() => codesOf(refused.errors)).toEqual([code]);
  expect(refused.ids()).toEqual([]);
});
