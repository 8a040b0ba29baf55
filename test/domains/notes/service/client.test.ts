import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SessionEnded } from '../../../../src/graphql/errors.js';
import {
  createNotesClient,
  type IssuedToken,
  type NotesClient,
  type NotesSettings,
} from '../../../../src/domains/notes/service/client.js';
import type { FaultAction } from '../../../../src/sandbox/faults.js';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.js';
import { LightAbortController } from '../../../../src/lib/async/abort.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';

const settings = {
  emailField: 'email',
  passwordField: 'password',
  tokenField: undefined,
  tokenLifetimeSeconds: 86_400,
};
const secret = 'secret words of the service';
/** Longer than any call takes on a busy machine: where it has to pass, timers are faked. */
const timeoutMs = 60_000;

let sandbox: Sandbox;
let notes: NotesClient;
let token: string;
let lines: string[];

function connect(other: Partial<NotesSettings> = {}): NotesClient {
  return createNotesClient({
    baseUrl: `${sandbox.url}/notes/v1`,
    ...settings,
    ...other,
    telemetry: createTelemetry('info', { write: (line) => void lines.push(line) }),
    clock: sandbox.clock,
    timeoutMs,
  });
}

async function signIn(client = notes): Promise<IssuedToken> {
  const issued = await client.signIn('demo@example.com', 'demo-password', 'network');
  if (issued === 'WRONG_CREDENTIALS') throw new Error('The demo user cannot sign in.');
  return issued;
}

/** Makes the service do this on its next `times` calls. */
function misbehave(act: FaultAction, times = Infinity): void {
  sandbox.faults.add({ service: 'notes', act, times });
}

/** Makes the service answer every call with this. */
function answer(status: number, value: unknown, headers: Record<string, string> = {}): void {
  misbehave({
    kind: 'answer',
    status,
    headers,
    body: typeof value === 'string' ? value : JSON.stringify(value),
  });
}

const callsTo = (path: string) => sandbox.calls.filter((call) => call.path.startsWith(path)).length;

/** Lets the timers of calls fire only in `timeOut`; to be called before the calls. */
function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
}

/** Lets the time of the calls in progress run out, once the service has received `count` calls in all. */
async function timeOut(count: number): Promise<void> {
  await expect.poll(() => sandbox.calls).toHaveLength(count);
  await vi.advanceTimersByTimeAsync(timeoutMs);
}

beforeEach(async () => {
  sandbox = await startSandbox();
  lines = [];
  notes = connect();
  ({ token } = await signIn());
  sandbox.calls.length = 0;
});

afterEach(async () => {
  vi.useRealTimers();
  await notes.stop();
  await sandbox.stop();
});

const note = {
  id: 'n1',
  title: 'A title',
  content: 'Words.',
  tags: ['Work'],
  is_pinned: true,
  created_at: '2026-01-02T03:04:05Z',
  updated_at: '2026-01-02T03:04:06.789Z',
};
const parsedNote = {
  kind: 'Note',
  upstreamId: 'n1',
  title: 'A title',
  content: 'Words.',
  tags: [{ kind: 'Tag', name: 'Work' }],
  isPinned: true,
  createdAt: note.created_at,
  updatedAt: note.updated_at,
};

