import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { generatePersistedQueryIdsFromManifest } from '@apollo/persisted-query-lists';
import {
  Client,
  fetchExchange,
  subscriptionExchange,
  type OperationResult,
  type TypedDocumentNode,
} from '@urql/core';
import { persistedExchange } from '@urql/exchange-persisted';
import { parse, print } from 'graphql';
import {
  Environment,
  fetchQuery,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
  type ConcreteRequest,
  type GraphQLResponse,
} from 'relay-runtime';
import WebSocket from 'ws';
import { pipe, subscribe } from 'wonka';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createApolloClient } from '../../../src/client/apollo/apollo.js';
import { createTrivium, type Trivium } from '../../../src/client/core/trivium.js';
import {
  NotesDocument,
  ShipmentsDocument,
  ShipmentUpdatesDocument,
  SignInDocument,
} from '../../../src/client/generated/index.js';
import { createRelayEnvironment } from '../../../src/client/relay/relay.js';
import { createUrqlClient } from '../../../src/client/urql/urql.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'trivium-'));
const query = 'query MineQuery { viewer { email } }';
const subscription =
  'subscription MineSubscription($after: String) { shipmentUpdates(after: $after) { cursor shipment { shipmentId } } }';
const own =
  'query OwnQuery { viewer { ...Mine } } fragment Mine on User { ...Called } fragment Called on User { name }';

const files = {
  'package.json': '{}',
  'src/mine.graphql': query,
  'src/updates.graphql': subscription,
  'own/own.graphql': own,
  'relay/Mine.js': `graphql\`${query}\`;\ngraphql\`${subscription}\`;\n`,
  'relay/persisted.json': '{}',
  'codegen.json': JSON.stringify({
    schema: 'schema.graphql',
    documents: 'src/*.graphql',
    generates: {
      'codegen/': { preset: 'client', presetConfig: { persistedDocuments: { hashAlgorithm: 'sha256' } } },
      'own/own.ts': { documents: 'own/*.graphql', plugins: ['typescript-operations', 'typed-document-node'] },
    },
  }),
  'relay.config.json': JSON.stringify({
    src: './relay',
    schema: './schema.graphql',
    language: 'javascript',
    eagerEsModules: false,
    persistConfig: { file: './relay/persisted.json', algorithm: 'MD5' },
  }),
};

const programOf = (name: string, path: string) =>
  join(dirname(require.resolve(`${name}/package.json`)), path);
const read = (path: string) => JSON.parse(readFileSync(join(folder, path), 'utf8'));
const tool = (program: string, ...args: string[]) =>
  run(process.execPath, [program, ...args], { cwd: folder });

interface ApolloManifest {
  readonly operations: { readonly id: string; readonly name: string; readonly body: string }[];
}

let testbed: Testbed;
let token: string;

/** One manifest of what the tools of all three clients wrote, and of `npm run documents`. */
beforeAll(async () => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  copyFileSync('src/generated/schema.graphql', join(folder, 'schema.graphql'));
  await tool(programOf('@apollo/generate-persisted-query-manifest', 'cli.js'));
  await tool(programOf('@graphql-codegen/cli', 'cjs/bin.js'), '--config', 'codegen.json');
  await tool(require.resolve('relay-compiler/cli.js'), 'relay.config.json');
  const { stdout } = await tool(resolve('.ci/documents.js'), join(folder, 'own'));
  const { operations } = read('persisted-query-manifest.json') as ApolloManifest;
  const manifest = {
    ...Object.fromEntries(operations.map(({ id, body }) => [id, body])),
    ...read('codegen/persisted-documents.json'),
    ...read('relay/persisted.json'),
    ...JSON.parse(stdout),
  };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  testbed = await startTestbed({ settings: { TRUSTED_DOCUMENTS: join(folder, 'manifest.json') } });
  const { data } = await testbed.ask(print(SignInDocument), demo);
  token = data.signIn.sessionToken;
});
afterAll(async () => {
  await testbed.stop();
  rmSync(folder, { recursive: true });
});

interface Mine {
  readonly viewer: { readonly email: string } | null;
}
interface Update {
  readonly shipmentUpdates: { readonly shipment: { readonly shipmentId: string } };
}

