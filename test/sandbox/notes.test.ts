import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.js';
import { askNotes, type RequestOptions, signIn } from './requests.js';

const email = 'ada@example.com';
const hourMs = 3_600_000;
const note = { title: 'Title', content: 'Content' };
let sandbox: Sandbox;
let token: string;

beforeEach(async () => {
  sandbox = await startSandbox({ demo: false });
  sandbox.notes.addUser({ email, password: 'secret', name: 'Ada' });
  token = await signIn(sandbox, email, 'secret');
});
afterEach(() => sandbox.stop());

const call = (path: string, options: RequestOptions = {}) => askNotes(sandbox, path, { token, ...options });
const titles = async (path: string) => (await call(path)).body.data.map(({ title }) => title);

function fill(count: number): void {
  for (let index = 1; index <= count; index++) sandbox.notes.insert(email, { title: `n${index}` });
}

test('a user has the same id after a restart, and another than anybody else', async () => {
  const idOf = async (by: Sandbox, address: string) => {
    const { body } = await askNotes(by, '/me', { token: await signIn(by, address, 'secret') });
    return (body as unknown as { readonly id: string }).id;
  };
  const again = await startSandbox({ demo: false });
  onTestFinished(() => again.stop());
  for (const address of ['ADA@example.com', 'eve@example.com'])
    again.notes.addUser({ email: address, password: 'secret', name: 'Name' });
  expect(await idOf(again, email)).toBe(await idOf(sandbox, email));
  expect(await idOf(again, 'eve@example.com')).not.toBe(await idOf(again, email));
});

describe('tokens', () => {
  test('are issued for e-mail and password, for 24 hours', async () => {
    const json = { email: 'ADA@example.com', password: 'secret' };
    const { status, body } = await askNotes(sandbox, '/auth/token', { json });
    expect([status, body]).toMatchObject([200, { token_type: 'bearer', expires_in: 86400 }]);
  });

  test('are refused for a wrong password (401) and for a missing field (400)', async () => {
    const wrong = await askNotes(sandbox, '/auth/token', { json: { email, password: 'guess' } });
    const missing = await askNotes(sandbox, '/auth/token', { json: { email } });
    expect([wrong.status, missing.status]).toEqual([401, 400]);
  });

  test('expire after 24 hours', async () => {
    await sandbox.clock.advance(24 * hourMs - 10_000);
    expect((await call('/me')).status).toBe(200);
    await sandbox.clock.advance(10_000);
    expect(sandbox.notes.revokeTokens()).toBe(0);
    expect((await call('/me')).status).toBe(401);
  });

  test('are required, and can be revoked', async () => {
    expect((await askNotes(sandbox, '/notes')).status).toBe(401);
    expect((await askNotes(sandbox, '/notes', { token: 'unknown' })).status).toBe(401);
    expect((await call('/notes')).status).toBe(200);
    expect(sandbox.notes.revokeTokens()).toBe(1);
    expect((await call('/notes')).status).toBe(401);
    token = await signIn(sandbox, email, 'secret');
    expect((await call('/notes')).status).toBe(200);
  });

  test('have an hourly quota of requests', async () => {
    sandbox.notes.requestsPerHour = 3;
    for (let used = 0; used < 3; used++) expect((await call('/me')).status).toBe(200);
    await sandbox.clock.advance(hourMs / 2);
    const refused = await call('/me');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeCloseTo(1800, -1);
    await sandbox.clock.advance(hourMs / 2);
    expect((await call('/me')).status).toBe(200);
  });
});

describe('the user', () => {
  test('has a creation time with fractional seconds', async () => {
    const { body } = await call('/me');
    expect(body).toMatchObject({ email, name: 'Ada' });
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
  });
});

