import { ApolloServer } from '@apollo/server';
import { composeServices } from '@apollo/composition';
import { ApolloGateway, LocalGraphQLDataSource, RemoteGraphQLDataSource } from '@apollo/gateway';
import { readFileSync } from 'node:fs';
import { buildSchema, isObjectType, parse, type GraphQLSchema } from 'graphql';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSchema } from '../support/schema.js';
import { allGrants, codesOf, demo, startTestbed, type Testbed } from '../support/testbed.js';

const nobody = { email: 'nobody@example.com', password: 'word' };
const entities = `query ($representations: [_Any!]!) { entities: _entities(representations: $representations) {
  __typename
  ... on Shipment { id shipmentId stage } ... on Payment { id paymentId } ... on Note { id title }
  ... on User { email } ... on Tag { name } } }`;

let testbed: Testbed;
let token: string;
let stranger: string;
/** The notes, shipments and payments that there are, by id. */
// oxlint-disable-next-line typescript/no-explicit-any -- a test reads whatever shape its own query asks for
let known: any;

beforeAll(async () => {
  testbed = await startTestbed({ settings: { GRANTS: JSON.stringify({ [demo.email]: allGrants }) } });
  testbed.sandbox.notes.addUser({ ...nobody, name: 'Nobody' });
  token = await testbed.signIn();
  stranger = await testbed.signIn(nobody);
  for (const id of ['shp_a', 'shp_b']) await testbed.sandbox.webhooks.emitShipment({ shipment: { id } });
  await testbed.sandbox.webhooks.emitPayment();
  const { data } = await testbed.ask(
    `{ viewer { id } notes(first: 3) { nodes { id title } } tags(first: 1) { nodes { id name } }
       shipments { nodes { id shipmentId } } payments { nodes { id paymentId } } }`,
    {},
    token,
  );
  known = data;
});
afterAll(() => testbed.stop());

const resolve = (representations: readonly unknown[], session: string | undefined = token) =>
  testbed.ask(entities, { representations }, session);