/** Fetches as who is signed in, and keeps what was sent. */
function recordingFetch(): { readonly sent: string[]; readonly fetch: typeof fetch } {
  const sent: string[] = [];
  return {
    sent,
    fetch(url, init) {
      sent.push(`${url as string} ${init?.body as string}`);
      const headers = new Headers(init?.headers);
      headers.set('authorization', `Bearer ${token}`);
      return fetch(url, { ...init, headers });
    },
  };
}

/** Emits an event as soon as somebody has subscribed, and returns the shipment of the first update. */
async function firstShipment(
  follow: (next: (update: Update) => void, fail: (error: Error) => void) => () => void,
): Promise<string> {
  let stop = () => {};
  const first = new Promise<Update>((next, fail) => (stop = follow(next, fail)));
  const emitting = setInterval(
    () => void testbed.sandbox.webhooks.emitShipment({ shipment: { id: 'shp_trusted' } }),
    100,
  );
  const { shipmentUpdates } = await first.finally(() => {
    clearInterval(emitting);
    stop();
  });
  return shipmentUpdates.shipment.shipmentId;
}

/** What the ids stand for was not sent. */
function expectOnlyIds(sent: readonly string[]): void {
  expect(sent.length).toBeGreaterThan(0);
  for (const text of sent) expect(text).not.toMatch(/viewer|shipmentUpdates/);
}

test("Apollo Client, with its persisted-query link and its manifest's ids, over HTTP and multipart", async () => {
  const { sent, fetch: recorded } = recordingFetch();
  const manifest = read('persisted-query-manifest.json') as ApolloManifest;
  const ids = generatePersistedQueryIdsFromManifest({ loadManifest: () => manifest });
  const http = new HttpLink({ uri: `${testbed.url}/graphql`, fetch: recorded });
  const link = ApolloLink.from([new PersistedQueryLink(ids), http]);
  const apollo = new ApolloClient({ link, cache: new InMemoryCache() });
  onTestFinished(() => apollo.stop());
  const mine: TypedDocumentNode<Mine, object> = parse(query);
  const { data } = await apollo.query({ query: mine });
  expect(data?.viewer?.email).toBe(demo.email);
  const shipment = await firstShipment((next) => {
    const updates = apollo.subscribe<Update>({ query: parse(subscription) });
    const following = updates.subscribe(({ data: update }) => update && next(update));
    return () => following.unsubscribe();
  });
  expect(shipment).toBe('shp_trusted');
  expectOnlyIds(sent);
  const other = apollo.query({ query: parse('query OtherQuery { viewer { id } }') });
  await expect(other).rejects.toThrow(/OtherQuery/);
});

test.each([
  ['beside the text, which the link always sends', (text: string) => text],
  ['in place of the text, taken out on the way', () => ''],
])("Apollo Client, with its websocket link and its manifest's ids %s", async (_, sendAs) => {
  const manifest = read('persisted-query-manifest.json') as ApolloManifest;
  const ids = generatePersistedQueryIdsFromManifest({ loadManifest: () => manifest });
  const socket = testbed.socket(token);
  onTestFinished(() => socket.dispose());
  const messages: unknown[] = [];
  const client: Pick<typeof socket, 'subscribe'> = {
    subscribe(payload, sink) {
      const sent = { ...payload, query: sendAs(payload.query) };
      messages.push(sent);
      return socket.subscribe(sent, sink);
    },
  };
  const link = ApolloLink.from([new PersistedQueryLink(ids), new GraphQLWsLink({ ...socket, ...client })]);
  const apollo = new ApolloClient({ link, cache: new InMemoryCache() });
  onTestFinished(() => apollo.stop());
  const shipment = await firstShipment((next) => {
    const updates = apollo.subscribe<Update>({ query: parse(subscription) });
    const following = updates.subscribe(({ data: update }) => update && next(update));
    return () => following.unsubscribe();
  });
  expect(shipment).toBe('shp_trusted');
  const { id, body } = manifest.operations.find(({ name }) => name === 'MineSubscription')!;
  expect(messages).toMatchObject([
    { query: sendAs(body), extensions: { persistedQuery: { sha256Hash: id } } },
  ]);
});

