import {
  commitMutation,
  createOperationDescriptor,
  fetchQuery,
  getSingularSelector,
  requestSubscription,
  type Environment,
  type LogFunction,
} from 'relay-runtime';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { Trivium } from '../../../src/client/core/trivium.js';
import { createRelayEnvironment } from '../../../src/client/relay/relay.js';
import type { Artifacts } from '../../relay/compile.js';
import {
  testCache,
  type Asked,
  type CachingClient,
  type Lists,
  type Row,
  type ShownList,
} from '../live/cache-contract.js';
import { demo } from '../../support/testbed.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { compileScreens } from './screens.js';

let artifacts: Artifacts;

beforeAll(async () => {
  artifacts = await compileScreens();
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

test('takes options of Relay, and what the store has at first', async () => {
  const trivium = proxied.connect();
  const request = artifacts.operation('ScreenViewerQuery');
  const operation = createOperationDescriptor(request, {});
  const first = createRelayEnvironment(trivium);
  await fetchQuery(first, request, {}).toPromise();
  const log = vi.fn<LogFunction>();
  const records = first.getStore().getSource().toJSON();
  const relay = createRelayEnvironment(trivium, { log, configName: 'second', records });
  expect(relay.lookup(operation.fragment).data).toMatchObject({ viewer: { email: 'demo@example.com' } });
  expect(relay.configName).toBe('second');
  await fetchQuery(relay, request, {}).toPromise();
  expect(log.mock.calls.map(([{ name }]) => name)).toContain('network.complete');
});

test('a query that nobody waits for any more is given up, a mutation is not', async () => {
  const signals: (AbortSignal | null | undefined)[] = [];
  const trivium = proxied.connect({
    fetch(url, init) {
      signals.push(init?.signal);
      return fetch(url, init);
    },
  });
  await trivium.refresh();
  signals.splice(0);
  const relay = createRelayEnvironment(trivium);
  fetchQuery(relay, artifacts.operation('ScreenViewerQuery'), {}).subscribe({}).unsubscribe();
  const variables = { input: { title: 'Left', content: 'Text' } };
  commitMutation(relay, { mutation: artifacts.operation('ScreenMutation'), variables }).dispose();
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
});

test('asks and writes by the same session, and forgets everything when it ends', async () => {
  const trivium = proxied.connect({ token: await proxied.testbed.signIn() });
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

test('what is retained twice, as when a component refetches, is asked again while it is retained once', async () => {
  const trivium = proxied.connect({ token: await proxied.testbed.signIn() });
  await trivium.refresh();
  const relay = createRelayEnvironment(trivium);
  const operation = createOperationDescriptor(artifacts.operation('ScreenViewerQuery'), {});
  const before = relay.retain(operation);
  relay.retain(operation);
  before.dispose();
  await trivium.signIn('other@example.com', demo.password);
  await expect
    .poll(() => relay.lookup(operation.fragment).data)
    .toMatchObject({ viewer: { email: 'other@example.com' } });
});

test('what is shown stays until somebody else has the answer to it, and all else is forgotten', async () => {
  const trivium = proxied.connect({ token: await proxied.testbed.signIn() });
  await trivium.refresh();
  const relay = createRelayEnvironment(trivium);
  const written = await createNote(relay, 'Of the first');
  expect(written).toEqual({ createNote: { note: { title: 'Of the first' } } });
  const request = artifacts.operation('ScreenViewerQuery');
  const operation = createOperationDescriptor(request, {});
  relay.retain(operation);
  await fetchQuery(relay, request, {}).toPromise();
  const shown: unknown[] = [];
  relay.subscribe(relay.lookup(operation.fragment), ({ data }) => void shown.push(data));
  await trivium.signIn('other@example.com', demo.password);
  await expect.poll(() => shown.at(-1)).toMatchObject({ viewer: { email: 'other@example.com' } });
  expect(shown.filter((data) => (data as { viewer: unknown }).viewer === null)).toEqual([]);
  const kept = () => JSON.stringify(relay.getStore().getSource().toJSON());
  await expect.poll(kept).not.toMatch(/demo@example.com|Of the first/);
});

test('what somebody else cannot be shown is forgotten at once, and the rest asked for again', async () => {
  let refuses = false;
  const trivium = proxied.connect({
    token: await proxied.testbed.signIn(),
    async fetch(url, init) {
      if (refuses && (init!.body as string).includes('ScreenShipmentQuery'))
        return Response.json({ errors: [{ message: 'no', extensions: { code: 'FORBIDDEN' } }] });
      return fetch(url, init);
    },
  });
  await trivium.refresh();
  await proxied.emit(1);
  const relay = createRelayEnvironment(trivium);
  const screens = [
    createOperationDescriptor(artifacts.operation('ScreenViewerQuery'), {}),
    createOperationDescriptor(artifacts.operation('ScreenShipmentQuery'), { count: 3, filter: null }),
  ] as const;
  for (const { request, ...operation } of screens) {
    relay.retain({ request, ...operation });
    await fetchQuery(relay, request.node, request.variables).toPromise();
  }
  const read = () => relay.lookup(screens[0].fragment).data;
  const kept = () => JSON.stringify(relay.getStore().getSource().toJSON());
  expect(kept()).toMatch(/shipmentId/);
  refuses = true;
  await trivium.signIn('other@example.com', demo.password);
  await expect.poll(kept).not.toMatch(/shipmentId/);
  await expect.poll(read).toMatchObject({ viewer: { email: 'other@example.com' } });
});

test('says of a subscription that it waits for somebody with the grant, which Relay is not told', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  onTestFinished(() => warn.mockRestore());
  const token = await proxied.testbed.signIn({ ...demo, email: 'other@example.com' });
  const ended = vi.fn<() => void>();
  const following = requestSubscription(createRelayEnvironment(proxied.connect({ token })), {
    subscription: artifacts.operation('ScreenShipmentSubscription'),
    variables: {},
    onCompleted: ended,
    onError: ended,
  });
  const told = '@trivium/client: ScreenShipmentSubscription waits until somebody else signs in.';
  await expect.poll(() => warn.mock.calls).toEqual([[expect.stringContaining(told)]]);
  expect(ended).not.toHaveBeenCalled();
  following.dispose();
});