describe('_service', () => {
  test('has the schema that the command writes, with exactly the keys that are promised', async () => {
    const { data } = await testbed.ask('{ service: _service { sdl } }');
    const { sdl } = data.service;
    expect(sdl).toBe(readFileSync('src/generated/subgraph.graphql', 'utf8'));
    const keys = [...sdl.matchAll(/^type (\w+)[^{\n]*?((?: @key\(fields: "\w+"\))+)/gm)].map(
      ([, type, found]: string[]) => [type, found!.trim()],
    );
    const id = '@key(fields: "id")';
    const { Node } = nodesOf(createSchema());
    expect(Object.fromEntries(keys)).toEqual({
      ...Object.fromEntries(Node.map((type) => [type, id])),
      Shipment: `${id} @key(fields: "shipmentId")`,
      Payment: `${id} @key(fields: "paymentId")`,
    });
    expect(sdl).toMatch(/^type PageInfo @shareable \{$/m);
    expect(sdl.match(/@inaccessible @shareable$/gm)).toHaveLength(2);
    expect(sdl).not.toMatch(/_entities|_service|_Any/);
  });

  test('and _entities are shown by introspection, and left out of /schema.graphql', async () => {
    const { data } = await testbed.ask('{ schema: __schema { queryType { fields { name } } } }');
    expect(data.schema.queryType.fields.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['_service', '_entities']),
    );
    const sdl = await (await fetch(`${testbed.url}/schema.graphql`)).text();
    expect(sdl).not.toMatch(/_entities|_service|_Any|_Entity|_Service/);
    expect(buildSchema(sdl).getType('Shipment')).toBeDefined();
  });

  test('is for signed-in callers only without introspection', async () => {
    const hidden = await startTestbed({ settings: { INTROSPECTION: 'off' }, sandbox: testbed.sandbox });
    try {
      expect(codesOf(await hidden.ask('{ service: _service { sdl } }'))).toEqual(['UNAUTHENTICATED']);
      const session = await hidden.signIn();
      expect((await hidden.ask('{ service: _service { sdl } }', {}, session)).data.service.sdl).toContain(
        '@key',
      );
    } finally {
      await hidden.stop();
      testbed.sandbox.deliverTo(testbed.url);
    }
  });
});

function nodesOf(schema: GraphQLSchema) {
  const types = Object.values(schema.getTypeMap()).filter(isObjectType);
  const Node = types.filter((type) => type.getInterfaces().some(({ name }) => name === 'Node'));
  return { Node: Node.map(({ name }) => name) };
}

describe('_entities', () => {
  test('may be every Node', () => {
    const schema = createSchema();
    const union = schema.getPossibleTypes(schema.getType('_Entity') as never).map(({ name }) => name);
    expect(union.toSorted()).toEqual(nodesOf(schema).Node.toSorted());
  });

  test('are found by each of their keys, in order', async () => {
    const [note] = known.notes.nodes;
    const [tag] = known.tags.nodes;
    const [shipment] = known.shipments.nodes;
    const [payment] = known.payments.nodes;
    const { data, errors } = await resolve([
      { __typename: 'Payment', paymentId: payment.paymentId },
      { __typename: 'Shipment', shipmentId: 'shp_a' },
      { __typename: 'Note', id: note.id },
      { __typename: 'Shipment', id: shipment.id },
      { __typename: 'Payment', id: payment.id },
      { __typename: 'Tag', id: tag.id },
      { __typename: 'User', id: known.viewer.id },
    ]);
    expect(errors).toBeUndefined();
    expect(data.entities).toMatchObject([
      { __typename: 'Payment', ...payment },
      { __typename: 'Shipment', shipmentId: 'shp_a', stage: 'CREATED' },
      { __typename: 'Note', ...note },
      { __typename: 'Shipment', ...shipment },
      { __typename: 'Payment', ...payment },
      { __typename: 'Tag', name: tag.name },
      { __typename: 'User', email: demo.email },
    ]);
  });

  test('need a session, and are null for those who may not see them', async () => {
    const representations = [
      { __typename: 'Shipment', shipmentId: 'shp_a' },
      { __typename: 'Payment', id: known.payments.nodes[0].id },
      { __typename: 'Note', id: known.notes.nodes[0].id },
      { __typename: 'User', id: known.viewer.id },
    ];
    expect(codesOf(await testbed.ask(entities, { representations }))).toEqual(['UNAUTHENTICATED']);
    const { data, errors } = await resolve(representations, stranger);
    expect(errors).toBeUndefined();
    expect(data.entities).toEqual([null, null, null, null]);
  });

  test('are null for what does not exist, or is of another type', async () => {
    const { data, errors } = await resolve([
      { __typename: 'Shipment', shipmentId: 'none' },
      { __typename: 'Shipment', id: known.notes.nodes[0].id },
      { __typename: 'Note', id: 'none' },
    ]);
    expect(errors).toBeUndefined();
    expect(data.entities).toEqual([null, null, null]);
  });

  test('that are no representations are errors of their own', async () => {
    const bad = [
      { __typename: 'PageInfo', id: 'a' },
      { __typename: 'toString', id: 'a' },
      { __typename: 'Note' },
      { __typename: 'Shipment', shipmentId: 7 },
      'Shipment',
    ];
    const answer = await resolve([...bad, { __typename: 'Shipment', shipmentId: 'shp_b' }]);
    expect(codesOf(answer)).toEqual(bad.map(() => 'BAD_USER_INPUT'));
    expect(answer.errors?.map(({ path }) => path)).toEqual(bad.map((_, at) => ['entities', at]));
    expect(answer.data.entities.at(-1)).toMatchObject({ shipmentId: 'shp_b' });
  });

  test('that fail are errors of their own up to a thousand, and refuse the whole query beyond', async () => {
    const query = (times: number) =>
      `query ($some: [_Any!]!) { ${Array.from({ length: times }, (_, at) => `e${at}: _entities(representations: $some) { __typename }`).join(' ')} }`;
    const some = Array.from({ length: 1_000 }, (_, at) => at);
    expect(codesOf(await testbed.ask(query(1), { some }, token)).length).toBe(1_000);
    for (let time = 0; time < 3; time += 1)
      expect(codesOf(await testbed.ask(query(49), { some }, token))).toEqual(['QUERY_TOO_COMPLEX']);
  });

  test.each([
    [1_001, 'BAD_USER_INPUT'],
    [10_000, 'QUERY_TOO_COMPLEX'],
  ])('of %i representations are refused', async (length, code) => {
    const representations = Array.from({ length }, () => ({ __typename: 'Shipment', shipmentId: 'shp_a' }));
    const answer = await resolve(representations);
    expect(codesOf(answer)).toEqual([code]);
    expect(answer.data ?? null).toBeNull();
  });

  test('cost as few calls as nodes', async () => {
    const ids: string[] = known.notes.nodes.map(({ id }: { id: string }) => id);
    const calls = () => testbed.sandbox.calls.length;
    const cost = async (query: string, variables: object) => {
      const session = await testbed.signIn();
      const before = calls();
      expect((await testbed.ask(query, variables, session)).errors).toBeUndefined();
      return calls() - before;
    };
    const asNodes = await cost('query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on Note { title } } }', {
      ids,
    });
    const representations = ids.map((id) => ({ __typename: 'Note', id }));
    expect(await cost(entities, { representations })).toBe(asNodes);
  });
});

describe('a supergraph', () => {
  const reviews = {
    name: 'reviews',
    url: 'http://reviews.example',
    typeDefs: parse(`
      extend schema @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key"])
      type Shipment @key(fields: "shipmentId") { shipmentId: String! complaint: String! }
      type Payment @key(fields: "paymentId") { paymentId: String! approvedBy: User }
      type User @key(fields: "id") { id: ID! badge: String! }
      type Query { complaints: [Shipment!]! }
    `),
  };
  const badges = makeExecutableSchema({
    typeDefs: `
      scalar _Any union _Entity = Shipment | Payment | User
      type Shipment { shipmentId: String! complaint: String! }
      type Payment { paymentId: String! approvedBy: User }
      type User { id: ID! badge: String! }
      type Query { complaints: [Shipment!]! _entities(representations: [_Any!]!): [_Entity]! }
    `,
    resolvers: {
      Query: {
        complaints: () => ['shp_a', 'shp_b', 'none'].map((shipmentId) => ({ shipmentId })),
        _entities: (_: unknown, { representations }: { representations: object[] }) => representations,
      },
      _Entity: { __resolveType: ({ __typename }: { __typename: string }) => __typename },
      Shipment: { complaint: ({ shipmentId }: { shipmentId: string }) => `${shipmentId} is late` },
      Payment: { approvedBy: () => ({ id: known.viewer.id }) },
      User: { badge: ({ id }: { id: string }) => `badge of ${id}` },
    },
  });

  class Trivium extends RemoteGraphQLDataSource {
    override willSendRequest({
      request,
      context,
    }: Parameters<NonNullable<RemoteGraphQLDataSource['willSendRequest']>>[0]) {
      const { authorization } = context as { authorization?: string };
      if (authorization) request.http?.headers.set('authorization', authorization);
    }
  }

  let router: ApolloServer;

  beforeAll(async () => {
    const { data } = await testbed.ask('{ service: _service { sdl } }');
    const trivium = { name: 'trivium', url: `${testbed.url}/graphql`, typeDefs: parse(data.service.sdl) };
    const { errors, supergraphSdl } = composeServices([trivium, reviews]);
    if (errors) throw new AggregateError(errors, 'The subgraphs do not compose.');
    const gateway = new ApolloGateway({
      supergraphSdl,
      buildService: ({ name, url }) =>
        name === 'trivium' ? new Trivium({ url: url! }) : new LocalGraphQLDataSource(badges),
    });
    router = new ApolloServer({ gateway });
    await router.start();
  });
  afterAll(() => router.stop());

  async function ask(query: string, session?: string) {
    const contextValue = { authorization: session && `Bearer ${session}` };
    const { body } = await router.executeOperation({ query }, { contextValue });
    if (body.kind !== 'single') throw new Error('The answer comes in parts.');
    // oxlint-disable-next-line typescript/no-explicit-any -- a test reads whatever shape its own query asks for
    return body.singleResult as { data?: any; errors?: readonly { message: string; extensions: any }[] };
  }

  test('adds fields of another subgraph to shipments, payments and users', async () => {
    const { data, errors } = await ask(
      `{ viewer { email badge } payments { nodes { paymentId approvedBy { badge email } } } shipment(shipmentId: "shp_a") { stage complaint } }`,
      token,
    );
    expect(errors).toBeUndefined();
    const badge = `badge of ${known.viewer.id}`;
    const [{ paymentId }] = known.payments.nodes;
    expect(data).toMatchObject({
      viewer: { email: demo.email, badge },
      payments: { nodes: [{ paymentId, approvedBy: { badge, email: demo.email } }] },
      shipment: { stage: 'CREATED', complaint: 'shp_a is late' },
    });
  });

  test('finds what another subgraph names, for those who may see it', async () => {
    const query = '{ complaints { shipmentId status complaint } }';
    const named = (status: unknown) => ['shp_a', 'shp_b'].map((shipmentId) => ({ shipmentId, status }));
    expect((await ask(query, token)).data.complaints).toMatchObject([
      ...named('created'),
      { shipmentId: 'none', status: null },
    ]);
    expect((await ask(query, stranger)).data.complaints).toMatchObject([
      ...named(null),
      { shipmentId: 'none', status: null },
    ]);
    const { errors } = await ask(query);
    expect(errors?.map(({ extensions }) => extensions.code)).toContain('UNAUTHENTICATED');
  });

  test('writes, with what can be mended as data, and fields of another subgraph in the payload', async () => {
    const signedIn = await ask(
      `mutation { signIn(input: { email: "${demo.email}", password: "${demo.password}" })
        { sessionToken viewer { email badge } errors { code } } }`,
    );
    expect(signedIn).toMatchObject({
      data: { signIn: { viewer: { email: demo.email, badge: `badge of ${known.viewer.id}` }, errors: [] } },
    });
    const own = signedIn.data.signIn.sessionToken;
    const create = (content: string) =>
      `createNote(input: { title: "Routed", content: "${content}" }) { note { id title } errors { code path } }`;
    const { data } = await ask(`mutation { a: ${create('Text')} b: ${create('x'.repeat(10_001))} }`, own);
    expect(data).toMatchObject({
      a: { note: { title: 'Routed' }, errors: [] },
      b: { note: null, errors: [{ code: 'TOO_LONG', path: ['content'] }] },
    });
    const remove = `mutation { deleteNote(input: { id: "${data.a.note.id}" }) { deletedNoteId } }`;
    expect((await ask(remove)).errors?.map(({ extensions }) => extensions.code)).toContain('UNAUTHENTICATED');
    expect((await ask(remove, own)).data.deleteNote.deletedNoteId).toBe(data.a.note.id);
    expect((await ask('mutation { signOut { signedOut } }', own)).data.signOut.signedOut).toBe(true);
    expect((await ask('{ viewer { email } }', own)).data.viewer).toBeNull();
  });

  test('composes beside a subgraph that has `node`, too', async () => {
    const { data } = await testbed.ask('{ service: _service { sdl } }');
    const typeDefs = parse(`extend schema
        @link(url: "https://specs.apollo.dev/federation/v2.0", import: ["@key", "@shareable"])
      type Query { node(id: ID!): Node @shareable }
      interface Node { id: ID! }
      type Parcel implements Node @key(fields: "id") { id: ID! }`);
    const subgraphs = [
      { name: 'trivium', typeDefs: parse(data.service.sdl) },
      { name: 'parcels', typeDefs },
    ];
    expect(composeServices(subgraphs).errors ?? []).toEqual([]);
  });

  test('composes subscriptions, which Apollo’s gateway does not run', async () => {
    const { errors, data } = await ask('subscription { shipmentUpdates { cursor } }', token);
    expect([data, errors?.map(({ message }) => message)]).toEqual([
      undefined,
      ['Execution of subscriptions not supported by gateway'],
    ]);
  });

  test('hides node and nodes', async () => {
    const { errors } = await ask('{ node(id: "a") { id } }', token);
    expect(errors?.map(({ message }) => message)).toEqual([
      expect.stringContaining('Cannot query field "node"'),
    ]);
  });
});
