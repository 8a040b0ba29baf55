import { ApolloClient, gql, HttpLink, InMemoryCache, type TypedDocumentNode } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { disturb, createNotes } from './changing-notes.js';
import { disturbances } from './disturbances.js';

let testbed: Testbed;

beforeAll(async () => {
  testbed = await startTestbed();
});

afterAll(() => testbed.stop());

interface Notes {
  readonly notes: {
    readonly edges: readonly { readonly cursor: string; readonly node: { readonly upstreamId: string } }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

interface NotesVariables {
  readonly after?: string | null;
  readonly filter?: { readonly tag: string };
}

const notesQuery: TypedDocumentNode<Notes, NotesVariables> = gql`
  query Notes($after: String, $filter: NoteFilter) {
    notes(first: 7, after: $after, filter: $filter) {
      edges {
        cursor
        node {
          id
          upstreamId
          title
          tags {
            id
            name
          }
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`;

function createApollo(token: string) {
  return new ApolloClient({
    link: new HttpLink({ uri: `${testbed.url}/graphql`, headers: { authorization: `Bearer ${token}` } }),
    cache: new InMemoryCache({
      typePolicies: { Query: { fields: { notes: relayStylePagination(['filter']) } } },
    }),
  });
}

/** Pages to the end with `fetchMore`; returns the rows that the client shows, and those of the pages it received. */
async function pageThrough(token: string, variables: NotesVariables, between: () => void) {
  const client = createApollo(token);
  const first = await client.query({ query: notesQuery, variables });
  const query = client.watchQuery({ query: notesQuery, variables });
  const subscription = query.subscribe(() => {});
  let last = first.data?.notes;
  const received = [...(last?.edges ?? [])];
  while (last?.pageInfo.hasNextPage) {
    expect(received.length).toBeLessThan(500);
    between();
    const { data } = await query.fetchMore({ variables: { after: last.pageInfo.endCursor } });
    last = data?.notes;
    received.push(...(last?.edges ?? []));
  }
  const shown = (client.readQuery({ query: notesQuery, variables })?.notes.edges ?? []).map(idOf);
  subscription.unsubscribe();
  client.stop();
  return { shown, received: received.map(idOf) };
}

const idOf = ({ node }: Notes['notes']['edges'][number]) => node.upstreamId;

describe('Apollo Client with relayStylePagination', () => {
  test('pages through all notes while notes are inserted and deleted', async () => {
    const walk = fc.asyncProperty(disturbances(45), async (changes) => {
      const notes = await createNotes(testbed, 45);
      const changing = disturb(notes, changes);
      const { shown, received } = await pageThrough(notes.token, {}, changing.next);
      expect(changing.faults(received)).toEqual([]);
      expect(shown).toEqual(received);
    });
    await fc.assert(walk, { numRuns: 12 });
  });

  test('pages through the notes of one tag while notes are inserted and deleted', async () => {
    const walk = fc.asyncProperty(disturbances(45), async (changes) => {
      const notes = await createNotes(testbed, 45);
      const changing = disturb(notes, changes);
      const { shown, received } = await pageThrough(notes.token, { filter: { tag: 'SHELF' } }, changing.next);
      expect(changing.faults(received)).toEqual([]);
      expect(shown).toEqual(received);
    });
    await fc.assert(walk, { numRuns: 4 });
  });
});
