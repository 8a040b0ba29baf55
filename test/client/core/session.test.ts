import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import WebSocket from 'ws';
import type { Session, TriviumOptions } from '../../../src/client/core/trivium.js';
import { createTrivium } from '../../../src/client/core/trivium.js';
import {
  NotesDocument,
  ShipmentUpdatesDocument,
  ViewerDocument,
} from '../../../src/client/generated/index.js';
import { demo } from '../../support/testbed.js';
import { fakeTimeouts, neverAnswered } from '../fake-timeouts.js';
import { useProxiedGateway } from '../proxied-gateway.js';
import { collectUncaught } from '../uncaught.js';

const proxied = useProxiedGateway();
const { connect } = proxied;

test('a question who is signed in that is never answered fails in time', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  fakeTimeouts();
  const fetch: TriviumOptions['fetch'] = (_, init) => neverAnswered(init?.signal);
  const refreshed = createTrivium({ url: 'http://127.0.0.1:1', token: 'token', fetch }).refresh();
  const failure = refreshed.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await failure).toMatchObject({ code: 'UNREACHABLE' });
});

test('signs in and out, and says so in one place', async () => {
  const trivium = createTrivium({ url: proxied.testbed.url });
  const seen: Session[] = [];
  trivium.onSession((session) => seen.push(session));
  expect(trivium.session.status).toBe('signed-out');
  const refused = await trivium.signIn(demo.email, 'wrong');
  expect(refused).toMatchObject({ viewer: null, errors: [{ code: 'WRONG_CREDENTIALS' }] });
  const { viewer } = await trivium.signIn(demo.email, demo.password);
  expect(viewer?.email).toBe(demo.email);
  expect((await trivium.query(ViewerDocument)).viewer).toEqual(viewer);
  expect((await trivium.query(NotesDocument, { first: 1 })).notes.edges.length).toBeLessThanOrEqual(1);
  await trivium.signOut();
  await trivium.signOut();
  expect(seen.map(({ status, ended }) => [status, ended])).toEqual([
    ['signed-in', false],
    ['signed-out', false],
  ]);
  await expect(trivium.query(NotesDocument)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('a listener that throws keeps nobody from signing in, and no other listener from hearing of it', async () => {
  const uncaught = collectUncaught();
  const failure = new Error('of the application');
  const trivium = createTrivium({ url: proxied.testbed.url });
  trivium.onSession(() => {
    throw failure;
  });
  const seen: string[] = [];
  trivium.onSession(({ status }) => seen.push(status));
  expect((await trivium.signIn(demo.email, demo.password)).viewer?.email).toBe(demo.email);
  expect(seen).toEqual(['signed-in']);
  expect(uncaught).toEqual([failure]);
});

test('tells once that a session has ended, whether a query or a subscription learns it', async () => {
  const token = await proxied.testbed.signIn();
  const [overHttp, overSocket] = [connect({ token }), connect({ token })];
  const ended: Session[] = [];
  for (const trivium of [overHttp, overSocket]) {
    await trivium.refresh();
    trivium.onSession((session) => ended.push(session));
  }
  const update = overSocket.updates(ShipmentUpdatesDocument).next();
  await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
  await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, token);
  await expect(update).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  for (let attempt = 0; attempt < 2; attempt++)
    await expect(overHttp.query(NotesDocument)).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  expect(ended).toEqual([expect.objectContaining({ ended: true }), expect.objectContaining({ ended: true })]);
  await overSocket.signIn(demo.email, demo.password);
  const sent = overSocket.updates(ShipmentUpdatesDocument, {
    after: (await overSocket.execute('{ liveCursor }')).data!['liveCursor' as never],
  });
  await proxied.emit(1);
  expect((await sent.next()).value?.shipmentUpdates.shipment.shipmentId).toBe('shp_client');
});

test.for(['refresh', 'signIn'] as const)(
  'a subscription that was there before %s tells that the session has ended, too',
  async (change) => {
    const kept = new Map<string, string>();
    const storage = {
      getItem: () => null,
      setItem: (_: string, token: string) => void kept.set('token', token),
      removeItem: () => {},
    };
    const token = await proxied.testbed.signIn();
    const trivium = connect({ token, storage });
    const update = trivium.updates(ShipmentUpdatesDocument).next();
    update.catch(() => {});
    await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
    if (change === 'refresh') await trivium.refresh();
    else await trivium.signIn(demo.email, demo.password);
    expect(trivium.session.status).toBe('signed-in');
    await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, kept.get('token') ?? token);
    await expect(update).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    await expect.poll(() => trivium.session).toMatchObject({ status: 'signed-out', ended: true });
  },
);

test.for(['signOut', 'signIn'] as const)('%s tells who was signed in until then', async (change) => {
  const trivium = connect({ token: await proxied.testbed.signIn() });
  const seen: (string | undefined)[] = [];
  trivium.onSession(({ viewer }) => seen.push(viewer?.email));
  expect(trivium.session.status).toBe('unknown');
  if (change === 'signIn') await trivium.signIn('other@example.com', 'demo-password');
  else await trivium.signOut();
  expect(seen).toEqual([demo.email, change === 'signIn' ? 'other@example.com' : undefined]);
});

test('a subscription outlives that the same person signs in again, which ends the session of the cookie before', async () => {
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', new EventTarget());
  onTestFinished(() => void vi.unstubAllGlobals());
  const origin = proxied.testbed.url;
  let cookie = '';
  const closed: number[] = [];
  class PageSocket extends WebSocket {
    constructor(url: string, protocol: string) {
      super(url, protocol, { headers: { origin, cookie } });
      this.on('close', (code) => closed.push(code));
    }
  }
  let isAgain = false;
  const trivium = createTrivium({
    url: proxied.proxy.url,
    webSocketImpl: PageSocket,
    async fetch(url, init) {
      const headers = new Headers(init!.headers);
      headers.set('origin', origin);
      headers.set('cookie', cookie);
      const response = await fetch(url, { ...init, headers });
      // The websocket closes before the page knows that it has signed in, and before its browser has the cookie.
      if (isAgain) await expect.poll(() => closed, { timeout: 5_000 }).toContain(4401);
      if (isAgain) await sleep(100);
      cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
      return response;
    },
  });
  onTestFinished(() => trivium.dispose());
  await trivium.signIn(demo.email, demo.password);
  const update = trivium.updates(ShipmentUpdatesDocument).next();
  update.catch(() => {});
  await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
  // As when the page was shown again: what reconnects next does so at once.
  window.dispatchEvent(new Event('online'));
  isAgain = true;
  const seen: string[] = [];
  trivium.onSession(({ status }) => seen.push(status));
  await trivium.signIn(demo.email, demo.password);
  await proxied.emit(1);
  await expect(update).resolves.toMatchObject({ done: false });
  expect(seen).toEqual(['signed-in']);
});

test('a session has not ended by itself if a websocket closes before the answer to `signOut`', async () => {
  const seen: Session[] = [];
  const trivium = connect({
    token: await proxied.testbed.signIn(),
    async fetch(url, init) {
      const response = await fetch(url, init);
      const isSignOut = (init!.body as string).includes('signOut');
      if (isSignOut) await expect.poll(() => trivium.session.status).toBe('signed-out');
      return response;
    },
  });
  await trivium.refresh();
  trivium.onSession((session) => seen.push(session));
  const update = trivium.updates(ShipmentUpdatesDocument).next();
  update.catch(() => {});
  await expect.poll(() => proxied.proxy.heard().includes('connection_ack')).toBe(true);
  await trivium.signOut();
  expect(seen).toMatchObject([{ status: 'signed-out', ended: false }]);
  await expect(update).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});

test('a session ends by itself after a `signOut` that has failed', async () => {
  const token = await proxied.testbed.signIn();
  const trivium = connect({
    token,
    fetch: (url, init) =>
      (init!.body as string).includes('signOut')
        ? Promise.reject(new TypeError('offline'))
        : fetch(url, init),
  });
  await trivium.refresh();
  await expect(trivium.signOut()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  await proxied.testbed.ask('mutation { signOut { signedOut } }', {}, token);
  expect(await trivium.refresh()).toMatchObject({ status: 'signed-out', ended: true });
});

test('a session that is asked for again and has not changed is the same object, and nobody is told', async () => {
  const trivium = connect();
  const session = await trivium.refresh();
  const told = vi.fn<() => void>();
  trivium.onSession(told);
  expect(await trivium.refresh()).toBe(session);
  expect(told).not.toHaveBeenCalled();
});

test('a page that could not learn who is signed in asks again when the network is back, and not before it asked or has an answer', async () => {
  const page = new EventTarget();
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', page);
  onTestFinished(() => void vi.unstubAllGlobals());
  let asked = 0;
  let isAway = true;
  const trivium = createTrivium({
    url: proxied.testbed.url,
    async fetch(url, init) {
      asked++;
      if (isAway) throw new TypeError('The network is away.');
      return fetch(url, init);
    },
  });
  onTestFinished(() => trivium.dispose());
  page.dispatchEvent(new Event('online'));
  const answer = trivium.refresh();
  page.dispatchEvent(new Event('online'));
  await expect(answer).rejects.toMatchObject({ code: 'UNREACHABLE' });
  expect([trivium.session.status, asked]).toEqual(['unknown', 1]);
  isAway = false;
  page.dispatchEvent(new Event('online'));
  await expect.poll(() => trivium.session.status).toBe('signed-out');
});

test('a signed-out page that could not learn of a sign-in in another tab asks again when the network is back', async () => {
  const page = new EventTarget();
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', page);
  onTestFinished(() => void vi.unstubAllGlobals());
  const viewer = { id: 'user', email: demo.email };
  const answers = [Response.json({ data: { viewer: null } }), undefined, Response.json({ data: { viewer } })];
  const trivium = createTrivium({
    url: 'http://127.0.0.1:4000',
    async fetch() {
      const answer = answers.shift();
      if (!answer) throw new TypeError('The network is away.');
      return answer;
    },
  });
  onTestFinished(() => trivium.dispose());
  expect((await trivium.refresh()).status).toBe('signed-out');
  await expect(trivium.refresh()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  page.dispatchEvent(new Event('online'));
  await expect.poll(() => trivium.session).toMatchObject({ status: 'signed-in', viewer });
});

test('a request from before a sign-in that is refused late does not end the new session', async () => {
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', new EventTarget());
  onTestFinished(() => void vi.unstubAllGlobals());
  const viewer = { id: 'user', email: demo.email };
  let refuse: (answer: Response) => void = () => {};
  const trivium = createTrivium({
    url: 'http://127.0.0.1:4000',
    async fetch(_, init) {
      const { query } = JSON.parse(init!.body as string) as { query: string };
      if (query.includes('query Notes')) return new Promise<Response>((resolve) => (refuse = resolve));
      return Response.json({ data: { viewer, signIn: { viewer, sessionToken: 'token', errors: [] } } });
    },
  });
  onTestFinished(() => trivium.dispose());
  const early = trivium.query(NotesDocument);
  await trivium.signIn(demo.email, demo.password);
  refuse(Response.json({ errors: [{ message: 'no', extensions: { code: 'UNAUTHENTICATED' } }] }));
  await expect(early).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(trivium.session).toMatchObject({ status: 'signed-in', viewer });
});

test('a page whose browser keeps no cookie keeps the token, also if the same person signs in again', async () => {
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', new EventTarget());
  onTestFinished(() => void vi.unstubAllGlobals());
  const trivium = createTrivium({ url: proxied.testbed.url });
  onTestFinished(() => trivium.dispose());
  for (let time = 0; time < 2; time++) {
    await trivium.signIn(demo.email, demo.password);
    expect((await trivium.query(ViewerDocument)).viewer?.email).toBe(demo.email);
  }
});

test('a page that cannot learn whether its browser has kept the cookie is signed in by the token', async () => {
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', new EventTarget());
  onTestFinished(() => void vi.unstubAllGlobals());
  const viewer = { id: 'user', email: demo.email };
  const authorizations: (string | null)[] = [];
  let hasSignedIn = false;
  const trivium = createTrivium({
    url: 'http://127.0.0.1:4000',
    async fetch(_, init) {
      const authorization = new Headers(init!.headers).get('authorization');
      if (hasSignedIn && authorization === null) throw new TypeError('The network is away.');
      if (hasSignedIn) authorizations.push(authorization);
      const isSignIn = (init!.body as string).includes('mutation SignIn');
      if (isSignIn) hasSignedIn = true;
      const signIn = { viewer, sessionToken: 'token', errors: [] };
      return Response.json({ data: { viewer: hasSignedIn ? viewer : null, signIn } });
    },
  });
  onTestFinished(() => trivium.dispose());
  expect(await trivium.signIn(demo.email, demo.password)).toMatchObject({ viewer, errors: [] });
  expect(trivium.session).toMatchObject({ status: 'signed-in', viewer });
  await trivium.query(ViewerDocument);
  expect(authorizations).toEqual(['Bearer token']);
});

test('keeps a token where it is told to, and does without a storage that is full or forbidden', async () => {
  const storage = createStorage();
  const { url } = proxied.testbed;
  await createTrivium({ url, storage }).signIn(demo.email, demo.password);
  const later = createTrivium({ url, storage });
  expect(later.session.status).toBe('unknown');
  expect((await later.refresh()).viewer?.email).toBe(demo.email);
  await later.signOut();
  expect(createTrivium({ url, storage }).session.status).toBe('signed-out');
  const fail = () => {
    throw new DOMException('no', 'QuotaExceededError');
  };
  const forbidden = createTrivium({ url, storage: { getItem: fail, setItem: fail, removeItem: fail } });
  await forbidden.signIn(demo.email, demo.password);
  expect((await forbidden.query(ViewerDocument)).viewer?.email).toBe(demo.email);
});

/** A storage in memory, as two programs or tabs may share it. */
function createStorage() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}

test('a client whose session has ended forgets no token that another one has stored', async () => {
  const storage = createStorage();
  const open = () => createTrivium({ url: proxied.testbed.url, storage });
  const first = open();
  await first.signIn(demo.email, demo.password);
  const second = open();
  await first.signOut();
  await first.signIn(demo.email, demo.password);
  expect((await second.refresh()).status).toBe('signed-out');
  expect((await open().refresh()).viewer?.email).toBe(demo.email);
});

/** A page and what its other tabs say, with a gateway for which somebody is signed in as `viewer` says. */
function openPage(options: Partial<TriviumOptions> = {}) {
  const page = new EventTarget();
  vi.stubGlobal('document', Object.assign(new EventTarget(), { visibilityState: 'visible' }));
  vi.stubGlobal('window', page);
  onTestFinished(() => void vi.unstubAllGlobals());
  const gateway = { viewer: null as object | null, asked: 0 };
  const trivium = createTrivium({
    url: 'http://127.0.0.1:4000',
    async fetch() {
      gateway.asked += 1;
      return Response.json({ data: { viewer: gateway.viewer, signOut: { signedOut: true } } });
    },
    ...options,
  });
  const others = new BroadcastChannel(`trivium ${trivium.url}`);
  onTestFinished(() => {
    others.close();
    trivium.dispose();
  });
  return { page, gateway, trivium, others };
}

test('a tab with a session of its own is told when that ends by itself, also after another tab has signed out', async () => {
  const { gateway, trivium, others } = openPage({ token: 'own' });
  gateway.viewer = { id: 'user', email: demo.email };
  await trivium.refresh();
  for (const change of ['signing-out', 'signed-out']) {
    const { asked } = gateway;
    others.postMessage(change);
    await expect.poll(() => gateway.asked).toBeGreaterThan(asked);
  }
  gateway.viewer = null;
  await trivium.refresh();
  expect(trivium.session).toMatchObject({ status: 'signed-out', ended: true });
});

test('a page that was kept while somebody signed in on another one asks again when it is shown', async () => {
  const { page, gateway, trivium } = openPage();
  await trivium.refresh();
  gateway.viewer = { id: 'user', email: demo.email };
  page.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }));
  await expect.poll(() => trivium.session).toMatchObject({ status: 'signed-in', viewer: { id: 'user' } });
});

