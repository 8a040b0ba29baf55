import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openProxy, type Proxy } from './client/proxy.js';
import { demo, startTestbed, type Testbed } from './support/testbed.js';

/** The contents of the places that must hold no secret. */
interface Places {
  /** The database files, without the key: as they were during the run and after it. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly log: Buffer;
  /** Everything that clients and webhook senders received, except answers that hold a session token. */
  readonly answers: Buffer;
}

const wrongPassword = 'never-the-right-password';
const upstreamText = 'words-of-the-service-itself';
/** Not a secret: it is sent to the gateway and must be found in every place, which proves that the search works. */
const planted = 'planted-on-purpose';

let testbed: Testbed;
let proxy: Proxy;
let places: Places;
const secrets = new Map<string, string>();

beforeAll(async () => {
  testbed = await startTestbed({ settings: { LOG_LEVEL: 'trace' }, upstreamTimeoutMs: 500 });
  proxy = await openProxy(testbed.url);
  testbed.sandbox.deliverTo(proxy.url);
  recordWebhookSecrets('before');
  await useEverything();
  const amid = copyOf(testbed.folder);
  recordSecrets();
  const { folder } = testbed;
  await testbed.gateway.stop();
  const files = new Map([...filesOf(amid, 'amid'), ...filesOf(folder, 'at the end')]);
  rmSync(amid, { recursive: true });
  places = { files, log: Buffer.from(testbed.logged()), answers: proxy.heard() };
});

afterAll(async () => {
  await proxy.stop();
  await testbed.stop();
});

function recordWebhookSecrets(when: string): void {
  const { webhooks } = testbed.sandbox;
  for (const { id, secret } of [...webhooks.subscriptions(), ...webhooks.endpoints()])
    secrets.set(`the webhook secret of ${id} ${when}`, secret);
}

function recordSecrets(): void {
  const { sandbox } = testbed;
  recordWebhookSecrets('after');
  for (const token of sandbox.notes.issued) secrets.set(`a notes token ${token.slice(0, 4)}…`, token);
  for (const token of sandbox.appointments.issued)
    secrets.set(`an appointments token ${token.slice(0, 4)}…`, token);
  secrets.set('the client secret', sandbox.settings['APPOINTMENTS_CLIENT_SECRET']!);
  secrets.set('the password', demo.password);
  secrets.set('a wrong password', wrongPassword);
  secrets.set('the text of an upstream error', upstreamText);
  for (const [, signature] of proxy
    .said()
    .toString('latin1')
    .matchAll(/v[01]=([0-9a-f]{64})/g))
    secrets.set(`a signature ${signature!.slice(0, 4)}…`, signature!);
}

/** Copies in another process: closing a SQLite file in this one would drop SQLite's locks on it. */
function copyOf(folder: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'trivium-copy-'));
  execFileSync('cp', ['-R', `${folder}/.`, copy]);
  return copy;
}

function filesOf(folder: string, when: string): [string, Buffer][] {
  return readdirSync(folder)
    .filter((name) => !name.endsWith('.key'))
    .map((name) => [`${name}, ${when}`, readFileSync(join(folder, name))]);
}

