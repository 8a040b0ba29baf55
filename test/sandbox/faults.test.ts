import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { FaultAction } from '../../src/sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.js';
import { ask, askNotes, signIn, type RequestOptions } from './requests.js';

const email = 'demo@example.com';
const note = { title: 'Title', content: 'Content' };
let sandbox: Sandbox;
let token: string;

beforeEach(async () => {
  sandbox = await startSandbox();
  token = await signIn(sandbox);
});
afterEach(() => sandbox.stop());

const me = () => askNotes(sandbox, '/me', { token });
const create = () => askNotes(sandbox, '/notes', { token, json: note });
const fail = (act: FaultAction) => sandbox.faults.add({ service: 'notes', act, times: 1 });

test('hang never answers', async () => {
  fail({ kind: 'hang' });
  const signal = AbortSignal.timeout(100);
  await expect(fetch(`${sandbox.url}/notes/v1/me`, { signal })).rejects.toThrow('timeout');
});

test('refuse ends the connection before the request takes effect', async () => {
  fail({ kind: 'refuse' });
  await expect(create()).rejects.toThrow('fetch failed');
  expect(sandbox.notes.noteCount(email)).toBe(45);
});

test('cut ends the connection in the middle of the body', async () => {
  fail({ kind: 'cut', afterBytes: 10 });
  const response = await fetch(`${sandbox.url}/notes/v1/me`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(response.status).toBe(200);
  expect(Number(response.headers.get('content-length'))).toBeGreaterThan(10);
  await expect(response.text()).rejects.toThrow('terminated');
});

test('answer replaces the answer of the service', async () => {
  fail({
    kind: 'answer',
    status: 429,
    headers: { 'retry-after': '7' },
    body: '<p>No.</p>',
    contentType: 'text/html',
  });
  const response = await fetch(`${sandbox.url}/notes/v1/me`);
  expect([
    response.status,
    response.headers.get('retry-after'),
    response.headers.get('content-type'),
  ]).toEqual([429, '7', 'text/html']);
  expect(await response.text()).toBe('<p>No.</p>');
});

test('answer has one content type, however its header is written', async () => {
  fail({ kind: 'answer', status: 503, headers: { 'Content-Type': 'text/plain' }, body: 'No.' });
  const { headers } = await fetch(`${sandbox.url}/notes/v1/me`);
  expect(headers.get('content-type')).toBe('text/plain');
});

test('delay waits, then handles the request or does something else', async () => {
  fail({ kind: 'delay', ms: 60 });
  fail({ kind: 'delay', ms: 60, act: { kind: 'answer', status: 503, body: '{}' } });
  const start = performance.now();
  expect((await me()).status).toBe(200);
  expect((await me()).status).toBe(503);
  expect(performance.now() - start).toBeGreaterThanOrEqual(110);
});

test('afterwards lets the request take effect first', async () => {
  fail({ kind: 'afterwards', act: { kind: 'refuse' } });
  await expect(create()).rejects.toThrow('fetch failed');
  fail({ kind: 'afterwards', act: { kind: 'answer', status: 502, body: '{}' } });
  expect((await create()).status).toBe(502);
  expect(sandbox.notes.noteCount(email)).toBe(47);
});

test('a fault matches by service, method and path, as often as set, until it is removed', async () => {
  const act: FaultAction = { kind: 'answer', status: 500, body: '{}' };
  sandbox.faults.add({ service: 'issuer', act });
  sandbox.faults.add({ service: 'notes', method: 'GET', path: /^\/notes\?.*limit=1/g, act, times: 2 });
  const list = async (query: string) => (await askNotes(sandbox, `/notes?${query}`, { token })).status;
  expect([await list('limit=2'), (await create()).status]).toEqual([200, 201]);
  expect([await list('limit=1'), await list('limit=1'), await list('limit=1')]).toEqual([500, 500, 200]);
  const remove = sandbox.faults.add({ service: 'notes', act });
  expect((await me()).status).toBe(500);
  remove();
  expect((await me()).status).toBe(200);
  sandbox.faults.add({ service: 'notes', act });
  sandbox.faults.clear();
  expect((await me()).status).toBe(200);
});

describe('the control API', () => {
  const control = (options: RequestOptions) => ask(`${sandbox.url}/control/faults`, options);

  test('adds a fault that applies as often as set', async () => {
    const act = { kind: 'delay', ms: 1, act: { kind: 'answer', status: 503 } };
    const fault = { service: 'notes', method: 'get', path: '^/me$', times: 2, act };
    expect((await control({ json: fault })).status).toBe(201);
    expect((await create()).status).toBe(201);
    const statuses = [await me(), await me(), await me()].map(({ status }) => status);
    expect(statuses).toEqual([503, 503, 200]);
  });

  test('removes all faults', async () => {
    await control({ json: { service: 'notes', act: { kind: 'answer', status: 500 } } });
    expect((await me()).status).toBe(500);
    expect((await control({ method: 'DELETE' })).status).toBe(200);
    expect((await me()).status).toBe(200);
  });

  test.each([
    [{}, 'service'],
    [{ service: 'notes', act: { kind: 'explode' } }, 'act.kind'],
    [{ service: 'notes', act: { kind: 'hang' }, path: '(' }, 'is not a regular expression'],
    [{ service: 'notes', act: { kind: 'delay', ms: 1, act: { kind: 'answer' } } }, 'act.act.status'],
    [{ service: 'notes', act: { kind: 'hang' }, often: 1 }, 'often'],
    [{ service: 'notes', act: { kind: 'answer', status: 503, headers: { 'a b': 'c' } } }, 'cannot be sent'],
  ])('names what is wrong with %j', async (fault, words) => {
    const { status, body } = await control({ json: fault });
    expect([status, body.error?.message]).toEqual([400, expect.stringContaining(words)]);
    expect((await me()).status).toBe(200);
  });
});