describe('the calls of apis/notes.md §4', () => {
  it('list, create, update, share and delete notes', async () => {
    const made = await notes.create(token, { title: 'Words', content: 'Many.', tags: ['a'], isPinned: true });
    if ('refused' in made) throw new Error('The note was refused.');
    expect(made).toMatchObject({ kind: 'Note', title: 'Words', isPinned: true, tags: [{ name: 'a' }] });
    const changed = await notes.update(token, made.upstreamId, { title: 'Fewer' });
    expect(changed).toMatchObject({ title: 'Fewer', content: 'Many.', isPinned: true });
    const share = { email: 'a@example.com', permission: 'read' } as const;
    expect(await notes.share(token, made.upstreamId, share)).toBeUndefined();
    expect(sandbox.notes.shares).toMatchObject([{ noteId: made.upstreamId, ...share }]);
    expect(await notes.list(token, { tag: 'a', pinned: true, limit: 5 })).toMatchObject({ notes: [changed] });
    expect(await notes.remove(token, made.upstreamId)).toBeUndefined();
    expect(await notes.remove(token, made.upstreamId)).toEqual({ refused: 404 });
  });

  it('find a tag that has blanks, which are sent so that any service decodes them', async () => {
    const made = await notes.create(token, { title: 'T', content: 'C', tags: ['to do + more'] });
    expect(await notes.list(token, { tag: 'to do + more', limit: 5 })).toMatchObject({ notes: [made] });
    expect(sandbox.calls.at(-1)).toMatchObject({ path: '/notes?tag=to%20do%20%2B%20more&limit=5' });
  });

  it('read the user and the tags', async () => {
    expect(await notes.me(token)).toMatchObject({ email: 'demo@example.com' });
    const tags = await notes.tags(token);
    expect(tags.length).toBeGreaterThan(0);
    expect(tags[0]).toEqual({ kind: 'Tag', name: expect.any(String), count: expect.any(Number) });
  });

  it('return the status of a refusal', async () => {
    expect(await notes.create(token, { title: '', content: 'x' })).toEqual({ refused: 400 });
    expect(await notes.list(token, { limit: 101 })).toEqual({ refused: 400 });
    expect(await notes.share(token, 'nobody', { email: 'a@b', permission: 'edit' })).toEqual({
      refused: 404,
    });
  });

  it.each(['..', '.', '', '\ud800', 'a/../b?c#d%2f'])(
    'keep the id %j within one path segment',
    async (id) => {
      expect(await notes.update(token, id, { title: 'x' })).toEqual({ refused: 404 });
      expect(await notes.share(token, id, { email: 'a@b', permission: 'edit' })).toEqual({ refused: 404 });
      expect(sandbox.calls.filter(({ path }) => !/^\/notes\/[^/?]+(\/share)?$/.test(path))).toEqual([]);
    },
  );
});

