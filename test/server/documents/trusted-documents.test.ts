import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownDocuments } from '../../../src/generated/own-documents.js';
import { sha256 } from '../../../src/server/documents/manifest.js';
import { scrape } from '../../support/metrics.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { openSocket } from '../sockets.js';
import { transports } from '../live/transports.js';

const place = 'query Where { liveCursor }';
const me = 'query Me { viewer { email } }';
const updates = 'subscription ($after: String) { shipmentUpdates(after: $after) { event { eventId } } }';
const ending = 'mutation { signOut { signedOut } }';
const stranger = 'query Stranger { viewer { id } }';
const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken errors { code } } }';

const folder = mkdtempSync(join(tmpdir(), 'trivium-'));
const file = join(folder, 'manifest.json');
const manifestOf = (...texts: string[]) =>
  JSON.stringify({ me, ...Object.fromEntries(texts.map((text) => [sha256(text), text])) });
const write = (text: string) => {
  writeFileSync(`${file}.next`, text);
  renameSync(`${file}.next`, file);
};
const all = [place, updates, ending, signIn];

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  write(manifestOf(...all));
  testbed = await startTestbed({ settings: { TRUSTED_DOCUMENTS: file } });
  token = await testbed.signIn();
});
afterAll(async () => {
  await testbed.stop();
  rmSync(folder, { recursive: true });
});

const apollo = (sha256Hash: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });
const codeOf = (body: { errors?: { extensions: { code: string } }[] }) => body.errors?.[0]?.extensions.code;

async function post(members: object, url = testbed.url, accept = 'application/graphql-response+json') {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, authorization: `Bearer ${token}` },
    body: JSON.stringify(members),
  });
  return { status: response.status, body: await response.json() };
}

async function get(members: Readonly<Record<string, unknown>>, path = '/graphql') {
  const texts = Object.entries(members).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const response = await fetch(`${testbed.url}${path}?${new URLSearchParams(texts)}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : {} };
}

const ways: readonly (readonly [name: string, members: Readonly<Record<string, unknown>>])[] = [
  ['its key', { documentId: 'me' }],
  ['its SHA-256', { documentId: `sha256:${sha256(me)}` }],
  ["Apollo's extension", apollo(sha256(me))],
  ['its key and its text', { documentId: 'me', query: me }],
  ['its text', { query: me }],
  ['its text, laid out otherwise', { query: 'query Me {\n  viewer { email } # who\n}' }],
];
const answer = { data: { viewer: { email: demo.email } } };

describe.each(ways)('a trusted document is run by %s', (_, members) => {
  test('by POST, again and again, so that it is compiled', async () => {
    for (let time = 0; time < 4; time += 1)
      expect(await post(members)).toEqual({ status: 200, body: answer });
  });

  test('by GET, also as a stream', async () => {
    expect(await get(members)).toMatchObject({ status: 200, body: answer });
    const { text } = await get(members, '/graphql/stream');
    expect(text).toContain(`data: ${JSON.stringify(answer)}`);
  });

  test.each(transports)('over %s', async (__, open) => {
    const live = await open(testbed.url, token, members);
    expect(await live.next()).toEqual(answer);
  });
});

const refusals: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
  ['an unknown id', { documentId: 'you' }, 'PERSISTED_QUERY_NOT_FOUND'],
  ['an unknown hash', apollo(sha256(stranger)), 'PERSISTED_QUERY_NOT_FOUND'],
  ['another text', { query: stranger }, 'DOCUMENT_NOT_TRUSTED'],
  ['a text that is not GraphQL', { query: '{' }, 'DOCUMENT_NOT_TRUSTED'],
  ['another text beside a known id', { documentId: 'me', query: stranger }, 'DOCUMENT_NOT_TRUSTED'],
  ['another text beside its hash', { ...apollo(sha256(stranger)), query: stranger }, 'DOCUMENT_NOT_TRUSTED'],
  ['a trusted text beside the id of another', { documentId: 'me', query: place }, 'BAD_USER_INPUT'],
  ['a trusted text beside a hash of none', { ...apollo(sha256(stranger)), query: place }, 'BAD_USER_INPUT'],
  ['two ids of two documents', { documentId: 'me', ...apollo(sha256(place)) }, 'BAD_USER_INPUT'],
];

describe.each(refusals)('%s is refused', (_, members, code) => {
  test('by POST and GET', async () => {
    const posted = await post(members);
    expect([posted.status, codeOf(posted.body), posted.body.data]).toEqual([400, code, undefined]);
    const got = await get(members);
    expect(codeOf(got.body)).toBe(code);
    expect(codeOf((await get(members, '/graphql/stream')).body)).toBe(code);
  });

  test.each(transports)('over %s', async (__, open) => {
    const live = await open(testbed.url, token, members);
    expect(await live.ended).toEqual({ codes: [code] });
  });
});

test('an id that is not known is answered as clients of Apollo Server expect it', async () => {
  const { status, body } = await post(apollo(sha256(stranger)), testbed.url, 'application/json');
  expect([status, body.errors[0].message]).toEqual([200, 'PersistedQueryNotFound']);
});

test.each([
  ['documentId', { documentId: 7 }],
  ['sha256Hash', { extensions: { persistedQuery: { version: 1 } }, query: me }],
])('a %s that is no text is refused', async (name, members) => {
  const { status, body } = await post(members);
  expect([status, body.errors[0].message]).toEqual([
    400,
    expect.stringContaining(`${name}\` must be a string`),
  ]);
});

