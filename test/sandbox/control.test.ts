import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { codesOf, startTestbed, type Testbed } from '../support/testbed.js';

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

async function control(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${testbed.sandbox.url}/control${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as object };
}

async function newestDeliveries(first: number): Promise<object[]> {
  const query = `query ($first: Int) { webhookDeliveries(first: $first) { nodes { eventId outcome reason } } }`;
  return (await testbed.ask(query, { first }, token)).data.webhookDeliveries.nodes;
}

const orders = [
  ['shipments', 'usual', [200], [{ outcome: 'STORED' }]],
  ['shipments', 'twice', [200, 200], [{ outcome: 'DUPLICATE' }, { outcome: 'STORED' }]],
  ['shipments', 'late', [200], [{ outcome: 'STORED' }]],
  ['shipments', 'wrong-signature', [401], [{ outcome: 'REFUSED', reason: 'SIGNATURE_WRONG' }]],
  ['shipments', 'old-signature', [401], [{ outcome: 'REFUSED', reason: 'SIGNATURE_TOO_OLD' }]],
  ['payments', 'twice', [200, 200], [{ outcome: 'DUPLICATE' }, { outcome: 'STORED' }]],
  ['payments', 'wrong-signature', [401], [{ outcome: 'REFUSED', reason: 'SIGNATURE_WRONG' }]],
  ['payments', 'old-signature', [401], [{ outcome: 'REFUSED', reason: 'SIGNATURE_TOO_OLD' }]],
] as const;

test.each(orders)('sends %s %s on demand', async (family, how, statuses, outcomes) => {
  const sent = await control('/events', { family, how, data: { id: 'one' } });
  expect(sent).toMatchObject({ status: 200, body: { eventId: expect.any(String), statuses } });
  expect(await newestDeliveries(outcomes.length)).toMatchObject(outcomes);
});

test('a late event is dated days before', async () => {
  await control('/events', { family: 'shipments', data: { id: 'shp_late' } });
  const late = { family: 'shipments', how: 'late', type: 'shipment.delivered', data: { id: 'shp_late' } };
  await control('/events', late);
  const query = '{ shipment(shipmentId: "shp_late") { stage events { nodes { stage occurredAt } } } }';
  const { stage, events } = (await testbed.ask(query, {}, token)).data.shipment;
  expect(stage).toBe('CREATED');
  expect(events.nodes).toMatchObject([{ stage: 'DELIVERED' }, { stage: 'CREATED' }]);
});

test('refuses what it does not know', async () => {
  expect((await control('/events', { family: 'letters' })).status).toBe(400);
  expect((await control('/events', { family: 'shipments', to: 'sub_none' })).status).toBe(400);
  expect((await control('/rotate', { endpointId: 'sub_demo' })).status).toBe(404);
  for (const url of ['gateway', 'ftp://127.0.0.1/', 'http://a:%ZZ@127.0.0.1/', 'http://127.0.0.1/?a=b'])
    expect([url, (await control('/receiver', { url })).status]).toEqual([url, 400]);
});

test('rotates with the sender first: deliveries are accepted all the same', async () => {
  const before = testbed.sandbox.webhooks.endpoints()[0]!.secret;
  expect(await control('/rotate', {})).toMatchObject({ status: 200, body: { endpointId: 'pe_demo' } });
  expect(testbed.sandbox.webhooks.endpoints()[0]!.secret).not.toBe(before);
  expect((await control('/events', { family: 'payments' })).body).toMatchObject({ statuses: [200] });
});

test('ends the sessions of one user', async () => {
  const [demo, other] = testbed.sandbox.users;
  const { email, password } = other!;
  const theirs = await testbed.signIn({ email, password });
  const viewer = '{ viewer { email grants } }';
  expect((await testbed.ask(viewer, {}, theirs)).data.viewer).toEqual({ email: other!.email, grants: [] });
  expect((await control('/sessions/end', { email: demo!.email })).body).toEqual({ ended: 1 });
  expect(codesOf(await testbed.ask(viewer, {}, token))).toEqual(['UNAUTHENTICATED']);
  expect((await testbed.ask(viewer, {}, theirs)).errors).toBeUndefined();
  token = await testbed.signIn();
});