describe('signing in', () => {
  it('returns the token and when it expires', async () => {
    const { token: issued, expiresAt } = await signIn();
    expect(issued).toMatch(/^\S+$/);
    expect(Math.abs(expiresAt - sandbox.clock.now() - 86_400_000)).toBeLessThan(5_000);
  });

  it('reports wrong credentials', async () => {
    expect(await notes.signIn('demo@example.com', 'wrong', 'network')).toBe('WRONG_CREDENTIALS');
  });

  it.each([400, 401, 403, 422])('treats %i as wrong credentials', async (status) => {
    answer(status, secret);
    expect(await notes.signIn('a', 'b', 'network')).toBe('WRONG_CREDENTIALS');
  });

  it.each([404, 405, 418])('treats %i as an invalid response', async (status) => {
    answer(status, secret);
    await expect(notes.signIn('a', 'b', 'network')).rejects.toMatchObject({
      code: 'UPSTREAM_INVALID_RESPONSE',
    });
  });

  it.each([
    [{ access_token: 'one', expires_in: 60 }, 60],
    [{ accessToken: 'one' }, 86_400],
    [{ token: 'one', expires_in: '120' }, 120],
    [{ access_token: null, token: 'one', expires_in: 0 }, 86_400],
    [{ data: { token: 'one', expires_in: 30 } }, 30],
    [{ user: { id: 7, token: 'one' }, expires_in: 50 }, 50],
    [{ token: { access_token: 'one', expires_in: 40 } }, 40],
    [{ result: [], data: { user: {} }, tokens: { accessToken: 'one' } }, 86_400],
    [[{ token: 'one' }], 86_400],
    ['"one"', 86_400],
  ])('finds the token in %j', async (body, seconds) => {
    answer(201, body);
    const { token: found, expiresAt } = await signIn();
    expect(found).toBe('one');
    expect(Math.abs(expiresAt - sandbox.clock.now() - seconds * 1000)).toBeLessThan(5_000);
  });

  it.each([
    {},
    [[]],
    { token: '' },
    { token: 7 },
    { token: 'not sendable' },
    { token: 'line\n' },
    { csrf: { token: 'one' }, session: { token: 'two' } },
    { a: { b: { token: 'one' } } },
    'text',
    '"two words"',
    '""',
    '',
  ])('rejects %j, which has no usable token', async (body) => {
    answer(200, body);
    await expect(notes.signIn('a', 'b', 'network')).rejects.toMatchObject({
      code: 'UPSTREAM_INVALID_RESPONSE',
    });
  });

  it.each([
    ['user.auth.jwt', { user: { auth: { jwt: 'one', expires_in: 30 } }, token: 'no' }, 30],
    ['user.jwt', { user: { jwt: 'no' }, 'user.jwt': 'one' }, 9],
    ['user.jwt', { data: { user: { jwt: 'one' } }, expires_in: 20 }, 20],
    ['auth.jwt', { data: { expires_in: 60, auth: { jwt: 'one' } }, expires_in: 50 }, 60],
    ['user.auth.jwt', { user: { expires_in: 40, auth: { jwt: 'one', expires_in: null } } }, 40],
    ['tokens.0.value', { tokens: [{ value: 'one' }] }, 9],
    ['session.token', { csrf: { token: 'no' }, session: { token: 'one' } }, 9],
  ])('reads the token at the configured path %s from %j', async (tokenField, body, seconds) => {
    const other = connect({ tokenField, tokenLifetimeSeconds: 9 });
    answer(200, body);
    const issued = await signIn(other);
    expect(issued.token).toBe('one');
    expect(Math.abs(issued.expiresAt - sandbox.clock.now() - seconds * 1000)).toBeLessThan(1_000);
    await other.stop();
  });

  it('uses the configured field names and token lifetime', async () => {
    const other = connect({
      emailField: 'login',
      passwordField: 'pass',
      tokenField: 'jwt',
      tokenLifetimeSeconds: 9,
    });
    expect(await other.signIn('demo@example.com', 'demo-password', 'network')).toBe('WRONG_CREDENTIALS');
    answer(200, { token: 'no', jwt: 'yes' });
    const issued = await signIn(other);
    expect(issued.token).toBe('yes');
    expect(Math.abs(issued.expiresAt - sandbox.clock.now() - 9_000)).toBeLessThan(1_000);
    await other.stop();
  });
});