test('a client that was disposed of signs out all the same', async () => {
  const { gateway, trivium } = openPage();
  gateway.viewer = { id: 'user', email: demo.email };
  await trivium.refresh();
  trivium.dispose();
  await trivium.signOut();
  expect(trivium.session).toMatchObject({ status: 'signed-out', ended: false });
});

test('a tab whose storage is forbidden keeps its session when another one signs out', async () => {
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', new EventTarget());
  onTestFinished(() => void vi.unstubAllGlobals());
  const fail = () => {
    throw new DOMException('no', 'SecurityError');
  };
  const storage = { getItem: fail, setItem: fail, removeItem: fail };
  const [first, second] = [connect({ storage }), connect({ storage })];
  for (const tab of [first, second]) await tab.signIn(demo.email, demo.password);
  const other = new BroadcastChannel(`trivium ${second.url}`);
  onTestFinished(() => other.close());
  let heard = 0;
  other.addEventListener('message', () => heard++);
  await first.signOut();
  await expect.poll(() => heard).toBe(2);
  expect((await second.query(ViewerDocument)).viewer?.email).toBe(demo.email);
  expect(second.session.status).toBe('signed-in');
});

test('a page whose browser forbids a channel between tabs, as Firefox does where it blocks cookies, signs in', async () => {
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('window', new EventTarget());
  const forbidden = vi.fn<() => void>(() => {
    throw new DOMException('The operation is insecure.', 'SecurityError');
  });
  vi.stubGlobal('BroadcastChannel', forbidden);
  onTestFinished(() => void vi.unstubAllGlobals());
  const trivium = createTrivium({ url: proxied.testbed.url });
  await trivium.signIn(demo.email, demo.password);
  expect(forbidden).toHaveBeenCalledOnce();
  expect((await trivium.query(ViewerDocument)).viewer?.email).toBe(demo.email);
});