test('lets in the pages of its gateway, in each spelling of loopback, and of no other origin', async () => {
  const { port } = new URL(testbed.url);
  for (const origin of [testbed.url, `http://localhost:${port}`]) {
    const { status, headers } = await control('/rotate', {}, { origin });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, origin]);
  }
  const before = testbed.sandbox.clock.now();
  for (const origin of ['http://localhost:1', 'https://evil.example', 'null', `https://localhost:${port}`]) {
    const { status, headers } = await control('/clock', { advanceSeconds: 3600 }, { origin });
    expect([origin, status, headers.get('access-control-allow-origin')]).toEqual([origin, 403, null]);
  }
  expect(testbed.sandbox.clock.now() - before).toBeLessThan(3_600_000);
});

test('answers a preflight of its gateway alone, and no name but those of loopback', async () => {
  const ask = async (headers: Record<string, string>, method: 'OPTIONS' | 'GET' = 'OPTIONS') =>
    (await request(`${testbed.sandbox.url}/control/clock`, { method, headers })).statusCode;
  expect(await ask({ origin: testbed.url, 'access-control-request-method': 'POST' })).toBe(204);
  expect(await ask({ origin: 'https://evil.example' })).toBe(403);
  expect(await ask({}, 'GET')).toBe(200);
  expect(await ask({ host: 'rebound.example' }, 'GET')).toBe(403);
  expect(await ask({ 'sec-fetch-site': 'cross-site' }, 'GET')).toBe(403);
});

test('lets in the pages of its gateway at the public address, too', async () => {
  const sandbox = await startSandbox({ publicUrl: 'http://localhost:8080' });
  onTestFinished(() => sandbox.stop());
  const ask = async (origin: string) =>
    (await request(`${sandbox.url}/control/clock`, { method: 'OPTIONS', headers: { origin } })).statusCode;
  expect(await ask('http://localhost:8080')).toBe(204);
  expect(await ask('http://localhost:8081')).toBe(403);
});

test('tells a page of its gateway, too, that its body is too large', async () => {
  const { status, headers } = await control('/rotate', { x: 'x'.repeat(3_000_000) }, { origin: testbed.url });
  expect([status, headers.get('access-control-allow-origin')]).toEqual([413, testbed.url]);
});

test('a rotation that cannot be kept in the file changes nothing; the page and standard error hear of it', async () => {
  const publicUrl = 'http://localhost:8080';
  const secretsFile = join(import.meta.filename, 'sandbox.json');
  const sandbox = await startSandbox({ publicUrl, secretsFile });
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(async () => {
    said.mockRestore();
    await sandbox.stop();
  });
  const before = sandbox.settings['PAYMENT_WEBHOOKS'];
  for (const [path, allowed] of [
    ['payments/v1/webhooks/pe_demo/rotate-secret', null],
    ['control/rotate', publicUrl],
  ]) {
    const headers = { origin: publicUrl, 'content-type': 'application/json' };
    const response = await fetch(`${sandbox.url}/${path}`, { method: 'POST', headers, body: '{}' });
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([500, allowed]);
    expect(sandbox.settings['PAYMENT_WEBHOOKS']).toBe(before);
  }
  const told = [expect.stringMatching(/^The sandbox failed: Error: EEXIST/)];
  expect(said.mock.calls).toEqual([told, told]);
});

test('with a file, its secrets are the same at every start, and as rotated', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trivium-sandbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const secretsFile = join(folder, 'new', 'sandbox.json');
  const settingsOf = async (rotate = false) => {
    const sandbox = await startSandbox({ secretsFile });
    if (rotate) sandbox.webhooks.rotateSecret('pe_demo');
    const { SHIPMENT_WEBHOOKS, PAYMENT_WEBHOOKS, APPOINTMENTS_CLIENT_SECRET } = sandbox.settings;
    const [{ previous } = {}] = sandbox.webhooks.endpoints();
    await sandbox.stop();
    return { SHIPMENT_WEBHOOKS, PAYMENT_WEBHOOKS, APPOINTMENTS_CLIENT_SECRET, previous };
  };
  const first = await settingsOf();
  expect(await settingsOf()).toEqual(first);
  const rotated = await settingsOf(true);
  expect(rotated.PAYMENT_WEBHOOKS).not.toBe(first.PAYMENT_WEBHOOKS);
  expect(first.PAYMENT_WEBHOOKS).toContain(rotated.previous!.secret);
  expect(await settingsOf()).toEqual(rotated);
  expect(readFileSync(secretsFile, 'utf8')).toContain(rotated.previous!.secret);
});