test('an empty id is none', async () => {
  for (const members of [{ documentId: '', query: me }, { documentId: '' }]) {
    const code = 'query' in members ? undefined : 'BAD_REQUEST';
    expect(codeOf((await post(members)).body)).toBe(code);
    expect(codeOf((await get(members)).body)).toBe(code);
    expect(codeOf((await get(members, '/graphql/stream')).body)).toBe(code);
  }
  for (const [, open] of transports) {
    const live = await open(testbed.url, token, { documentId: '', query: me });
    expect(await live.next()).toEqual(answer);
  }
});

test.each(['/graphql', '/graphql/stream'])('a parameter that is repeated at %s is refused', async (path) => {
  for (const [name, value] of Object.entries({ documentId: 'me', query: me, variables: '{}' })) {
    const repeated = [...Object.entries({ documentId: 'me', [name]: value }), [name, value]];
    const response = await fetch(`${testbed.url}${path}?${new URLSearchParams(repeated)}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { errors } = (await response.json()) as { errors: unknown };
    const message = `\`${name}\` must be given once.`;
    expect([response.status, errors]).toEqual([400, [{ message, extensions: { code: 'BAD_REQUEST' } }]]);
  }
});

test('over a websocket an id needs no text beside it, and a message with neither is a fault of the protocol', async () => {
  const socket = await openSocket(`${testbed.url}/graphql`);
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  expect((await socket.next()).type).toBe('connection_ack');
  for (const payload of [{ documentId: 'me' }, { documentId: 'me', query: null }, apollo(sha256(me))]) {
    socket.send({ id: '1', type: 'subscribe', payload });
    expect((await socket.next('1')).payload).toEqual(answer);
    expect((await socket.next('1')).type).toBe('complete');
  }
  socket.send({ id: '2', type: 'subscribe', payload: { variables: {} } });
  expect(await socket.closed).toBe(4400);
});

test('a subscription that is sent for one answer is told where to go', async () => {
  const { status, body } = await post({ documentId: sha256(updates) });
  expect([status, body.errors[0].message]).toEqual([
    400,
    expect.stringMatching(/websocket.*text\/event-stream.*multipart\/mixed/),
  ]);
});

test('a mutation by its id is run by POST, and refused by GET', async () => {
  const { status } = await get({ documentId: sha256(ending) });
  expect(status).toBe(405);
  const own = token;
  token = await testbed.signIn();
  expect((await post({ documentId: sha256(ending) })).body).toEqual({
    data: { signOut: { signedOut: true } },
  });
  token = own;
});

test.each(transports)(
  'a subscription by its id goes on over %s when it leaves the manifest',
  async (_, open) => {
    const live = await open(testbed.url, token, { documentId: sha256(updates) });
    write(manifestOf(...all.filter((text) => text !== updates)));
    await expect
      .poll(async () => codeOf((await post({ documentId: sha256(updates) })).body))
      .toBe('PERSISTED_QUERY_NOT_FOUND');
    const { eventId } = await testbed.sandbox.webhooks.emitShipment();
    expect((await live.next()).data.shipmentUpdates.event.eventId).toBe(eventId);
    live.leave();
    write(manifestOf(...all));
    await expect
      .poll(async () => codeOf((await post({ documentId: sha256(updates) })).body))
      .toBe('BAD_USER_INPUT');
  },
);

test('a document that has been compiled stops when it leaves the manifest, and a file that is wrong changes nothing', async () => {
  for (let time = 0; time < 4; time += 1) await post({ query: place });
  writeFileSync(file, manifestOf(...all).slice(0, 50));
  await expect.poll(() => testbed.logged()).toContain('the documents stay as they were');
  expect((await post({ query: place })).status).toBe(200);
  writeFileSync(file, manifestOf(updates, ending, signIn));
  await expect.poll(async () => codeOf((await post({ query: place })).body)).toBe('DOCUMENT_NOT_TRUSTED');
  expect(codeOf((await post({ documentId: sha256(place) })).body)).toBe('PERSISTED_QUERY_NOT_FOUND');
  write(manifestOf(...all));
  await expect.poll(async () => (await post({ query: place })).status).toBe(200);
});

test('a manifest that is read while it is being written is taken over once it is whole', async () => {
  const late = 'query Late { viewer { id } }';
  const text = manifestOf(...all, late);
  const kept = () => testbed.logged().split('the documents stay as they were').length;
  for (const end of [10, text.length - 10]) {
    const before = kept();
    writeFileSync(file, text.slice(0, end));
    await expect.poll(kept).toBe(before + 1);
    expect((await post({ query: place })).status).toBe(200);
    expect(codeOf((await post({ query: late })).body)).toBe('DOCUMENT_NOT_TRUSTED');
  }
  appendFileSync(file, text.slice(-10));
  await expect.poll(async () => (await post({ query: late })).status).toBe(200);
  write(manifestOf(...all));
  await expect.poll(async () => codeOf((await post({ query: late })).body)).toBe('DOCUMENT_NOT_TRUSTED');
});

test('what is refused is counted each time, and logged once a document without its text', async () => {
  const refused = () =>
    scrape(testbed.telemetry.metrics, 'trivium_untrusted_documents_total{outcome="refused"}');
  const before = await refused();
  const query = 'query Counted { viewer { id email } }';
  for (let time = 0; time < 3; time += 1) await post({ query });
  await expect.poll(refused).toBe(before + 3);
  const lines = testbed
    .logged()
    .split('\n')
    .filter((line) => line.includes(sha256(query)));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 40, operations: ['Counted'] }]);
  expect(testbed.logged()).not.toContain(query);
});