async function post(query: string, variables: object = {}, token?: string) {
  const response = await fetch(`${proxy.url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as { readonly data?: object | null; readonly errors?: readonly object[] };
}

/** Signs in without the proxy: only the answer of `signIn` may hold the session's token. */
async function signIn(): Promise<string> {
  const token = await testbed.signIn();
  secrets.set(`a session's token ${token.slice(0, 4)}…`, token);
  return token;
}

async function useEverything(): Promise<void> {
  const token = await signIn();
  const leaver = await signIn();
  const client = createClient({
    url: `${proxy.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
    retryAttempts: 0,
  });
  const ended = follow(client);
  await failToSignIn();
  await useNotes(token);
  await book(token);
  await deliver();
  await rotate(token);
  await useFailingServices(token);
  await post('{ node(id: "bm9uZQ") { id } unknownField }', {}, token);
  await post('mutation { signOut { signedOut } }', {}, leaver);
  await post('{ viewer { email } notes { nodes { id } } }', {}, leaver);
  await post('{ shipments { nodes { carrier trackingNumber events { nodes { eventId } } } } }', {}, token);
  testbed.sandbox.notes.revokeTokens();
  await post('{ viewer { email } }', {}, token);
  await ended;
  await client.dispose();
  const late = await signIn();
  await testbed.sandbox.clock.advance(25 * 3_600_000);
  await post('{ viewer { email } }', {}, late);
}

/** Follows live updates over a websocket until its session ends. */
async function follow(client: ReturnType<typeof createClient>): Promise<number> {
  const shipments = client.iterate({
    query: 'subscription { shipmentUpdates { cursor shipment { carrier trackingNumber } } }',
  });
  const payments = client.iterate({
    query: 'subscription { paymentUpdates { cursor event { data } payment { id } } }',
  });
  const count = async (updates: AsyncIterable<unknown>) => {
    let seen = 0;
    try {
      for await (const _ of updates) seen += 1;
    } catch {
      // The socket was closed with 4401, as it should be.
    }
    return seen;
  };
  const [one, other] = await Promise.all([count(shipments), count(payments)]);
  return one + other;
}

async function failToSignIn(): Promise<void> {
  const mutation =
    'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken errors { message } } }';
  await post(mutation, { input: { email: demo.email, password: wrongPassword } });
  await post(mutation, { input: { email: `${wrongPassword}@example.com`, password: wrongPassword } });
  const act = { kind: 'answer', status: 500, body: upstreamText } as const;
  const restore = testbed.sandbox.faults.add({ service: 'notes', path: /auth/, act });
  await post(mutation, { input: demo });
  restore();
  const refuse = { kind: 'answer', status: 400, body: JSON.stringify({ password: demo.password }) } as const;
  testbed.sandbox.faults.add({ service: 'notes', path: /auth/, times: 1, act: refuse });
  await post(mutation, { input: demo });
  await post(mutation, { input: { ...demo, password: [demo.password], unknown: demo.password } });
}

async function useNotes(token: string): Promise<void> {
  const content = 'Words.';
  const { data } = await post(
    'mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { id } errors { message } } }',
    { input: { title: 'A busy run', content, tags: ['busy'] } },
    token,
  );
  const { id } = (data as { createNote: { note: { id: string } } }).createNote.note;
  await post(
    'mutation ($id: ID!) { updateNote(input: { id: $id, isPinned: true }) { errors { message } } }',
    { id },
    token,
  );
  await post('{ viewer { name } notes { nodes { title tags { name count } } } }', {}, token);
  await post('mutation ($id: ID!) { deleteNote(input: { id: $id }) { errors { code } } }', { id }, token);
}

async function book(token: string, patient = 'Patient/1'): Promise<void> {
  const participants = [{ actor: { reference: patient }, status: 'ACCEPTED' }];
  const times = { start: '2027-01-01T09:00:00Z', end: '2027-01-01T09:30:00Z' };
  await post(
    'mutation ($input: CreateAppointmentInput!) { createAppointment(input: $input) { errors { message } } }',
    { input: { status: 'BOOKED', ...times, participants, idempotencyKey: `key of ${patient}` } },
    token,
  );
}

async function deliver(): Promise<void> {
  const { webhooks } = testbed.sandbox;
  const forms = formsOf(planted);
  for (const tracking_number of forms) await webhooks.emitShipment({ shipment: { tracking_number } });
  await webhooks.emitPayment({ object: { id: 'pay_busy' } });
  await webhooks.emitPayment({ type: `payment.${planted}` });
  await webhooks.sendBody('pe_demo', 'no JSON');
  const refused = await fetch(`${proxy.url}/webhooks/shipments/sub_demo`, {
    method: 'POST',
    headers: {
      'shipping-signature': `t=${Math.floor(testbed.sandbox.clock.now() / 1000)},v1=${'ab'.repeat(32)}`,
    },
    body: '{}',
  });
  expect(refused.status).toBe(401);
  expect(webhooks.deliveries.filter(({ state }) => state === 'acknowledged')).toHaveLength(forms.length + 2);
}

async function rotate(token: string): Promise<void> {
  const mutation = `mutation ($input: RotatePaymentWebhookSecretInput!) {
    rotatePaymentWebhookSecret(input: $input) { rotatedAt errors { message } }
  }`;
  const act = { kind: 'answer', status: 503, body: upstreamText } as const;
  testbed.sandbox.faults.add({ service: 'payments', times: 1, act });
  await post(mutation, { input: { endpointId: 'pe_demo' } }, token);
  await post(mutation, { input: { endpointId: 'pe_demo' } }, token);
  recordWebhookSecrets('after the first rotation');
  await testbed.sandbox.webhooks.emitPayment({ object: { id: 'pay_after' } });
  // The service makes a new secret, but its answer is lost.
  testbed.sandbox.faults.add({ service: 'payments', times: 1, act: { kind: 'cut', afterBytes: 60 } });
  await post(mutation, { input: { endpointId: 'pe_demo' } }, token);
  await testbed.sandbox.webhooks.emitPayment({ object: { id: 'pay_after_loss' } });
}

async function useFailingServices(token: string): Promise<void> {
  const { faults, appointments } = testbed.sandbox;
  const body = JSON.stringify({ error: { message: upstreamText } });
  const acts = [
    { kind: 'answer', status: 500, body },
    { kind: 'answer', status: 403, body },
    { kind: 'answer', status: 429, body, headers: { 'retry-after': '1', 'x-words': upstreamText } },
    { kind: 'answer', status: 200, body: upstreamText },
    { kind: 'refuse' },
    { kind: 'cut', afterBytes: 20 },
    { kind: 'hang' },
  ] as const;
  for (const [index, act] of acts.entries()) {
    const restores = (['notes', 'appointments', 'issuer'] as const).map((service) =>
      faults.add({ service, act }),
    );
    appointments.revokeTokens();
    await Promise.all([
      post('{ notes { nodes { id } } }', {}, token),
      post('{ viewer { name } }', {}, token),
      book(token, `Patient/of-fault-${index}`),
    ]);
    for (const restore of restores) restore();
    // After a while, services that were not called because of failures are called again.
    await testbed.sandbox.clock.advance(120_000);
  }
  await vi.waitUntil(async () => !(await post('{ viewer { name } }', {}, token)).errors, { timeout: 10_000 });
  await book(token, 'Patient/2');
}

/** A text as it is, and in common encodings. */
function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const base64 = bytes.toString('base64').replace(/=+$/, '');
  return [...new Set([text, base64, bytes.toString('base64url'), bytes.toString('hex')])];
}

/** The names of the texts that the bytes contain in any form. */
function namesFound(bytes: Buffer, texts: Iterable<readonly [string, string]>): readonly string[] {
  return Array.from(texts)
    .filter(([, text]) => formsOf(text).some((form) => bytes.includes(form)))
    .map(([name]) => name);
}

describe('the secrets searched for', () => {
  test('include every kind of secret', () => {
    const count = (start: string) => [...secrets.keys()].filter((name) => name.startsWith(start)).length;
    expect(count('a notes token')).toBeGreaterThanOrEqual(3);
    expect(count('an appointments token')).toBeGreaterThanOrEqual(2);
    expect(count("a session's token")).toBe(3);
    expect(count('a signature')).toBeGreaterThanOrEqual(6);
    const ofEndpoint = [...secrets].filter(([name]) => name.startsWith('the webhook secret of pe_demo'));
    expect(new Set(ofEndpoint.map(([, secret]) => secret)).size).toBe(3);
  });

  test('were in use: clients sent the password and the session tokens', () => {
    const said = proxy.said();
    expect(namesFound(said, [['password', demo.password]])).toEqual(['password']);
    const used = [...secrets].filter(([name]) => name.startsWith("a session's token"));
    expect(namesFound(said, used)).toHaveLength(used.length);
  });
});

describe('the places searched', () => {
  test('include the whole database, during the run and after it', () => {
    const names = [...places.files.keys()];
    expect(names).toEqual(
      expect.arrayContaining(['gateway.db, amid', 'gateway.db-wal, amid', 'gateway.db, at the end']),
    );
    const inFiles = (text: string) =>
      [...places.files].filter(([, bytes]) => bytes.includes(text)).map(([name]) => name);
    expect(inFiles('SQLite format 3')).toContain('gateway.db, at the end');
    expect(inFiles('pay_after_loss')).toEqual(
      expect.arrayContaining(['gateway.db-wal, amid', 'gateway.db, at the end']),
    );
    for (const form of formsOf(planted)) expect(inFiles(form)).toContain('gateway.db, at the end');
  });

  test('include the log, at its most detailed level', () => {
    expect(namesFound(places.log, [['planted', planted]])).toEqual(['planted']);
    expect(testbed.logged().split('\n').length).toBeGreaterThan(10);
  });

  test('include all answers, over HTTP and websocket', () => {
    expect(formsOf(planted).filter((form) => !places.answers.includes(form))).toEqual([]);
    const told = [
      'Dana Demo',
      '101 Switching Protocols',
      '"paymentUpdates"',
      '{"received":true}',
      'e-mail address or the password is wrong',
      'RATE_LIMITED',
      'UPSTREAM_INVALID_RESPONSE',
      'UPSTREAM_TIMEOUT',
      'UPSTREAM_UNAVAILABLE',
      'UNAUTHENTICATED',
    ];
    expect(told.filter((words) => !places.answers.includes(words))).toEqual([]);
  });
});

describe('no secret is', () => {
  test('in any file of the database', () => {
    for (const [name, bytes] of places.files) expect([name, ...namesFound(bytes, secrets)]).toEqual([name]);
  });

  test('in the log', () => {
    expect(namesFound(places.log, secrets)).toEqual([]);
  });

  test('in any answer', () => {
    expect(namesFound(places.answers, secrets)).toEqual([]);
  });
});
