import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { toGlobalId } from '../../src/graphql/global-id.js';
import type { FaultAction } from '../../src/sandbox/faults.js';
import { startSandbox } from '../../src/sandbox/sandbox.js';
import { faultsOf, leaksOf, only, type Person, type Harness, startHarness } from '../errors/harness.js';
import { type Answered, codesOf } from '../support/testbed.js';
import { answer, failures, misshapen, serviceText, unhandled } from './acts.js';

interface Operation {
  readonly query: string;
  readonly input?: object;
  /** The call behind it. */
  readonly call: { readonly method: string; readonly path: RegExp };
}

const note = {
  id: 'n1',
  title: 'T',
  content: 'C',
  tags: ['a'],
  is_pinned: false,
  created_at: '2026-01-01T00:00:00Z',
};
const whole = { ...note, updated_at: note.created_at };
const user = { id: 'u1', email: 'a@example.com', name: 'A', created_at: '2026-01-01T00:00:00.5Z' };

const id = toGlobalId('Note', 'n1');
const mutation = (name: string, fields: string) => {
  const type = `${name[0]!.toUpperCase()}${name.slice(1)}Input!`;
  return `mutation ($input: ${type}) { ${name}(input: $input) { ${fields} errors { code message path } } }`;
};
const reads: Readonly<Record<string, Operation>> = {
  'GET /notes': { query: '{ notes { nodes { title } } }', call: { method: 'GET', path: /^\/notes/ } },
  'GET /tags': { query: '{ tags { nodes { name count } } }', call: { method: 'GET', path: /^\/tags/ } },
  'GET /me': { query: '{ viewer { email } }', call: { method: 'GET', path: /^\/me/ } },
};
const noteWrites: Readonly<Record<string, Operation>> = {
  'POST /notes': {
    query: mutation('createNote', 'note { title }'),
    input: { title: 'T', content: 'C' },
    call: { method: 'POST', path: /^\/notes$/ },
  },
  'PATCH /notes/:id': {
    query: mutation('updateNote', 'note { title }'),
    input: { id, title: 'T' },
    call: { method: 'PATCH', path: /^\/notes\/n1$/ },
  },
  'DELETE /notes/:id': {
    query: mutation('deleteNote', 'deletedNoteId'),
    input: { id },
    call: { method: 'DELETE', path: /^\/notes\/n1$/ },
  },
};
const share: Operation = {
  query: mutation('shareNote', 'sharedNoteId'),
  input: { id, email: 'friend@example.com', permission: 'READ' },
  call: { method: 'POST', path: /share$/ },
};
const readable = { ...reads, ...noteWrites };
const all = Object.entries({ ...readable, 'POST /notes/:id/share': share });

const signIn = mutation('signIn', 'sessionToken viewer { email }');
const password = 'secret words';

const rejections = unhandled();
const answers: Answered[] = [];
let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});
afterEach(() => harness.sandbox.faults.clear());
afterAll(() => harness.stop());

async function ask(person: Person, { query, input }: Operation): Promise<Answered> {
  const given = await person.ask(query, { input });
  answers.push(given);
  return given;
}

function misbehave({ call }: Operation, act: FaultAction, times = Infinity): () => void {
  return harness.sandbox.faults.add({ service: 'notes', ...call, act, times });
}

/** Asks while the service misbehaves, and checks that the gateway works again afterwards. */
async function askMeanwhile(operation: Operation, act: FaultAction): Promise<Answered> {
  const person = await harness.join();
  const restore = misbehave(operation, act);
  const given = await ask(person, operation);
  restore();
  expect(codesOf(await person.ask('{ notes { nodes { title } } }'))).toEqual([]);
  return given;
}