test('urql, with its persisted exchange and the ids of Code Generator, over HTTP and a websocket', async () => {
  const { sent, fetch: recorded } = recordingFetch();
  const generated = (await import(join(folder, 'codegen/graphql.ts'))) as {
    readonly MineQueryDocument: TypedDocumentNode<Mine, object>;
    readonly MineSubscriptionDocument: TypedDocumentNode<Update, object>;
  };
  const socket = testbed.socket(token);
  onTestFinished(() => socket.dispose());
  const messages: unknown[] = [];
  const urql = new Client({
    url: `${testbed.url}/graphql`,
    fetch: recorded,
    exchanges: [
      persistedExchange({
        enforcePersistedQueries: true,
        enableForSubscriptions: true,
        preferGetForPersistedQueries: false,
        generateHash: async (_, document) =>
          // oxlint-disable-next-line no-underscore-dangle -- Code Generator's name
          (document as unknown as { readonly __meta__: { readonly hash: string } }).__meta__.hash,
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription({ query: text = '', variables = {}, extensions }) {
          messages.push(text);
          const payload = { query: text, variables, extensions: extensions ?? null };
          return { subscribe: (sink) => ({ unsubscribe: socket.subscribe(payload, sink as never) }) };
        },
      }),
    ],
  });
  const { data } = await urql.query(generated.MineQueryDocument, {});
  expect(data?.viewer?.email).toBe(demo.email);
  const shipment = await firstShipment((next) => {
    const updates = urql.subscription(generated.MineSubscriptionDocument, {});
    const following = pipe(
      updates,
      subscribe(({ data: update }) => update && next(update)),
    );
    return following.unsubscribe;
  });
  expect(shipment).toBe('shp_trusted');
  expectOnlyIds(sent);
  expect(messages).toEqual(['']);
});

const artifact = (name: string) =>
  require(join(folder, 'relay/__generated__', `${name}.graphql.js`)) as ConcreteRequest;

test('Relay, with the ids of its compiler as `documentId`, over HTTP and a websocket', async () => {
  const { sent, fetch: recorded } = recordingFetch();
  const socket = testbed.socket(token);
  onTestFinished(() => socket.dispose());
  const network = Network.create(
    async ({ id }, variables) => {
      const body = JSON.stringify({ documentId: id, variables });
      const headers = { 'content-type': 'application/json' };
      const response = await recorded(`${testbed.url}/graphql`, { method: 'POST', headers, body });
      return (await response.json()) as GraphQLResponse;
    },
    ({ id }, variables) =>
      Observable.create<GraphQLResponse>((sink) => {
        const payload = { query: '', documentId: id, variables };
        return socket.subscribe(payload, {
          next: (result) => sink.next(result as GraphQLResponse),
          error: (error) => sink.error(error as Error),
          complete: () => sink.complete(),
        });
      }),
  );
  const relay = new Environment({ network, store: new Store(new RecordSource()) });
  const data = await fetchQuery(relay, artifact('MineQuery'), {}).toPromise();
  expect(data).toMatchObject({ viewer: { email: demo.email } });
  const shipment = await firstShipment((next) => {
    const config = { subscription: artifact('MineSubscription'), variables: {} };
    const onNext = (update: unknown) => next(update as Update);
    return requestSubscription(relay, { ...config, onNext }).dispose;
  });
  expect(shipment).toBe('shp_trusted');
  expectOnlyIds(sent);
});

function connect(webSocketImpl: unknown = WebSocket): Trivium {
  const trivium = createTrivium({ url: testbed.url, token, webSocketImpl });
  onTestFinished(() => trivium.dispose());
  return trivium;
}

test('the client package: its own operations, and those of a manifest by `npm run documents`', async () => {
  const trivium = connect();
  expect((await trivium.refresh()).viewer?.email).toBe(demo.email);
  const { notes } = await trivium.query(NotesDocument, { first: 2 });
  expect(notes.edges).toHaveLength(2);
  expect(await trivium.query(parse(own) as TypedDocumentNode, {})).toHaveProperty('viewer.name');
  const shipment = await firstShipment((next) =>
    trivium.subscribe(
      ShipmentUpdatesDocument,
      {},
      { next: ({ data }) => next(data as Update), error: () => {}, complete() {} },
    ),
  );
  expect(shipment).toBe('shp_trusted');
  const stranger = trivium.query(parse('{ viewer { id } }'), {});
  await expect(stranger).rejects.toMatchObject({ code: 'DOCUMENT_NOT_TRUSTED' });
});