test('what JSON cannot express fails as such, not as a gateway that cannot be reached', async () => {
  const trivium = connect();
  await expect(trivium.query(NotesDocument, { first: 1n as never })).rejects.toThrow(TypeError);
});

test('tells once that the gateway has another schema than this package, and works on', async () => {
  const told: string[] = [];
  const warned = vi.spyOn(console, 'warn').mockImplementation((text: string) => void told.push(text));
  onTestFinished(() => warned.mockRestore());
  const later: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    const headers = new Headers(response.headers);
    headers.set('x-schema-hash', '0123456789abcdef');
    return new Response(response.body, { status: response.status, headers });
  };
  await proxied.connect().refresh();
  expect(told).toEqual([]);
  const trivium = proxied.connect({ fetch: later });
  expect((await trivium.refresh()).status).toBe('signed-in');
  expect((await trivium.refresh()).status).toBe('signed-in');
  expect(told).toEqual([expect.stringContaining(`${trivium.url}/client.tgz`)]);
  let times = 0;
  await proxied.connect({ fetch: later, onOtherSchema: () => void times++ }).refresh();
  expect([times, told.length]).toEqual([1, 1]);
  const uncaught = collectUncaught();
  const failure = new Error('of the application');
  const onOtherSchema = () => {
    throw failure;
  };
  expect((await proxied.connect({ fetch: later, onOtherSchema }).refresh()).status).toBe('signed-in');
  expect(uncaught).toEqual([failure]);
});

test('says plainly when something else answers, or nothing', async () => {
  const server = createServer((_, response) =>
    response.writeHead(502, { 'content-type': 'text/html' }).end('<p>Bad gateway'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const trivium = createTrivium({ url });
  await expect(trivium.query(ViewerDocument)).rejects.toMatchObject({ code: 'NOT_GRAPHQL', status: 502 });
  await new Promise((resolve) => server.close(resolve));
  await expect(trivium.query(ViewerDocument)).rejects.toMatchObject({ code: 'UNREACHABLE' });
  const aborted = AbortSignal.abort();
  await expect(trivium.query(ViewerDocument, {}, { signal: aborted })).rejects.toHaveProperty(
    'name',
    'AbortError',
  );
  onTestFinished(() => trivium.dispose());
});
