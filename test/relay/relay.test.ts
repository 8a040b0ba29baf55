import fc from 'fast-check';
import {
  commitMutation,
  ConnectionHandler,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getSingularSelector,
  Network,
  RecordSource,
  Store,
  type ConcreteRequest,
  type Variables,
} from 'relay-runtime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';
import { compile, type Artifacts } from './compile.js';
import { disturb, createNotes } from './changing-notes.js';
import { disturbances } from './disturbances.js';

let testbed: Testbed;
let artifacts: Artifacts;

beforeAll(async () => {
  testbed = await startTestbed();
  const sdl = await fetch(`${testbed.url}/schema.graphql`);
  artifacts = await compile(await sdl.text());
});

afterAll(() => testbed.stop());

/**
 * A Relay client; `answers` are those received over the network, before the store merges them into lists. What is
 * `received` may be changed before that.
 */
function createRelay(token: string, received: (data: Answer) => void = () => {}) {
  const answers: { readonly name: string; readonly data: Answer }[] = [];
  const network = Network.create(async ({ name, text }, variables) => {
    const { data, errors } = await testbed.ask(text ?? '', variables, token);
    expect(errors).toBeUndefined();
    received(data);
    answers.push({ name, data });
    return { data };
  });
  const environment = new Environment({ network, store: new Store(new RecordSource()) });

  async function load(request: ConcreteRequest, variables: Variables): Promise<unknown> {
    const operation = createOperationDescriptor(request, variables);
    environment.retain(operation);
    await fetchQuery(environment, request, variables).toPromise();
    const { data, isMissingData } = environment.lookup(operation.fragment);
    expect(isMissingData).toBe(false);
    return data;
  }

  /** The list as a component with this fragment shows it. */
  function shown(fragment: string, parent: unknown): Connection {
    const selector = getSingularSelector(artifacts.fragment(fragment), parent);
    const { data, isMissingData } = environment.lookup(selector);
    expect(isMissingData).toBe(false);
    return (data as { readonly notes: Connection }).notes;
  }

  function commit(mutation: string, variables: Variables): Promise<unknown> {
    return new Promise((onCompleted, onError) => {
      commitMutation(environment, {
        mutation: artifacts.operation(mutation),
        variables,
        onCompleted,
        onError,
      });
    });
  }

  return { answers, load, shown, commit };
}