test('the operations of the console and of the client package are always trusted', async () => {
  expect(ownDocuments.length).toBeGreaterThan(30);
  const refused: string[] = [];
  for (const query of ownDocuments)
    if (codeOf((await post({ query })).body) === 'DOCUMENT_NOT_TRUSTED') refused.push(query);
  expect(refused).toEqual([]);
});

test.each([
  ['prefer', false],
  ['log', true],
])('in mode %s anything runs, and strangers are logged: %s', async (mode, isLogged) => {
  const other = await startTestbed({
    settings: { TRUSTED_DOCUMENTS: file, TRUSTED_DOCUMENTS_MODE: mode },
    sandbox: testbed.sandbox,
  });
  const own = token;
  try {
    token = await other.signIn();
    const query = 'query Newcomer { viewer { email } }';
    for (const members of [
      { query },
      { query },
      { query },
      { query, ...apollo(sha256(query)) },
      { documentId: 'me' },
    ])
      expect((await post(members, other.url)).body).toEqual(answer);
    expect(codeOf((await post({ documentId: 'you' }, other.url)).body)).toBe('PERSISTED_QUERY_NOT_FOUND');
    expect(codeOf((await post({ documentId: 'me', query }, other.url)).body)).toBe('BAD_USER_INPUT');
    expect(codeOf((await post({ ...apollo(sha256(me)), query }, other.url)).body)).toBe('BAD_USER_INPUT');
    expect(other.logged().split(sha256(query)).length - 1).toBe(isLogged ? 1 : 0);
  } finally {
    token = own;
    await other.stop();
    testbed.sandbox.deliverTo(testbed.url);
  }
});

test('without a manifest no id is supported', async () => {
  const other = await startTestbed({ sandbox: testbed.sandbox });
  const own = token;
  try {
    token = await other.signIn();
    const beside = { ...apollo(sha256(me)), query: me };
    for (const members of [{ documentId: 'me' }, apollo(sha256(me)), beside])
      for (let time = 0; time < 3; time += 1)
        expect(codeOf((await post(members, other.url)).body)).toBe('PERSISTED_QUERY_NOT_SUPPORTED');
    for (const [, open] of transports) {
      const live = await open(other.url, token, { documentId: 'me' });
      expect(await live.ended).toEqual({ codes: ['PERSISTED_QUERY_NOT_SUPPORTED'] });
      // Apollo Client always sends the text by websocket, and would not send it again without the hash.
      expect(await (await open(other.url, token, beside)).next()).toEqual(answer);
    }
  } finally {
    token = own;
    await other.stop();
    testbed.sandbox.deliverTo(testbed.url);
  }
});

test('a manifest that cannot be used at the start is a wrong setting', async () => {
  const missing = join(folder, 'missing.json');
  await expect(
    startTestbed({ settings: { TRUSTED_DOCUMENTS: missing }, sandbox: testbed.sandbox }),
  ).rejects.toThrow(`TRUSTED_DOCUMENTS: ${missing} cannot be read (ENOENT)`);
});