test("an app's operations as Code Generator has them, with the fragments in another order", async () => {
  const { OwnQueryDocument } = (await import(join(folder, 'own/own.ts'))) as {
    readonly OwnQueryDocument: TypedDocumentNode<Mine, object>;
  };
  expect(print(OwnQueryDocument)).not.toBe(print(parse(own)));
  expect(await connect().query(OwnQueryDocument, {})).toHaveProperty('viewer.name');
  const apollo = createApolloClient(connect());
  onTestFinished(() => apollo.stop());
  const urql = createUrqlClient(connect());
  const { data } = await apollo.query({ query: OwnQueryDocument, variables: {} });
  expect(data).toHaveProperty('viewer.name');
  expect((await urql.query(OwnQueryDocument, {})).data).toHaveProperty('viewer.name');
});

test('the entries of the client package run its own operations and the app’s, with the `__typename` that they add', async () => {
  const apollo = createApolloClient(connect());
  onTestFinished(() => apollo.stop());
  const urql = createUrqlClient(connect());
  for (const document of [NotesDocument, ShipmentsDocument]) {
    const request = { query: document as TypedDocumentNode<unknown, object>, variables: { first: 1 } };
    const { error } = await apollo.query(request);
    expect(error).toBeUndefined();
    expect((await urql.query<unknown, object>(document, { first: 1 })).error).toBeUndefined();
  }
  const mine: TypedDocumentNode<unknown, object> = parse(own);
  expect((await apollo.query({ query: mine, variables: {} })).error).toBeUndefined();
  expect((await urql.query<unknown, object>(mine, {})).error).toBeUndefined();
});

/** Asks for an upgrade where there is none, so that the client package falls back to streams. */
class Unopened extends WebSocket {
  constructor(url: string, protocols: string) {
    super(url.replace('/graphql', '/livez'), protocols);
  }
}

describe.each([
  ['a websocket', WebSocket],
  ['a stream', Unopened],
])("the client package's entries subscribe over %s", (_, webSocketImpl) => {
  const followed: readonly (readonly [name: string, document: TypedDocumentNode<unknown, object>])[] = [
    ['its own operation', ShipmentUpdatesDocument],
    ["the app's", parse(subscription)],
  ];

  test.each(followed)('by Apollo Client, to %s', async (__, document) => {
    const apollo = createApolloClient(connect(webSocketImpl));
    onTestFinished(() => apollo.stop());
    const shipment = await firstShipment((next, fail) => {
      const following = apollo
        .subscribe({ query: document, variables: {} })
        .subscribe(({ data, error }) => (error ? fail(error) : next(data as Update)));
      return () => following.unsubscribe();
    });
    expect(shipment).toBe('shp_trusted');
  });

  test.each(followed)('by urql, to %s', async (__, document) => {
    const urql = createUrqlClient(connect(webSocketImpl));
    const shipment = await firstShipment((next, fail) => {
      const told = subscribe<OperationResult<unknown>>(({ data, error }) =>
        error ? fail(error) : next(data as Update),
      );
      return pipe(urql.subscription(document, {}), told).unsubscribe;
    });
    expect(shipment).toBe('shp_trusted');
  });

  test('by Relay, to what its compiler took out of the code', async () => {
    const relay = createRelayEnvironment(connect(webSocketImpl), { documents: read('relay/persisted.json') });
    const shipment = await firstShipment((next, fail) => {
      const config = { subscription: artifact('MineSubscription'), variables: {} };
      const onNext = (update: unknown) => next(update as Update);
      return requestSubscription(relay, { ...config, onNext, onError: fail }).dispose;
    });
    expect(shipment).toBe('shp_trusted');
  });
});

test("the client package's Relay environment, with the documents that the compiler took out of the code", async () => {
  const relay = createRelayEnvironment(connect(), { documents: read('relay/persisted.json') });
  const data = await fetchQuery(relay, artifact('MineQuery'), {}).toPromise();
  expect(data).toMatchObject({ viewer: { email: demo.email } });
  const lacking = createRelayEnvironment(connect());
  await expect(fetchQuery(lacking, artifact('MineQuery'), {}).toPromise()).rejects.toThrow(
    /no text for MineQuery/,
  );
});