describe.each(all)('%s', (_, operation) => {
  test.each(failures)('gives its error code when the service %s', async (__, act, code) => {
    const calls = await harness.callsOf(async () => {
      const given = await askMeanwhile(operation, act);
      expect(codesOf(given)).toEqual([code]);
    });
    const { method, path } = operation.call;
    const made = calls
      .slice(2, -1)
      .filter((call) => call.startsWith(method) && path.test(call.split(' ')[1]!));
    const repeated = method === 'GET' && code === 'UPSTREAM_UNAVAILABLE';
    expect(made).toHaveLength(repeated ? 3 : 1);
  });

  test('ends the session when the service answers 401', async () => {
    const person = await harness.join();
    misbehave(operation, answer(401, serviceText));
    expect(codesOf(await ask(person, operation))).toEqual(['UNAUTHENTICATED']);
    await expect.poll(async () => (await person.ask('{ viewer { email } }')).data).toEqual({ viewer: null });
  });

  test.each([
    [429, { 'retry-after': '17' }, 17],
    [429, {}, 60],
    [429, { 'retry-after': 'soon' }, 60],
    [429, { 'retry-after': '0.493' }, 1],
    [429, { 'retry-after': '-5' }, 60],
    [429, { 'retry-after': '7200' }, 3600],
    [403, { 'retry-after': '18' }, 18],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '900' }, 900],
  ])(
    'is RATE_LIMITED when the service answers %i with %j, for %i seconds',
    async (status, headers, seconds) => {
      const person = await harness.join();
      const restore = misbehave(operation, { kind: 'answer', status, headers, body: serviceText });
      const given = await ask(person, operation);
      expect(given.errors?.map(({ extensions }) => extensions)).toEqual([
        { code: 'RATE_LIMITED', retryAfter: seconds },
      ]);
      restore();
      const calls = await harness.callsOf(() => ask(person, operation));
      expect(calls).toEqual([]);
      await harness.sandbox.clock.advance(seconds * 1000);
      expect(codesOf(await person.ask('{ notes { nodes { title } } }'))).toEqual([]);
    },
  );

  test('is RATE_LIMITED, but made again at once, when the service answers 429 with a Retry-After of 0', async () => {
    const person = await harness.join();
    const restore = misbehave(operation, { kind: 'answer', status: 429, headers: { 'retry-after': '0' } });
    const given = await ask(person, operation);
    expect(given.errors?.map(({ extensions }) => extensions)).toEqual([
      { code: 'RATE_LIMITED', retryAfter: 1 },
    ]);
    restore();
    const [call] = await harness.callsOf(async () =>
      expect(codesOf(await ask(person, operation))).toEqual([]),
    );
    expect(call).toMatch(new RegExp(`^${operation.call.method} `));
  });

  test('is not retried when the service answers 503 with a Retry-After', async () => {
    const person = await harness.join();
    misbehave(operation, { kind: 'answer', status: 503, headers: { 'retry-after': '20' } });
    const calls = await harness.callsOf(async () => {
      const given = await ask(person, operation);
      expect(given.errors?.map(({ extensions }) => extensions)).toEqual([
        { code: 'UPSTREAM_UNAVAILABLE', retryAfter: 20 },
      ]);
    });
    expect(calls).toHaveLength(1);
  });
});

describe.each(Object.entries(readable))('%s', (_, operation) => {
  test.each(misshapen)('is UPSTREAM_INVALID_RESPONSE when the answer is %s', async (__, act) => {
    expect(codesOf(await askMeanwhile(operation, act))).toEqual(['UPSTREAM_INVALID_RESPONSE']);
  });

  test('is UPSTREAM_UNAVAILABLE when the answer is cut in the middle', async () => {
    const person = await harness.join();
    const { id: upstreamId } = harness.sandbox.notes.insert(person.email, { tags: ['a'] });
    const restore = harness.sandbox.faults.add({ service: 'notes', act: { kind: 'cut' } });
    const input = {
      ...operation.input,
      ...('input' in operation && 'id' in operation.input && { id: toGlobalId('Note', upstreamId) }),
    };
    expect(codesOf(await ask(person, { ...operation, input }))).toEqual(['UPSTREAM_UNAVAILABLE']);
    restore();
    expect(codesOf(await person.ask('{ notes { nodes { title } } }'))).toEqual([]);
  });
});