describe('an answer', () => {
  const list = () => notes.list(token, { limit: 20 });

  it('is parsed, and unknown members are ignored', async () => {
    const body = JSON.stringify({ data: [{ ...note, colour: 'röt' }], next_cursor: 'more', total: 1 });
    answer(200, body);
    const bytes = Buffer.byteLength(body);
    expect(await list()).toEqual({ notes: [parsedNote], nextCursor: 'more', bytes });
  });

  it.each([{ next_cursor: null }, { next_cursor: '' }, { next_cursor: false }, { next_cursor: 0 }, {}])(
    'with %j is the last page',
    async (end) => {
      answer(200, { data: [], ...end });
      expect(await list()).toMatchObject({ notes: [], nextCursor: undefined });
    },
  );

  it('may have a whole number for a cursor, which is sent back as it was', async () => {
    answer(200, { data: [note], next_cursor: 7 });
    expect(await list()).toMatchObject({ nextCursor: '7' });
    answer(200, { data: [] });
    await notes.list(token, { limit: 20, cursor: '7' });
    expect(sandbox.calls.at(-1)).toMatchObject({ path: '/notes?limit=20&cursor=7' });
  });

  it.each(['null', 'empty', 'absent'] as const)(
    'of the sandbox is the last page if its next cursor is %s',
    async (end) => {
      sandbox.notes.nextCursorAtEnd = end;
      expect(await notes.list(token, { limit: 100 })).toMatchObject({ nextCursor: undefined });
    },
  );

  it.each([
    ['no tags', { tags: undefined }, { tags: [] }],
    ['null for tags', { tags: null }, { tags: [] }],
    ['no pin', { is_pinned: undefined }, { isPinned: false }],
    ['a number for an id', { id: 17 }, { upstreamId: '17' }],
  ])('may hold a note with %s', async (_, given, seen) => {
    answer(200, { data: [{ ...note, ...given }] });
    expect(await list()).toMatchObject({ notes: [{ ...parsedNote, ...seen }] });
  });

  it.each([
    { id: undefined },
    { id: '' },
    { id: 1.5 },
    { title: null },
    { content: 7 },
    { tags: 'a' },
    { tags: [1] },
    { is_pinned: 'yes' },
    { created_at: undefined },
    { updated_at: 1_700_000_000 },
  ])('is refused if a note in it has the wrong shape: %j', async (given) => {
    answer(200, { data: [note, { ...note, ...given }] });
    await expect(list()).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
  });

  it.each([
    {},
    [[]],
    { data: {} },
    { data: [null] },
    { data: [], next_cursor: 1.5 },
    { data: [], next_cursor: 2 ** 53 },
    { data: [], next_cursor: true },
    { data: [], next_cursor: ['a'] },
    'null',
    '""',
    '<html>',
    '',
  ])('is refused if it is not a page: %j', async (body) => {
    answer(200, body);
    await expect(list()).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
  });

  const counted = (count: number) => ({ tags: [{ name: 'a', count }] });
  it.each([{}, { tags: {} }, { tags: [{ name: 'a' }] }, counted(1.5), counted(2 ** 31), [[]], '<html>'])(
    'is refused if it is not a list of tags: %j',
    async (body) => {
      answer(200, body);
      await expect(notes.tags(token)).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
    },
  );

  it.each([{}, { id: 'u', email: 'e', name: 'n' }, '', '[]'])(
    'is refused if it is not a user: %j',
    async (body) => {
      answer(200, body);
      await expect(notes.me(token)).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
    },
  );

  it.each([{ deleted: false }, {}, '', '<html>'])(
    'is refused if it does not confirm a deletion: %j',
    async (body) => {
      answer(200, body);
      await expect(notes.remove(token, 'n1')).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
    },
  );

  it.each([200, 201, 202, 204])('of %i with an empty body confirms a share', async (status) => {
    answer(status, '');
    expect(await notes.share(token, 'n1', { email: 'a@b', permission: 'edit' })).toBeUndefined();
  });

  it('is parsed whatever its content type', async () => {
    answer(200, { data: [note] }, { 'content-type': 'text/html; charset=latin1' });
    expect(await list()).toMatchObject({ notes: [parsedNote] });
  });

  it('of 10 MB is refused', async () => {
    answer(200, { data: [{ ...note, content: 'x'.repeat(10_000_000) }] });
    await expect(list()).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
  });

  it('with a hundred notes of 10,000 astral characters is accepted', async () => {
    const long = { ...note, content: '\u{1F600}'.repeat(10_000) };
    answer(200, { data: Array.from({ length: 100 }, () => long) });
    expect(await notes.list(token, { limit: 100 })).toHaveProperty('notes.length', 100);
  });
});