describe('notes', () => {
  test('are created with defaults', async () => {
    const { status, body } = await call('/notes', { json: note });
    expect([status, body]).toMatchObject([201, { ...note, tags: [], is_pinned: false }]);
    expect(body.created_at).toBe(body.updated_at);
  });

  test.each([
    ['no title', { content: 'Content' }],
    ['an empty title', { ...note, title: '' }],
    ['no content', { title: 'Title' }],
    ['10,001 characters', { ...note, content: 'x'.repeat(10_001) }],
    ['tags that are not a list', { ...note, tags: 'work' }],
    ['a pin that is not a boolean', { ...note, is_pinned: 'yes' }],
  ])('with %s are refused', async (_, json) => {
    expect((await call('/notes', { json })).status).toBe(400);
  });

  test('may have 10,000 characters, counted as code points', async () => {
    expect((await call('/notes', { json: { ...note, content: '😀'.repeat(10_000) } })).status).toBe(201);
  });

  test('change only in the fields sent', async () => {
    const { id } = sandbox.notes.insert(email, { title: 'Old', content: 'Kept', tags: ['a'] });
    await sandbox.clock.advance(1000);
    const { status, body } = await call(`/notes/${id}`, { method: 'PATCH', json: { title: 'New' } });
    expect([status, body]).toMatchObject([200, { title: 'New', content: 'Kept', tags: ['a'] }]);
    expect(Date.parse(body.updated_at ?? '')).toBeGreaterThan(Date.parse(body.created_at ?? ''));
  });

  test('of other users are not found', async () => {
    sandbox.notes.addUser({ email: 'eve@example.com', password: 'secret', name: 'Eve' });
    const { id } = sandbox.notes.insert('eve@example.com', {});
    const change = await call(`/notes/${id}`, { method: 'PATCH', json: {} });
    const deletion = await call(`/notes/${id}`, { method: 'DELETE' });
    const json = { email: 'bob@example.com', permission: 'read' };
    const share = await call(`/notes/${id}/share`, { json });
    expect([change.status, deletion.status, share.status]).toEqual([404, 404, 404]);
    expect(await titles('/notes')).toEqual([]);
    expect([sandbox.notes.noteCount('eve@example.com'), sandbox.notes.shares]).toEqual([1, []]);
  });

  test('are marked as deleted, and removed after 30 days', async () => {
    const { id } = sandbox.notes.insert(email, {});
    const first = await call(`/notes/${id}`, { method: 'DELETE' });
    expect([first.status, first.body]).toEqual([200, { deleted: true }]);
    expect((await call(`/notes/${id}`, { method: 'DELETE' })).status).toBe(404);
    expect([sandbox.notes.noteCount(email), sandbox.notes.deletedCount(email)]).toEqual([0, 1]);
    await sandbox.clock.advance(30 * 24 * hourMs - 10_000);
    expect(sandbox.notes.deletedCount(email)).toBe(1);
    await sandbox.clock.advance(10_000);
    expect(sandbox.notes.deletedCount(email)).toBe(0);
  });

  test('can be pinned, up to 50 at a time', async () => {
    for (let pinned = 0; pinned < 50; pinned++) sandbox.notes.insert(email, { is_pinned: true });
    const { id } = sandbox.notes.insert(email, {});
    const patch = { method: 'PATCH', json: { is_pinned: true } };
    expect((await call('/notes', { json: { ...note, is_pinned: true } })).status).toBe(422);
    expect((await call(`/notes/${id}`, patch)).status).toBe(422);
    const pinned = (await call('/notes?pinned=true&limit=1')).body.data[0];
    expect((await call(`/notes/${pinned?.id}`, patch)).status).toBe(200);
    sandbox.notes.delete(email, pinned?.id ?? '');
    expect((await call(`/notes/${id}`, patch)).status).toBe(200);
  });

  test('can be shared: 204 with an empty body', async () => {
    const { id } = sandbox.notes.insert(email, {});
    const share = { email: 'bob@example.com', permission: 'comment' };
    const done = await call(`/notes/${id}/share`, { json: share });
    const odd = await call(`/notes/${id}/share`, { json: { ...share, permission: 'own' } });
    const gone = await call('/notes/none/share', { json: share });
    expect([done.status, odd.status, gone.status]).toEqual([204, 400, 404]);
    expect(sandbox.notes.shares).toEqual([{ noteId: id, ...share }]);
  });

  test('need a JSON body', async () => {
    const headers = { authorization: `Bearer ${token}` };
    const url = `${sandbox.url}/notes/v1/notes`;
    const plain = await fetch(url, { method: 'POST', headers, body: JSON.stringify(note) });
    const broken = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: '{',
    });
    expect([plain.status, broken.status]).toEqual([415, 400]);
  });
});