describe('answers of the service', () => {
  const list = (...data: unknown[]) => ({ data, next_cursor: null });
  const badDates = [
    '',
    'yesterday',
    '1767225600',
    'Thu, 01 Jan 2026 00:00:00 GMT',
    '2026-01-01T',
    '1/1/2026',
  ];
  const badNotes: readonly unknown[] = [
    null,
    [],
    'note',
    ...(['id', 'title', 'content', 'created_at', 'updated_at'] as const).flatMap((member) => [
      { ...whole, [member]: undefined },
      { ...whole, [member]: null },
      { ...whole, [member]: {} },
    ]),
    { ...whole, id: '' },
    { ...whole, id: 1.5 },
    { ...whole, title: 7 },
    { ...whole, tags: 'a' },
    { ...whole, tags: [null] },
    { ...whole, tags: [{ name: 'a' }] },
    { ...whole, is_pinned: 'yes' },
    ...badDates.flatMap((date) => [
      { ...whole, created_at: date },
      { ...whole, updated_at: date },
    ]),
  ];
  const bad: readonly (readonly [Operation, unknown])[] = [
    ...badNotes.flatMap((one) => [
      [reads['GET /notes']!, list(whole, one)] as const,
      [noteWrites['POST /notes']!, one] as const,
      [noteWrites['PATCH /notes/:id']!, one] as const,
    ]),
    ...[
      { data: {} },
      { data: whole },
      { notes: [] },
      { ...list(), next_cursor: 1.5 },
      { ...list(), next_cursor: true },
      { ...list(), next_cursor: {} },
    ].map((body) => [reads['GET /notes']!, body] as const),
    ...[{ deleted: false }, { deleted: 'true' }, { deleted: 1 }].map(
      (body) => [noteWrites['DELETE /notes/:id']!, body] as const,
    ),
    ...[
      { tags: null },
      { tags: {} },
      { tags: ['a'] },
      { tags: [{ name: 'a' }] },
      { tags: [{ name: 'a', count: '1' }] },
      { tags: [{ count: 1 }] },
      { tags: [{ name: 'a', count: 2 ** 31 }] },
      { tags: ['a', 'A'].map((name) => ({ name, count: 2 ** 30 })) },
    ].map((body) => [reads['GET /tags']!, body] as const),
    ...(['id', 'email', 'name', 'created_at'] as const).flatMap((member) =>
      [undefined, null, {}, true].map((value) => [reads['GET /me']!, { ...user, [member]: value }] as const),
    ),
    ...badDates.map((date) => [reads['GET /me']!, { ...user, created_at: date }] as const),
  ];

  test('are refused if their shape is not documented', async () => {
    const person = await harness.join();
    for (const [operation, body] of bad) {
      const restore = misbehave(operation, answer(200, JSON.stringify(body)));
      const given = await ask(person, operation);
      expect([body, codesOf(given)]).toEqual([body, ['UPSTREAM_INVALID_RESPONSE']]);
      restore();
    }
  });

  test.each([
    '2026-01-01T00:00:00.123456789+05:30',
    '2026-01-01t00:00:00,5z',
    '2026-01-01T24:00Z',
    '2016-12-31T23:59:60Z',
    '2026-01-01T00:00:00',
    '2026-01-01 00:00:00',
    '2026-01-01 00:00:00.12+00',
    '2026-01-01 00:00:00 +0000',
    '2026-01-01',
    '20260101T000000Z',
    '20260101',
  ])('may have dates in any form of ISO 8601, which are passed on as they were written: %s', async (date) => {
    const person = await harness.join();
    misbehave(reads['GET /notes']!, answer(200, list({ ...whole, created_at: date, updated_at: date })));
    expect(only(await person.ask('{ notes { nodes { createdAt updatedAt } } }'))).toEqual({
      nodes: [{ createdAt: date, updatedAt: date }],
    });
    misbehave(reads['GET /me']!, answer(200, { ...user, created_at: date }));
    expect(only(await person.ask('{ viewer { createdAt } }'))).toEqual({ createdAt: date });
  });

  const unknown = { unknown: { members: [1] }, __proto__: null, constructor: 'x' };
  test.each<[string, Operation, unknown, unknown]>([
    [
      'notes',
      reads['GET /notes']!,
      { ...list({ ...whole, ...unknown }), ...unknown },
      { nodes: [{ title: 'T' }] },
    ],
    [
      'a note without tags or a pin',
      reads['GET /notes']!,
      { data: [{ ...whole, tags: undefined, is_pinned: null }] },
      { nodes: [{ title: 'T' }] },
    ],
    [
      'tags',
      reads['GET /tags']!,
      { tags: [{ name: 'a', count: 1, ...unknown }] },
      { nodes: [{ name: 'a', count: 1 }] },
    ],
    [
      'a tag with the greatest count',
      reads['GET /tags']!,
      { tags: [{ name: 'a', count: 2 ** 31 - 1 }] },
      { nodes: [{ name: 'a', count: 2 ** 31 - 1 }] },
    ],
    ['the user', reads['GET /me']!, { ...user, id: 12, ...unknown }, { email: user.email }],
    [
      'a new note',
      noteWrites['POST /notes']!,
      { ...whole, ...unknown },
      { note: { title: 'T' }, errors: [] },
    ],
    [
      'a changed note',
      noteWrites['PATCH /notes/:id']!,
      { ...whole, ...unknown },
      { note: { title: 'T' }, errors: [] },
    ],
    [
      'a deletion',
      noteWrites['DELETE /notes/:id']!,
      { deleted: true, ...unknown },
      { deletedNoteId: id, errors: [] },
    ],
  ])(
    'with %s are read whatever their content type and other members',
    async (_, operation, body, expected) => {
      const person = await harness.join();
      for (const contentType of ['text/html', 'text/plain; charset=latin1', 'nonsense', '']) {
        const restore = misbehave(operation, answer(200, JSON.stringify(body), contentType));
        expect(only(await ask(person, operation))).toEqual(expected);
        restore();
      }
    },
  );
});