describe('an answer that apis/notes.md does not allow', () => {
  const logged = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);

  it.each<[string, (client: NotesClient) => Promise<unknown>]>([
    ['GET /me', (client) => client.me(token)],
    ['GET /tags', (client) => client.tags(token)],
    ['GET /notes', (client) => client.list(token, { limit: 1, tag: secret })],
    ['POST /notes', (client) => client.create(token, { title: secret, content: secret })],
    ['PATCH /notes/n1', (client) => client.update(token, 'n1', { title: secret })],
    ['DELETE /notes/n1', (client) => client.remove(token, 'n1')],
    ['POST /auth/token', (client) => client.signIn(secret, secret, 'network')],
  ])('is logged without its text: %s', async (call, make) => {
    const [method = '', path = ''] = call.split(' ');
    for (const body of [`{"data":"${secret}","token":{}}`, `<p>${secret}`, `{"data":[{"id":"${secret}`]) {
      answer(200, body);
      await expect(make(notes)).rejects.toMatchObject({ reason: 'misshapen' });
    }
    const route = `/notes/v1${path}`;
    expect(logged()[0]).toMatchObject({ level: 40, method, route, reason: 'misshapen', status: 200 });
    expect(lines.join('')).not.toMatch(/secret|words/);
    expect(lines.join('')).not.toContain(token);
  });

  it.each<[string, number, string, (client: NotesClient) => Promise<unknown>]>([
    ['GET /me', 403, 'misshapen', (client) => client.me(token)],
    ['GET /notes', 403, 'misshapen', (client) => client.list(token, { limit: 1 })],
    ['POST /auth/token', 404, 'misshapen', (client) => client.signIn('a', 'b', 'network')],
    ['POST /auth/token', 408, 'failing', (client) => client.signIn('a', 'b', 'network')],
  ])('is logged with its status: %s answered %i', async (_, status, reason, make) => {
    answer(status, secret);
    await expect(make(notes)).rejects.toMatchObject({ reason, uncertain: true });
    expect(logged()).toMatchObject([{ reason, status }]);
  });

  it('is logged if its token cannot be sent in a header', async () => {
    answer(200, { token: `${secret}\n` });
    await expect(notes.signIn('a', 'b', 'network')).rejects.toMatchObject({ reason: 'unsendable' });
    expect(logged()).toMatchObject([{ reason: 'unsendable' }]);
    expect(lines.join('')).not.toContain(secret);
  });

  it('is the only kind logged: refusals and ended sessions are not', async () => {
    expect(await notes.list(token, { limit: 101 })).toEqual({ refused: 400 });
    expect(await notes.signIn('demo@example.com', 'wrong', 'network')).toBe('WRONG_CREDENTIALS');
    sandbox.notes.revokeTokens();
    await expect(notes.me(token)).rejects.toBeInstanceOf(SessionEnded);
    expect(lines).toEqual([]);
  });
});

it('a write that is refused over and over, perhaps for its address, is logged once a second for each status', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  for (const status of [404, 404, 403, 404]) {
    misbehave({ kind: 'answer', status }, 1);
    await notes.create(token, { title: 'T', content: 'x' });
  }
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([{ status: 404 }, { status: 403 }]);
});