describe('tags', () => {
  test('are case-insensitive, keep their first spelling, and have counts', async () => {
    await call('/notes', { json: { ...note, tags: ['Work', 'WORK', 'home'] } });
    await call('/notes', { json: { ...note, tags: ['work'] } });
    expect((await call('/tags')).body).toEqual({
      tags: [
        { name: 'Work', count: 2 },
        { name: 'home', count: 1 },
      ],
    });
    expect(await titles('/notes?tag=wORK')).toHaveLength(2);
  });
});

describe('pages', () => {
  test('hold 20 notes, newest first, until the last', async () => {
    fill(25);
    const first = await call('/notes');
    expect(first.body.data.map(({ title }) => title)).toEqual(
      Array.from({ length: 20 }, (_, index) => `n${25 - index}`),
    );
    const second = await call(`/notes?cursor=${first.body.next_cursor}`);
    expect(second.body.data.map(({ title }) => title)).toEqual(['n5', 'n4', 'n3', 'n2', 'n1']);
    expect(second.body.next_cursor).toBeNull();
  });

  test('neither repeat nor skip a note when others are added and deleted in between', async () => {
    fill(6);
    const first = await call('/notes?limit=3');
    sandbox.notes.insert(email, { title: 'new' });
    sandbox.notes.delete(email, first.body.data[2]?.id ?? '');
    expect(await titles(`/notes?limit=3&cursor=${first.body.next_cursor}`)).toEqual(['n3', 'n2', 'n1']);
  });

  test('mark the last page in the way that is configured', async () => {
    sandbox.notes.nextCursorAtEnd = 'empty';
    expect((await call('/notes')).body).toEqual({ data: [], next_cursor: '' });
    sandbox.notes.nextCursorAtEnd = 'absent';
    expect((await call('/notes')).body).toEqual({ data: [] });
    sandbox.notes.nextCursorAtEnd = 'repeated';
    fill(2);
    const { body: last } = await call('/notes');
    expect(last).toEqual({ data: [expect.anything(), expect.anything()], next_cursor: expect.any(String) });
    const { next_cursor: cursor } = last;
    expect((await call(`/notes?cursor=${cursor}`)).body).toEqual({ data: [], next_cursor: cursor });
  });

  test('are no larger than the maximum: a larger limit is refused (400) or clamped', async () => {
    fill(6);
    Object.assign(sandbox.notes.pageLimit, { max: 4 });
    expect((await call('/notes?limit=5')).status).toBe(400);
    expect(await titles('/notes')).toHaveLength(4);
    Object.assign(sandbox.notes.pageLimit, { mode: 'clamp' });
    const clamped = await call('/notes?limit=5');
    expect(clamped.body.data).toHaveLength(4);
    expect(clamped.body.next_cursor).toEqual(expect.any(String));
  });

  test('can be filtered by pinned notes', async () => {
    fill(2);
    sandbox.notes.insert(email, { title: 'pinned', is_pinned: true });
    expect(await titles('/notes?pinned=true')).toEqual(['pinned']);
    expect(await titles('/notes?pinned=false')).toEqual(['n2', 'n1']);
  });

  test.each(['limit=0', 'limit=x', 'limit=101', 'pinned=yes', 'cursor=x', 'cursor=', 'tag='])(
    'refuse %s',
    async (query) => {
      expect((await call(`/notes?${query}`)).status).toBe(400);
    },
  );
});