describe('POST /auth/token', () => {
  const credentials = { email: 'sleeper@all.example', password };
  const token: Operation = { query: signIn, input: credentials, call: { method: 'POST', path: /auth/ } };
  const trySignIn = async () => {
    const given = await harness.testbed.ask(signIn, { input: credentials });
    answers.push(given);
    return given;
  };

  beforeAll(() => harness.sandbox.notes.addUser({ ...credentials, name: 'Sleeper' }));
  afterEach(async () => {
    harness.sandbox.faults.clear();
    await harness.sandbox.clock.advance(60_000); // in which sign-in may fail twenty times
    await harness.testbed.signIn(credentials); // which works again
  });

  test.each(failures)('gives its error code, after one call, when the service %s', async (_, act, code) => {
    misbehave(token, act);
    const calls = await harness.callsOf(async () => expect(codesOf(await trySignIn())).toEqual([code]));
    expect(calls).toEqual(['POST /auth/token']);
  });

  test.each([
    ...misshapen,
    ['a cut', { kind: 'cut' }],
    ...[
      { access_token: 5 },
      { access_token: '' },
      { access_token: null },
      { token: ['x'] },
      { access_token: 'a\nb' },
      { access_token: 'é' },
    ].map((body) => [JSON.stringify(body), answer(200, JSON.stringify(body))] as const),
  ] as const)('gives its error code when the answer is %s', async (_, act) => {
    misbehave(token, act);
    expect(codesOf(await trySignIn())).toEqual([
      act.kind === 'cut' ? 'UPSTREAM_UNAVAILABLE' : 'UPSTREAM_INVALID_RESPONSE',
    ]);
  });

  test('is WRONG_CREDENTIALS when the service answers 401', async () => {
    misbehave(token, answer(401, serviceText));
    expect(faultsOf(only(await trySignIn()))).toEqual(['WRONG_CREDENTIALS ']);
  });

  test('starts no session when /me fails afterwards', async () => {
    harness.sandbox.faults.add({ service: 'notes', path: /me/, act: answer(500, serviceText) });
    const given = await trySignIn();
    expect([codesOf(given), given.data]).toEqual([['UPSTREAM_UNAVAILABLE'], null]);
  });
});

describe('a service that hangs', () => {
  let quick: Harness;
  beforeAll(async () => {
    quick = await startHarness({ sandbox: harness.sandbox, upstreamTimeoutMs: 1_000 });
  });
  afterAll(() => quick.stop());

  test.each(all)('is UPSTREAM_TIMEOUT: %s', async (_, operation) => {
    const person = await quick.join();
    const restore = misbehave(operation, { kind: 'hang' });
    expect(codesOf(await ask(person, operation))).toEqual(['UPSTREAM_TIMEOUT']);
    restore();
    expect(codesOf(await person.ask('{ notes { nodes { title } } }'))).toEqual([]);
  });

  test('is UPSTREAM_TIMEOUT: POST /auth/token', async () => {
    const { email } = await quick.join();
    const restore = harness.sandbox.faults.add({ service: 'notes', path: /auth/, act: { kind: 'hang' } });
    const given = await quick.testbed.ask(signIn, { input: { email, password } });
    restore();
    expect(codesOf(given)).toEqual(['UPSTREAM_TIMEOUT']);
    expect(only(await quick.testbed.ask(signIn, { input: { email, password } })).errors).toEqual([]);
  });
});