interface Connection {
  readonly edges: readonly { readonly node: { readonly id: string } }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

// oxlint-disable-next-line typescript/no-explicit-any -- the shape is the documents' own
type Answer = any;

const upstreamId = (id: string) => (JSON.parse(Buffer.from(id, 'base64url').toString()) as string[])[1]!;
const idsOf = ({ edges }: Connection) => edges.map(({ node }) => upstreamId(node.id));

/** Pages to the end as Relay's pagination fragments do; returns the rows that are shown, and those received. */
async function pageThrough(token: string, variables: Variables, between: () => void) {
  const relay = createRelay(token);
  const parent = await relay.load(artifacts.operation('ScreenNotesQuery'), variables);
  const list = () => relay.shown('ScreenNotes_query', parent);
  for (let pages = 1; list().pageInfo.hasNextPage; pages++) {
    expect(pages).toBeLessThan(100);
    between();
    const cursor = list().pageInfo.endCursor;
    await relay.load(artifacts.operation('ScreenNotesPageQuery'), { ...variables, cursor });
  }
  return { shown: idsOf(list()), received: relay.answers.flatMap(({ data }) => idsOf(data.notes)) };
}

describe('the compiler', () => {
  test('accepts the schema, with connections, refetchable fragments and edges for the store', () => {
    expect(artifacts.report).toContain('Compilation completed');
    expect(artifacts.operation('ScreenTagPageQuery').params.text).toContain('node(id: $id)');
  });

  test('rejects a field that the schema does not have', async () => {
    const sdl = await (await fetch(`${testbed.url}/schema.graphql`)).text();
    const documents = 'query ScreenWrongQuery { viewer { shoeSize } }';
    await expect(compile(sdl, documents)).rejects.toThrow(/shoeSize/);
  });
});

describe('the runtime', () => {
  test('pages through all notes while notes are inserted and deleted', async () => {
    const walk = fc.asyncProperty(disturbances(45), async (changes) => {
      const notes = await createNotes(testbed, 45);
      const changing = disturb(notes, changes);
      const { shown, received } = await pageThrough(notes.token, { count: 7 }, changing.next);
      expect(changing.faults(received)).toEqual([]);
      expect(shown).toEqual(received);
    });
    await fc.assert(walk, { numRuns: 12 });
  });

  test('keeps the lists of two filters apart', async () => {
    const { token } = await createNotes(testbed, 9);
    const relay = createRelay(token);
    const query = artifacts.operation('ScreenNotesQuery');
    const all = await relay.load(query, { count: 7, filter: null });
    const pinned = await relay.load(query, { count: 7, filter: { pinned: true } });
    expect(relay.shown('ScreenNotes_query', all).edges).toHaveLength(7);
    expect(relay.shown('ScreenNotes_query', pinned).edges).toEqual([]);
  });

  test('pages within an object that it refetches by id', async () => {
    const notes = await createNotes(testbed, 20);
    const relay = createRelay(notes.token);
    const tags = (await relay.load(artifacts.operation('ScreenTagsQuery'), { first: 5 })) as {
      readonly tags: { readonly edges: readonly { readonly node: { readonly id: string } }[] };
    };
    const [tag] = tags.tags.edges;
    const list = () => relay.shown('ScreenTag_tag', tag!.node);
    while (list().pageInfo.hasNextPage) {
      const cursor = list().pageInfo.endCursor;
      await relay.load(artifacts.operation('ScreenTagPageQuery'), { id: tag!.node.id, count: 7, cursor });
    }
    expect(relay.answers).toHaveLength(3);
    const ids = relay.answers.flatMap(({ data }) => idsOf((data.tags?.edges[0].node ?? data.node).notes));
    expect(ids).toEqual(notes.originals);
    expect(list().edges).toHaveLength(20);
  });

  test('prepends a new note to the list, removes a deleted one, and continues to page', async () => {
    const notes = await createNotes(testbed, 20);
    const relay = createRelay(notes.token);
    const parent = await relay.load(artifacts.operation('ScreenNotesQuery'), { count: 7 });
    const list = () => relay.shown('ScreenNotes_query', parent);
    const connections = [ConnectionHandler.getConnectionID('client:root', 'ScreenNotes_notes', {})];
    await relay.commit('ScreenCreateNoteMutation', {
      input: { title: 'New', content: 'Words.' },
      connections,
    });
    expect(list().edges).toHaveLength(8);
    const [created, , deleted] = list().edges;
    expect(relay.answers.at(-1)?.data.createNote.noteEdge.node.id).toBe(created!.node.id);
    await relay.commit('ScreenDeleteNoteMutation', { input: { id: deleted!.node.id }, connections });
    expect(list().edges).toHaveLength(7);
    while (list().pageInfo.hasNextPage)
      await relay.load(artifacts.operation('ScreenNotesPageQuery'), {
        count: 7,
        cursor: list().pageInfo.endCursor,
      });
    const gone = upstreamId(deleted!.node.id);
    expect(idsOf(list())).toEqual([
      upstreamId(created!.node.id),
      ...notes.originals.filter((id) => id !== gone),
    ]);
  });

  test('fetches an object by its global id', async () => {
    const token = await testbed.signIn(demo);
    await testbed.sandbox.webhooks.emitShipment({ type: 'shipment.created', shipment: { id: 'shp_relay' } });
    const { data } = await testbed.ask('{ shipment(shipmentId: "shp_relay") { id } }', {}, token);
    const relay = createRelay(token);
    const node = await relay.load(artifacts.operation('ScreenNodeQuery'), { id: data.shipment.id });
    expect(node).toMatchObject({ node: { __typename: 'Shipment' } });
    expect(relay.answers[0]?.data.node).toMatchObject({ stage: 'CREATED', events: { edges: [{}] } });
  });
});