describe('a failing service', () => {
  const unavailable = 'UPSTREAM_UNAVAILABLE';

  it.each<[string, FaultAction, string, number]>([
    ['closes the connection', { kind: 'refuse' }, unavailable, 3],
    ['cuts its answer', { kind: 'cut' }, unavailable, 3],
    ['answers 500', { kind: 'answer', status: 500, body: secret }, unavailable, 3],
    ['answers HTML', { kind: 'answer', status: 200, body: `<p>${secret}` }, 'UPSTREAM_INVALID_RESPONSE', 1],
  ])('is reported by a code, without its text, if it %s', async (_, act, code, calls) => {
    misbehave(act);
    const error: unknown = await notes.me(token).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code, extensions: { code } });
    expect(JSON.stringify([error, String(error)])).not.toContain(secret);
    expect(sandbox.calls).toHaveLength(calls);
  });

  it('is reported by a code, without a retry, if it hangs', async () => {
    misbehave({ kind: 'hang' });
    fakeTimers();
    const call = notes.me(token).catch((failure: unknown) => failure);
    await timeOut(1);
    const code = 'UPSTREAM_TIMEOUT';
    expect(await call).toMatchObject({ code, extensions: { code } });
    expect(sandbox.calls).toHaveLength(1);
  });

  it.each<[string, FaultAction]>([
    ['a cut', { kind: 'cut' }],
    ['a 500', { kind: 'afterwards', act: { kind: 'answer', status: 500 } }],
  ])('receives a write once, whatever follows: %s', async (_, act) => {
    const before = sandbox.notes.noteCount('demo@example.com');
    misbehave(act);
    await expect(notes.create(token, { title: 'a', content: 'b' })).rejects.toMatchObject({
      uncertain: true,
    });
    expect(sandbox.notes.noteCount('demo@example.com')).toBe(before + 1);
    expect(sandbox.calls).toHaveLength(1);
  });

  it('receives a write once, even if it never answers', async () => {
    const before = sandbox.notes.noteCount('demo@example.com');
    misbehave({ kind: 'afterwards', act: { kind: 'hang' } });
    fakeTimers();
    const call = notes.create(token, { title: 'a', content: 'b' }).catch((failure: unknown) => failure);
    await timeOut(1);
    expect(await call).toMatchObject({ code: 'UPSTREAM_TIMEOUT', uncertain: true });
    expect(sandbox.notes.noteCount('demo@example.com')).toBe(before + 1);
    expect(sandbox.calls).toHaveLength(1);
  });

  it('is retried within one call until it recovers', async () => {
    misbehave({ kind: 'refuse' }, 2);
    expect(await notes.me(token)).toMatchObject({ email: 'demo@example.com' });
  });

  it.each([
    ...[403, 404, 405, 409].map((status) => [status, 'UPSTREAM_INVALID_RESPONSE'] as const),
    ...[408, 421, 423, 425].map((status) => [status, unavailable] as const),
  ])('is reported by a code if it answers %i to a read: %s', async (status, code) => {
    answer(status, secret);
    const reads = [notes.me(token), notes.tags(token), notes.list(token, { limit: 20 })];
    await Promise.all(reads.map((read) => expect(read).rejects.toMatchObject({ code })));
  });

  it.each([400, 414, 431])('refuses a query, maybe, if it answers %i to a list', async (status) => {
    answer(status, secret);
    expect(await notes.list(token, { limit: 20 })).toEqual({ refused: status });
    expect(lines).toEqual([]);
  });
});