describe('a service that fails', () => {
  afterEach(() => vi.restoreAllMocks());

  test('for ten users is called for nobody for some seconds, and then called again', async () => {
    const own = await startHarness({ sandbox: harness.sandbox });
    const other = await own.join();
    const people: Person[] = [];
    while (people.length < 10) people.push(await own.join());
    const tags: Operation = { query: '{ tags { nodes { name } } }', call: reads['GET /tags']!.call };
    const write = noteWrites['POST /notes']!;
    const restore = misbehave(write, { kind: 'refuse' });
    for (const person of people) expect(codesOf(await ask(person, write))).toEqual(['UPSTREAM_UNAVAILABLE']);
    restore();
    const calls = await harness.callsOf(async () => {
      for (const person of [other, people[0]!])
        for (const operation of [write, tags])
          expect(codesOf(await ask(person, operation))).toEqual(['UPSTREAM_UNAVAILABLE']);
    });
    expect(calls).toEqual([]);
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 6_000);
    // Whoever has not failed tries first.
    expect(codesOf(await ask(people[0]!, tags))).toEqual(['UPSTREAM_UNAVAILABLE']);
    for (const person of [other, people[0]!])
      for (const operation of [tags, write]) expect(codesOf(await ask(person, operation))).toEqual([]);
    await own.stop();
  });

  test('again and again for one user is still called, for that user and for others', async () => {
    const [one, two] = [await harness.join(), await harness.join()];
    const write = noteWrites['POST /notes']!;
    const restore = misbehave(write, { kind: 'refuse' });
    const calls = await harness.callsOf(async () => {
      for (let left = 12; left > 0; left -= 1)
        expect(codesOf(await ask(one, write))).toEqual(['UPSTREAM_UNAVAILABLE']);
    });
    expect(calls).toHaveLength(12);
    restore();
    for (const person of [two, one]) expect(codesOf(await ask(person, write))).toEqual([]);
  });

  test('is still called after refusals, and by other users after one user’s 429', async () => {
    const [one, two] = [await harness.join(), await harness.join()];
    const write = noteWrites['PATCH /notes/:id']!;
    for (let left = 12; left > 0; left -= 1)
      expect(faultsOf(only(await ask(one, write)))).toEqual(['NOT_FOUND id']);
    misbehave(write, answer(429), 1);
    expect(codesOf(await ask(one, write))).toEqual(['RATE_LIMITED']);
    expect(codesOf(await two.ask('{ notes { nodes { title } } }'))).toEqual([]);
  });
});

describe('a service that is down', () => {
  test('is UPSTREAM_UNAVAILABLE, and works once it is back', async () => {
    const first = await startSandbox();
    const port = Number(new URL(first.url).port);
    const own = await startHarness({ sandbox: first });
    const person = await own.join();
    await first.stop();
    for (const [, operation] of all)
      expect(codesOf(await ask(person, operation))).toEqual(['UPSTREAM_UNAVAILABLE']);
    expect(codesOf(await own.testbed.ask(signIn, { input: { email: person.email, password } }))).toEqual([
      'UPSTREAM_UNAVAILABLE',
    ]);
    const second = await startSandbox({ port });
    second.notes.addUser({ email: person.email, password, name: 'Back' });
    const given = await own.testbed.ask(signIn, { input: { email: person.email, password } });
    expect(only(given)).toMatchObject({ viewer: { email: person.email }, errors: [] });
    await own.stop();
    await second.stop();
  });
});

describe('answers and logs', () => {
  test('contain no token, no password and no text of the service', async () => {
    const token = 'notes-token-of-the-service';
    const email = 'watcher@all.example';
    const add = (path: RegExp, body: object, times = 1) =>
      harness.sandbox.faults.add({ service: 'notes', path, times, act: answer(200, JSON.stringify(body)) });
    add(/auth/, { access_token: token });
    add(/me/, { ...user, email });
    const session = await harness.testbed.signIn({ email, password });
    const person: Person = {
      email,
      ask: (query, variables) => harness.testbed.ask(query, variables, session),
    };
    for (const [, operation] of all)
      for (const [, act] of [...failures.slice(0, 3), ...misshapen.slice(0, 4)]) {
        const restore = misbehave(operation, act);
        await ask(person, operation);
        restore();
        misbehave(reads['GET /me']!, answer(200, JSON.stringify(user)), 1);
        await ask(person, reads['GET /me']!); // so that the circuit breaker stays closed
        harness.sandbox.faults.clear();
      }
    expect(harness.testbed.logged()).toContain('upstream call');
    expect(answers.length).toBeGreaterThan(400);
    expect(leaksOf(harness.testbed, answers, [token, session, password, serviceText])).toEqual([]);
  });
});

test('no promise rejection was left unhandled', () => {
  expect(rejections).toEqual([]);
});