describe('a token', () => {
  it('that the service rejects ends its session, in every call, without a retry', async () => {
    sandbox.notes.revokeTokens();
    const share = { email: 'a@b', permission: 'edit' } as const;
    const outcomes = await Promise.allSettled([
      notes.me(token),
      notes.tags(token),
      notes.list(token, { limit: 1 }),
      notes.create(token, { title: 'a', content: 'b' }),
      notes.update(token, 'n1', {}),
      notes.remove(token, 'n1'),
      notes.share(token, 'n1', share),
    ]);
    for (const outcome of outcomes) expect(outcome).toHaveProperty('reason', new SessionEnded());
    expect(sandbox.calls).toHaveLength(7);
  });

  it('that is rate limited reports the Retry-After, and makes no calls until then', async () => {
    answer(429, secret, { 'retry-after': '120' });
    const limited = { extensions: { code: 'RATE_LIMITED', retryAfter: 120 } };
    await expect(notes.me(token)).rejects.toMatchObject(limited);
    await expect(notes.create(token, { title: 'a', content: 'b' })).rejects.toMatchObject({
      code: 'RATE_LIMITED',
    });
    expect(sandbox.calls).toHaveLength(1);
    sandbox.faults.clear();
    await sandbox.clock.advance(120_000);
    expect(await notes.me(token)).toMatchObject({ email: 'demo@example.com' });
  });

  it('that is rate limited without a Retry-After waits for a minute', async () => {
    answer(429, '');
    await expect(notes.me(token)).rejects.toMatchObject({ extensions: { retryAfter: 60 } });
  });

  it('makes a thousand calls an hour, and is limited before the service has to refuse one', async () => {
    const calls = Array.from(
      { length: 1000 },
      (_, limit) => () => notes.list(token, { limit: 1 + (limit % 100) }),
    );
    for (const call of calls) await call();
    await expect(notes.me(token)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    expect(sandbox.calls).toHaveLength(1000);
    expect(await notes.me((await signIn()).token)).toMatchObject({ email: 'demo@example.com' });
  });
});

describe('identical reads', () => {
  const first = (signal?: LightAbortController) => notes.list(token, { limit: 20 }, signal);

  it('share one call while it is in flight', async () => {
    const pages = await Promise.all(Array.from({ length: 50 }, () => first()));
    expect(new Set(pages)).toHaveProperty('size', 1);
    expect(callsTo('/notes')).toBe(1);
    await first();
    expect(callsTo('/notes')).toBe(2);
  });

  it('do not share a call across tokens or queries', async () => {
    const { token: other } = await signIn();
    await Promise.all([
      first(),
      notes.list(other, { limit: 20 }),
      notes.list(token, { limit: 20, pinned: true }),
    ]);
    expect(callsTo('/notes')).toBe(3);
  });

  it('continue for the others when one caller aborts', async () => {
    misbehave({ kind: 'delay', ms: 100 });
    const ending = new LightAbortController();
    const [leaving, staying] = [first(ending), first(new LightAbortController())];
    ending.abort();
    await expect(leaving).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect(await staying).toHaveProperty('notes');
    expect(callsTo('/notes')).toBe(1);
  });

  it('see a write that ended before them, even if an older read is still in flight', async () => {
    // The service makes the answer to the older read before the write, and sends it after.
    sandbox.faults.add({
      service: 'notes',
      method: 'GET',
      times: 1,
      act: { kind: 'afterwards', act: { kind: 'delay', ms: 200 } },
    });
    const older = first();
    const made = await notes.create(token, { title: 'New', content: 'Words.' });
    const newer = await first();
    expect(JSON.stringify(newer)).toContain('upstreamId' in made ? made.upstreamId : 'none');
    expect(JSON.stringify(await older)).not.toContain('upstreamId' in made ? made.upstreamId : 'none');
  });
});

describe('hanging calls of one session', () => {
  const differentCalls = (count: number) =>
    Array.from({ length: count }, (_, at) => notes.list(token, { limit: 1 + at }).catch(String));

  const timedOut = 'UpstreamError: The notes service did not answer in time.';
  const notSent =
    'UpstreamError: The notes service had too many calls of one caller in progress, so this one was not made in time.';

  it('take only the slots of their session, and do not open the circuit breaker', async () => {
    const { token: other } = await signIn();
    sandbox.calls.length = 0;
    sandbox.faults.add({ service: 'notes', path: /^\/notes/, act: { kind: 'hang' } });
    fakeTimers();
    const calls = differentCalls(100);
    await timeOut(8);
    await timeOut(16);
    const outcomes = await Promise.all(calls);
    expect(outcomes).toEqual(Array.from(outcomes, (_, at) => (at < 16 ? timedOut : notSent)));
    // Two rounds of eight, more failures than open the circuit breaker; but one session's timeouts count as one.
    expect(callsTo('/notes')).toBe(16);
    expect(await notes.me(other)).toMatchObject({ email: 'demo@example.com' });
    expect(lines.join('')).not.toContain('circuit breaker opened');
  });

  it('take one slot if they share a call', async () => {
    misbehave({ kind: 'delay', ms: 100 });
    const same = Array.from({ length: 50 }, () => notes.list(token, { limit: 20 }));
    const different = differentCalls(7);
    await expect.poll(() => sandbox.calls).toHaveLength(8);
    await Promise.all([...same, ...different]);
    expect(sandbox.calls).toHaveLength(8);
  });
});
