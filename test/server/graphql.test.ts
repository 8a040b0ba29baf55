import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DatabaseSync } from '@photostructure/sqlite';
import {
  buildSchema,
  getIntrospectionQuery,
  lexicographicSortSchema,
  printType,
  type GraphQLSchema,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSchema } from '../support/schema.js';
import { allGrants, codesOf, demo, startTestbed, type Testbed } from '../support/testbed.js';
import { deepFragments, excessiveVariables, minimalOperation, nested } from './documents.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;
const allowedOrigin = 'https://app.example';
const emailOf = (grant: string) => `${grant.replace(':', '-')}@grants.example`;
const nobody = { email: 'nobody@grants.example', password: 'word' };

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  const grants = allGrants.map((grant) => [emailOf(grant), [grant]]);
  testbed = await startTestbed({
    settings: {
      ALLOWED_ORIGINS: allowedOrigin,
      GRANTS: JSON.stringify({ ...Object.fromEntries(grants), [demo.email]: allGrants }),
    },
  });
  for (const email of [nobody.email, ...allGrants.map(emailOf)])
    testbed.sandbox.notes.addUser({ email, password: 'word', name: email });
  token = await testbed.signIn();
});

afterAll(() => testbed.stop());

const json = { 'content-type': 'application/json' };

/** Sends a raw request to `/graphql`, and parses the JSON of the answer. */
async function send(init: RequestInit & { readonly search?: string }) {
  const response = await fetch(`${testbed.url}/graphql${init.search ?? ''}`, init);
  const text = await response.text();
  // oxlint-disable-next-line typescript/no-explicit-any -- each test states what it expects
  const body: any = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, headers: response.headers, body };
}

const post = (body: string, headers: Record<string, string> = json) =>
  send({ method: 'POST', headers, body });

const get = (query: string, headers: Record<string, string> = { 'apollo-require-preflight': '1' }) =>
  send({ search: `?${new URLSearchParams({ query })}`, headers });

describe('the headers of an answer', () => {
  const typename = JSON.stringify({ query: '{ __typename }' });
  const requests: Record<string, () => ReturnType<typeof send>> = {
    'a query': () => post(typename),
    'a query by GET': () => get('{ __typename }'),
    'a syntax error': () => post('{"query":"{"}'),
    'an execution error': () => post('{"query":"{ tags { nodes { name } } }"}'),
    'malformed JSON': () => post('{"query"'),
    'an empty body': () => post(''),
    'a body over 1 MiB': () => post(JSON.stringify({ query: '{ __typename }', more: 'x'.repeat(2 ** 20) })),
    'a method that is not allowed': () => send({ method: 'DELETE' }),
    'a request that another site could forge': () => post(typename, { 'content-type': 'text/plain' }),
  };

  test.each(Object.keys(requests))('have a request id and no-store for %s', async (name) => {
    const { headers } = await requests[name]!();
    expect(headers.get('x-request-id')).toMatch(uuid);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test("repeat the caller's request id if it is plain", async () => {
    const own = await post(typename, { ...json, 'x-request-id': 'Order-66.a_b' });
    expect(own.headers.get('x-request-id')).toBe('Order-66.a_b');
    for (const strange of ['a b', '<script>', 'x'.repeat(129), ''])
      expect(
        (await post(typename, { ...json, 'x-request-id': strange })).headers.get('x-request-id'),
      ).toMatch(uuid);
  });
});

describe('GraphQL over HTTP', () => {
  test('answers a query by GET with variables', async () => {
    const variables = JSON.stringify({ yes: true });
    const query = 'query ($yes: Boolean!) { kind: __typename @include(if: $yes) }';
    const answer = await send({
      search: `?${new URLSearchParams({ query, variables })}`,
      headers: { 'apollo-require-preflight': '1' },
    });
    expect(answer).toMatchObject({ status: 200, body: { data: { kind: 'Query' } } });
  });

  test.each(['null', ''])(
    'takes an empty operation name, and %j for other parameters of a GET, as absent',
    async (none) => {
      const absent = { operationName: '', variables: none, extensions: none };
      const search = `?${new URLSearchParams({ query: 'query Kind { kind: __typename }', ...absent })}`;
      const answer = await send({ search, headers: { 'apollo-require-preflight': '1' } });
      expect([answer.status, answer.body]).toEqual([200, { data: { kind: 'Query' } }]);
    },
  );

  test('refuses a mutation by GET with 405', async () => {
    const answer = await get('mutation { signOut { signedOut } }', {
      'apollo-require-preflight': '1',
      authorization: `Bearer ${token}`,
    });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe('POST');
    expect(answer.body.errors[0].extensions).toEqual({ code: 'BAD_REQUEST' });
    expect((await testbed.ask('{ viewer { email } }', {}, token)).data.viewer.email).toBe(demo.email);
  });

  test('refuses requests that another site could send without a preflight', async () => {
    const body = '{"query":"{ __typename }"}';
    const forged = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'];
    const answers = [
      await get('{ __typename }', {}),
      ...(await Promise.all(forged.map((type) => post(body, { 'content-type': type })))),
    ];
    for (const { status, body: refused } of answers) {
      expect(status).toBe(400);
      expect(refused.errors[0].message).toMatch(/CSRF/);
      expect(refused.errors[0].extensions).toEqual({ code: 'BAD_REQUEST' });
    }
  });

  test('accepts a simple GET with a bearer token, but not with a cookie', async () => {
    const bearing = await get('{ viewer { email } }', { authorization: `Bearer ${token}` });
    expect(bearing).toMatchObject({ status: 200, body: { data: { viewer: { email: demo.email } } } });
    const cookie = `trivium_session=${token}`;
    for (const headers of [{ cookie }, { cookie, origin: allowedOrigin }, { cookie, authorization: '' }]) {
      const { status, body } = await get('{ viewer { email } }', headers);
      expect([status, body.errors[0].extensions]).toEqual([400, { code: 'BAD_REQUEST' }]);
      expect(body.errors[0].message).toMatch(/CSRF/);
    }
    const basic = await get('{ viewer { email } }', { cookie, authorization: 'Basic ZTpw' });
    expect(basic.body).toEqual({ data: { viewer: null } });
  });

  test.each([
    ['application/json', 200],
    ['application/graphql-response+json', 400],
  ])('refuses a persisted query, as %s with %i', async (accept, status) => {
    const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) };
    const answer = await post(JSON.stringify({ extensions: { persistedQuery } }), { ...json, accept });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toContain(accept);
    expect(answer.body.errors).toEqual([
      { message: 'PersistedQueryNotSupported', extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED' } },
    ]);
  });

  test('refuses a batch of operations', async () => {
    const answer = await post('[{"query":"{ __typename }"},{"query":"{ __typename }"}]');
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([
      { message: 'Operation batching disabled.', extensions: { code: 'BAD_REQUEST' } },
    ]);
  });

  test.each(['PUT', 'PATCH', 'DELETE', 'PROPFIND'])(
    'answers %s with 405, whatever its body',
    async (method) => {
      const answer = await send({ method, headers: json, body: '{' });
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toBe('GET, POST');
      expect(answer.body.errors[0].extensions).toMatchObject({ code: 'BAD_REQUEST' });
    },
  );

  test('answers HEAD with 405', async () => {
    const answer = await send({ method: 'HEAD' });
    expect([answer.status, answer.headers.get('allow'), answer.body]).toEqual([405, 'GET, POST', undefined]);
  });

  test.each<readonly [about: string, status: number, body: string]>([
    ['malformed JSON', 400, '{"query"'],
    ['an empty body', 400, ''],
    ['a body over 1 MiB', 413, JSON.stringify({ query: '{ __typename }', more: 'x'.repeat(2 ** 20) })],
    ['null', 400, 'null'],
    ['a string', 400, '"{ __typename }"'],
    ['an object without a query', 400, '{"variables":{}}'],
    ['a query that is not a string', 400, '{"query":1}'],
    ['variables that are not an object', 400, '{"query":"{ __typename }","variables":[]}'],
    ['a query under `__proto__`', 400, '{"__proto__":{"query":"{ __typename }"}}'],
  ])('refuses %s with an error in JSON', async (_, status, body) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.body).toEqual({
      errors: [{ message: expect.any(String), extensions: expect.objectContaining({ code: 'BAD_REQUEST' }) }],
    });
  });

  test('ignores other members of the body, whatever their names', async () => {
    const others = '"__proto__":{"query":1,"variables":[]},"constructor":{"prototype":{"query":1}},"more":1';
    const apolloServer = { 'content-type': 'application/json; charset=utf-8' };
    const answer = await post(`{"query":"{ __typename }",${others}}`, apolloServer);
    expect([answer.status, answer.body]).toEqual([200, { data: { __typename: 'Query' } }]);
    const query = 'query ($filter: ShipmentFilter) { shipments(filter: $filter) { nodes { id } } }';
    const filtered = await post(`{"query":"${query}","variables":{"filter":{"__proto__":{"carrier":"x"}}}}`);
    expect(filtered.body.errors[0].message).toContain('Field "__proto__" is not defined by type');
  });

  describe('a body', () => {
    const create = (title: string) =>
      JSON.stringify({
        query: `mutation { createNote(input: { title: "${title}", content: "c" }) { errors { code } } }`,
      });
    const session = () => ({ ...json, authorization: `Bearer ${token}` });
    const refused = (message: string, code = 'BAD_REQUEST') => ({
      errors: [{ message, extensions: { code, requestId: expect.stringMatching(uuid) } }],
    });

    test.each(['iso-8859-1', 'ISO-8859-1', '"iso-8859-1"', 'utf-16', 'utf-8; charset=utf-16', '', '"'])(
      'in the charset %s is refused before anything is executed',
      async (charset) => {
        const calls = testbed.sandbox.calls.length;
        const headers = { ...session(), 'content-type': `application/json; charset=${charset}` };
        const body = Buffer.from(create('caf\u00e9'), 'latin1');
        const answer = await send({ method: 'POST', headers, body });
        expect([answer.status, answer.body]).toEqual([415, refused('The body must be in UTF-8.')]);
        expect(testbed.sandbox.calls).toHaveLength(calls);
      },
    );

    test.each(['utf-8', 'UTF-8', 'utf8', '"utf-8"', '"UTF-8"; a=b'])(
      'in the charset %s is accepted',
      async (charset) => {
        for (const more of [`; charset=${charset}`, `;Charset=${charset}`, `;a=b; charset = ${charset}`]) {
          const headers = { 'content-type': `application/json${more}` };
          expect((await post('{"query":"{ __typename }"}', headers)).status).toBe(200);
        }
      },
    );

    test('that is not valid UTF-8 is refused before anything is executed', async () => {
      const calls = testbed.sandbox.calls.length;
      const body = Buffer.from(create('caf\u00e9'), 'latin1');
      const answer = await send({ method: 'POST', headers: session(), body });
      expect([answer.status, answer.body]).toEqual([400, refused('The body is not valid UTF-8.')]);
      expect(testbed.sandbox.calls).toHaveLength(calls);
    });

    test('that is not valid UTF-8 is refused even if its query was answered before', async () => {
      const query = 'query ($name: String!) { tag(name: $name) { id } }';
      for (let time = 0; time < 2; time += 1) await testbed.ask(query, { name: 'caf\u00e9' }, token);
      const body = Buffer.from(JSON.stringify({ query, variables: { name: 'caf\u00e9' } }), 'latin1');
      expect((await send({ method: 'POST', headers: session(), body })).status).toBe(400);
    });

    test('of more values than any operation needs is refused before it is parsed', async () => {
      const withValues = (count: number, text = '') =>
        JSON.stringify({ query: '{ __typename }', variables: { text, x: Array<number>(count).fill(1) } });
      expect((await post(withValues(49_996, '[{,'.repeat(100_000)))).status).toBe(200);
      const answer = await post(`${withValues(49_997).slice(0, -1)} is no JSON`);
      const message = 'The request has more than 50000 values.';
      expect([answer.status, answer.body]).toEqual([400, refused(message, 'QUERY_TOO_COMPLEX')]);
    });

    test('that is nested deeper than any operation needs is refused before it is parsed', async () => {
      const withLevels = (count: number) =>
        `{"query":"{ __typename }","variables":{"text":"${'['.repeat(300)}","x":${nested('[', count)}}}`;
      expect((await post(withLevels(200))).status).toBe(200);
      const answer = await post(`${withLevels(201).slice(0, -1)} is no JSON`);
      const message = 'The request is nested more than 202 levels deep.';
      expect([answer.status, answer.body]).toEqual([400, refused(message, 'QUERY_TOO_COMPLEX')]);
    });

    test('of valid UTF-8 is passed on unchanged', async () => {
      const title = 'caf\u00e9 \u{1f600} \ufffd';
      const query =
        'mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { title } errors { code } } }';
      const answer = await testbed.ask(query, { input: { title, content: 'c' } }, token);
      expect(answer.data).toEqual({ createNote: { note: { title }, errors: [] } });
    });

    test.each(['gzip', 'GZIP', 'br', 'identity, gzip', 'nonsense'])(
      'with the content encoding %s is refused, compressed or not, before anything is executed',
      async (encoding) => {
        const calls = testbed.sandbox.calls.length;
        const headers = { ...session(), 'content-encoding': encoding };
        for (const body of [create('plain'), gzipSync(create('compressed'))]) {
          const answer = await send({ method: 'POST', headers, body });
          expect([answer.status, answer.body]).toEqual([415, refused('The body must not be compressed.')]);
          expect(answer.headers.get('accept-encoding')).toBe('identity');
        }
        expect(testbed.sandbox.calls).toHaveLength(calls);
      },
    );

    test.each(['identity', 'Identity', ''])(
      'with the content encoding "%s" is accepted',
      async (encoding) => {
        const headers = { 'content-type': 'application/json; charset=utf-8', 'content-encoding': encoding };
        expect((await post('{"query":"{ __typename }"}', headers)).status).toBe(200);
      },
    );
  });

  test('refuses a subscription and refers to websockets, and to what `Accept` has to prefer', async () => {
    const answer = await testbed.ask('subscription { shipmentUpdates { cursor } }', {}, token);
    expect(answer.errors).toEqual([
      {
        message: expect.stringMatching(/websocket.*`Accept`.*stream/),
        extensions: { code: 'BAD_USER_INPUT' },
      },
    ]);
  });
});

describe('errors', () => {
  const variable = 'query ($first: Int!) { notes(first: $first) { nodes { id } } }';
  const cases: readonly [about: string, code: string, query: string, variables?: object][] = [
    ['a syntax error', 'GRAPHQL_PARSE_FAILED', '{ notes('],
    ['an empty document', 'GRAPHQL_PARSE_FAILED', ' '],
    ['too many tokens', 'GRAPHQL_PARSE_FAILED', `{ ${'a '.repeat(10_000)} }`],
    ['an unknown field', 'GRAPHQL_VALIDATION_FAILED', '{ nothing }'],
    ['an argument of the wrong type', 'GRAPHQL_VALIDATION_FAILED', '{ notes(first: "x") { nodes { id } } }'],
    ['a missing variable', 'BAD_USER_INPUT', variable],
    ['a variable of the wrong type', 'BAD_USER_INPUT', variable, { first: 'x' }],
    [
      'an invalid date-time',
      'BAD_USER_INPUT',
      'query ($from: DateTime) { appointments(filter: { from: $from }) { nodes { id } } }',
      { from: 'tomorrow' },
    ],
    ['first below 0', 'BAD_USER_INPUT', variable, { first: -1 }],
    ['first over 100', 'BAD_USER_INPUT', variable, { first: 101 }],
    ['an altered cursor', 'CURSOR_INVALID', '{ shipments(after: "x") { nodes { id } } }'],
  ];

  test('a condition at the root of a subscription is a validation error, however it is written', async () => {
    for (const at of ['@', '@ ', '@,', '@# none\n', '@\ufeff']) {
      const query = `subscription ($x: Boolean!) { shipmentUpdates ${at}include(if: $x) { cursor } }`;
      const answer = await testbed.ask(query, { x: true }, token);
      expect([at, answer.status, codesOf(answer)]).toEqual([at, 400, ['GRAPHQL_VALIDATION_FAILED']]);
    }
  });

  test.each(cases)('%s gives %s and no other extensions', async (_, code, query, variables) => {
    const { errors } = await testbed.ask(query, variables, token);
    expect(errors).toHaveLength(1);
    expect(errors![0]!.extensions).toEqual({ code });
  });

  test.each([
    [199, 'GRAPHQL_VALIDATION_FAILED'],
    [200, 'QUERY_TOO_COMPLEX'],
    [1_660, 'QUERY_TOO_COMPLEX'],
  ])('a document nested %i levels deep gives %s', async (levels, code) => {
    const deep = `{ viewer ${'{ a '.repeat(levels)}${'}'.repeat(levels)} }`;
    expect(codesOf(await testbed.ask(deep, {}, token))).toContain(code);
  });

  test('a document in the URL is measured as it is executed, however it is encoded', async () => {
    const deep = encodeURIComponent(`{ viewer ${'{ a '.repeat(200)}${'}'.repeat(201)}`);
    for (const search of [`?query=${deep}`, `?query=%23%zz%0A${deep}`, `?qu%65ry=${deep}`]) {
      const { status, body } = await send({ search, headers: { 'apollo-require-preflight': '1' } });
      expect([status, codesOf(body)]).toEqual([400, ['QUERY_TOO_COMPLEX']]);
    }
  });

  test.each(deepFragments)('%s: refused with %s, signed in or not', async (_, code, query) => {
    for (const session of [undefined, token, token]) {
      const answer = await testbed.ask(query, {}, session);
      expect([answer.status, codesOf(answer), answer.data]).toEqual([400, [code], undefined]);
    }
    if (query.length > 10_000) return; // no URL is that long
    const { status, body } = await get(query);
    expect([status, codesOf(body)]).toEqual([400, [code]]);
  });

  test('all errors of a document are reported', async () => {
    const answer = await testbed.ask(
      '{ nothing viewer { none } tags(first: "x") { nodes { id } } }',
      {},
      token,
    );
    const code = 'GRAPHQL_VALIDATION_FAILED';
    expect([answer.status, codesOf(answer)]).toEqual([400, [code, code, code]]);
  });

  test('a document that takes GraphQL too long to validate is QUERY_TOO_COMPLEX', async () => {
    const query = `{ ${'__typename '.repeat(1_000)} }`;
    for (const session of [undefined, token, token]) {
      const { status, data, errors } = await testbed.ask(query, {}, session);
      const message = 'The document takes too long to validate: select the same fields less often.';
      expect([status, data, errors]).toEqual([
        400,
        undefined,
        [{ message, extensions: { code: 'QUERY_TOO_COMPLEX' } }],
      ]);
    }
  });

  test.each(excessiveVariables)('%s: refused in the variables, each time', async (_, query, variables) => {
    const ask = () => post(`{"query":${JSON.stringify(query)},"variables":${variables}}`);
    await testbed.ask(query);
    await testbed.ask(query);
    for (const { status, body } of [await ask(), await ask()])
      expect([status, codesOf(body), body.data]).toEqual([400, ['QUERY_TOO_COMPLEX'], undefined]);
  });

  test('that is long and wrong in many ways: only the first is reported', async () => {
    const query = 'mutation ($input: SignInInput!) { signIn(input: $input) { errors { code } } }';
    const wrong = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`x${at}`, 1]));
    const codes = (email: string) =>
      post(JSON.stringify({ query, variables: { input: { email, ...wrong } } }));
    expect(codesOf((await codes('x')).body)).toHaveLength(51);
    const { status, body } = await codes('x'.repeat(100_000));
    expect([status, body.data, body.errors]).toEqual([
      400,
      undefined,
      [
        {
          message:
            'Variable "$input" got an invalid value; Field "password" of required type "String!" was not provided.',
          locations: [{ line: 1, column: 11 }],
          extensions: { code: 'BAD_USER_INPUT' },
        },
      ],
    ]);
  });

  test.each([
    ['a condition', '$x: Boolean = true', 'a: createNote(input: $input) { note @include(if: $x) { id } }'],
    ['a condition in a fragment', '$x: Boolean = true', 'a: createNote(input: $input) { ...A }'],
    [
      'an argument of the second mutation',
      '$x: String = "t"',
      'a: createNote(input: $input) { __typename } b: createNote(input: { title: $x, content: "c" }) { __typename }',
    ],
    [
      'an item of a list',
      '$x: AppointmentParticipantInput = { actor: { reference: "Patient/1" }, status: ACCEPTED }',
      `a: createNote(input: $input) { __typename }
      b: createAppointment(input: { status: BOOKED, start: "", end: "", participants: [$x] }) { __typename }`,
    ],
  ])(
    'a null where only a default may stand is refused before a mutation: %s',
    async (_, declared, fields) => {
      const calls = testbed.sandbox.calls.length;
      const fragment = 'fragment A on CreateNotePayload { note { id @skip(if: $x) } }';
      const query = `mutation ($input: CreateNoteInput!, ${declared}) { ${fields} } ${fields.includes('...A') ? fragment : ''}`;
      const variables = { input: { title: 't', content: 'c' }, x: null };
      const answer = await testbed.ask(query, variables, token);
      expect([answer.status, codesOf(answer), answer.data]).toEqual([400, ['BAD_USER_INPUT'], undefined]);
      expect(answer.errors![0]!.message).toMatch(
        /^Variable "\$x" must not be null: it is used in a position expecting type "\w+!"\.$/,
      );
      expect(testbed.sandbox.calls).toHaveLength(calls);
    },
  );

  describe('an operation that asks for too much', () => {
    const doubling = (on: string, twice: (next: string) => string) =>
      Array.from({ length: 60 }, (_, at) => `fragment F${at} on ${on} { ${twice(`...F${at + 1}`)} }`).join(
        ' ',
      ) + ` fragment F60 on ${on} { __typename }`;
    const below = (next: string) => `notes { nodes { tags { ${next} } } }`;

    test.each([
      ['pages below pages', `{ tags { nodes { ${below(below(below('name')))} } } }`],
      ['fragments that double', `{ notes { nodes { ...F0 } } } ${doubling('Note', (next) => next + next)}`],
      [
        'fragments that double below pages',
        `{ tags { nodes { ...F0 } } } ${doubling('Tag', (next) => `a: ${below(next)} b: ${below(next)}`)}`,
      ],
      [
        'fragments with a condition that double below pages',
        `{ tags { nodes { ...F0 @include(if: true) } } } ${doubling('Tag', (next) => `a: ${below(next)} b: ${below(next)}`)}`,
      ],
    ])('is refused, signed in or not: %s', async (_, query) => {
      for (const session of [undefined, token, token]) {
        const answer = await testbed.ask(query, {}, session);
        expect([answer.status, codesOf(answer), answer.data]).toEqual([
          400,
          ['QUERY_TOO_COMPLEX'],
          undefined,
        ]);
      }
    });

    test('is refused by the page sizes in its variables', async () => {
      const query =
        'query ($n: Int, $m: Int!) { shipments(first: $n) { nodes { id events(first: $m) { nodes { id stage status carrier } } } } }';
      const ask = async (n: number | null, m: number) => codesOf(await testbed.ask(query, { n, m }, token));
      for (let times = 0; times < 3; times += 1) {
        expect(await ask(null, 100)).toEqual([]);
        expect(await ask(100, 100)).toEqual(['QUERY_TOO_COMPLEX']);
        expect(await ask(100, 20)).toEqual([]);
      }
    });
  });

  test('two operations without an operationName are OPERATION_RESOLUTION_FAILURE', async () => {
    expect(codesOf(await testbed.ask('query a { __typename } query b { __typename }', {}, token))).toEqual([
      'OPERATION_RESOLUTION_FAILURE',
    ]);
  });

  test.each(['shipments', 'payments', 'appointments'])(
    '%s accepts 0 to 100 as `first` or `last`, and not both',
    async (name) => {
      const field = (given: string) => testbed.ask(`{ ${name}(${given}) { nodes { id } } }`, {}, token);
      for (const given of ['first: -1', 'first: 101', 'last: -1', 'last: 101', 'first: 1, last: 1'])
        expect([given, codesOf(await field(given))]).toEqual([given, ['BAD_USER_INPUT']]);
      for (const given of ['first: 0', 'first: 100', 'last: 0', 'last: 100', 'first: 1, last: null'])
        expect([given, codesOf(await field(given))]).toEqual([given, []]);
    },
  );

  test('nodes accepts at most 100 ids', async () => {
    const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }';
    const ask = (count: number) =>
      testbed.ask(query, { ids: Array.from({ length: count }, () => 'x') }, token);
    expect(codesOf(await ask(101))).toEqual(['BAD_USER_INPUT']);
    expect((await ask(100)).data.nodes).toEqual(Array.from({ length: 100 }, () => null));
  });

  test('an internal error is masked, and logged under the request id', async () => {
    const database = new DatabaseSync(join(testbed.folder, 'gateway.db'));
    database.exec('ALTER TABLE shipments RENAME TO hidden_shipments');
    const answer = await testbed.ask('{ __typename shipment(shipmentId: "x") { id } }', {}, token);
    database.exec('ALTER TABLE hidden_shipments RENAME TO shipments');
    database.close();
    const requestId = answer.headers.get('x-request-id')!;
    expect(answer.data).toEqual({ __typename: 'Query', shipment: null });
    expect(answer.errors).toEqual([
      {
        message: expect.not.stringMatching(/table/),
        path: ['shipment'],
        locations: [{ line: 1, column: 14 }],
        extensions: { code: 'INTERNAL_SERVER_ERROR', requestId },
      },
    ]);
    expect(requestId).toMatch(uuid);
    const line = testbed
      .logged()
      .split('\n')
      .find((text) => text.includes(requestId));
    expect(line).toMatch(/no such table/);
  });
});

describe('authorisation', () => {
  const schema = createSchema();
  const fields = [
    ...Object.values(schema.getQueryType()!.getFields()).map((field) => ['query', field] as const),
    ...Object.values(schema.getMutationType()!.getFields()).map((field) => ['mutation', field] as const),
  ];
  const open = ['viewer', 'signIn', '_service'];
  const guarded = fields
    .filter(([, { name }]) => !open.includes(name))
    .map(([kind, field]) => minimalOperation(kind, field));

  test('an anonymous caller may introspect, ask for `viewer`, and sign in', async () => {
    const introspection = await testbed.ask(getIntrospectionQuery());
    expect(introspection.errors).toBeUndefined();
    expect((await testbed.ask('{ __typename viewer { id } }')).data).toEqual({
      __typename: 'Query',
      viewer: null,
    });
    const signedIn = await testbed.ask(
      'mutation ($input: SignInInput!) { signIn(input: $input) { viewer { email } errors { code } } }',
      { input: demo },
    );
    expect(signedIn.data).toEqual({ signIn: { viewer: { email: demo.email }, errors: [] } });
  });

  test.each(guarded)('an anonymous caller gets UNAUTHENTICATED for %s', async (operation) => {
    const answer = await testbed.ask(operation);
    expect(codesOf(answer)).toEqual(['UNAUTHENTICATED']);
    expect(answer.status).toBe(200);
  });

  const booking = `{ createAppointment(input: { status: BOOKED, start: "2026-01-01T10:00:00Z",
    end: "2026-01-01T11:00:00Z", participants: [{ actor: { reference: "Patient/1" }, status: ACCEPTED }] })
    { errors { code } } }`;
  const behindGrants = [
    ['appointments:write', `mutation ${booking}`],
    ['shipments:read', '{ shipments { nodes { id } } }'],
    ['shipments:read', '{ shipment(shipmentId: "x") { id } }'],
    ['payments:read', '{ payments { nodes { id } } }'],
    ['payments:read', '{ payment(paymentId: "x") { id } }'],
    ['webhooks:read', '{ webhookEndpoints { id } }'],
    ['webhooks:read', '{ webhookDeliveries { nodes { type } } }'],
    [
      'webhooks:rotate',
      'mutation { rotatePaymentWebhookSecret(input: { endpointId: "none" }) { endpointId } }',
    ],
  ] as const;

  test.each(behindGrants)('only %s allows %s', async (grant, operation) => {
    expect(codesOf(await testbed.ask(operation, {}, await testbed.signIn(nobody)))).toEqual(['FORBIDDEN']);
    for (const other of allGrants.filter((name) => name !== grant)) {
      const session = await testbed.signIn({ email: emailOf(other), password: 'word' });
      expect([other, codesOf(await testbed.ask(operation, {}, session))]).toEqual([other, ['FORBIDDEN']]);
    }
    const session = await testbed.signIn({ email: emailOf(grant), password: 'word' });
    expect(codesOf(await testbed.ask(operation, {}, session))).toEqual([]);
  });

  test('appointments:read shows everybody’s bookings; without it users see only their own', async () => {
    const writer = await testbed.signIn({ email: emailOf('appointments:write'), password: 'word' });
    const reader = await testbed.signIn({ email: emailOf('appointments:read'), password: 'word' });
    await testbed.ask(`mutation ${booking}`, {}, writer);
    const seen = async (session: string) =>
      (await testbed.ask('{ appointments { nodes { id } } }', {}, session)).data.appointments.nodes
        .length as number;
    expect(await seen(writer)).toBeGreaterThan(0);
    expect(await seen(reader)).toBe(await seen(writer));
    expect(await seen(await testbed.signIn(nobody))).toBe(0);
  });

  test('`nodes` has null for what the caller has no grant for', async () => {
    const { webhooks } = testbed.sandbox;
    await webhooks.emitShipment({ id: 'evt_node_s', shipment: { id: 'shp_node' } });
    await webhooks.emitPayment({ id: 'evt_node_p', object: { id: 'pay_node' } });
    const all = await testbed.ask(
      `{ shipment(shipmentId: "shp_node") { id events { nodes { id } } }
         payment(paymentId: "pay_node") { id events { nodes { id } } } }`,
      {},
      token,
    );
    const { shipment, payment } = all.data;
    const ids = [shipment.id, shipment.events.nodes[0].id, payment.id, payment.events.nodes[0].id];
    const ask = async (session: string) =>
      (await testbed.ask('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids }, session)).data.nodes;
    expect(await ask(token)).toEqual(ids.map((id: string) => ({ id })));
    expect(await ask(await testbed.signIn(nobody))).toEqual([null, null, null, null]);
    const shipper = await testbed.signIn({ email: emailOf('shipments:read'), password: 'word' });
    expect(await ask(shipper)).toEqual([{ id: ids[0] }, { id: ids[1] }, null, null]);
  });
});

describe('the schema', () => {
  test('is served as SDL', async () => {
    const response = await fetch(`${testbed.url}/schema.graphql`);
    const sdl = await response.text();
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    const types = (schema: GraphQLSchema) => {
      const all = Object.values(lexicographicSortSchema(schema).getTypeMap());
      return all.filter(({ name }) => name !== 'Query').map(printType);
    };
    const forRouters = /^(?:scalar _Any|union _Entity|type _Service)\b/m;
    const { _service, _entities, ...fields } = createSchema().getQueryType()!.getFields();
    expect(types(buildSchema(sdl))).toEqual(types(createSchema()).filter((type) => !forRouters.test(type)));
    expect(Object.keys(buildSchema(sdl).getQueryType()!.getFields())).toEqual(Object.keys(fields));
    expect([_service, _entities]).not.toContain(undefined);
  });
});

describe('health', () => {
  test.each(['/livez', '/readyz'])('%s answers 200', async (path) => {
    const response = await fetch(`${testbed.url}${path}`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });
});

describe('a request that no route accepts', () => {
  const nothing = 'There is nothing at this address for this method.';

  test.each(['application/json', 'text/plain'])(
    'is refused before its body, of %s, is parsed',
    async (type) => {
      const headers = { 'content-type': type };
      const body = type === 'text/plain' ? 'x'.repeat(2 ** 20 + 1) : '{"no": JSON';
      const response = await fetch(`${testbed.url}/nothing`, { method: 'POST', headers, body });
      expect([response.status, codesOf(await response.json())]).toEqual([404, ['BAD_REQUEST']]);
    },
  );

  test.each([
    ['GET', '/nothing?secret', 404, nothing],
    ['GET', '/assets/nothing.js', 404, nothing],
    ['OPTIONS', '/graphql/nothing', 404, nothing],
    ['POST', '/livez', 405, 'Use GET or HEAD here.'],
    ['DELETE', '/readyz', 405, 'Use GET or HEAD here.'],
    ['PROPFIND', '/schema.graphql', 405, 'Use GET or HEAD here.'],
    ['GET', '/%ff%', 400, "'/%ff%' is not a valid url component"],
  ])('%s %s is answered %i, in the shape of a GraphQL error', async (method, path, code, message) => {
    const response = await fetch(testbed.url + path, { method });
    const { status, headers } = response;
    expect([status, headers.get('x-content-type-options')]).toEqual([code, 'nosniff']);
    expect(headers.get('allow')).toBe(code === 405 ? 'GET, HEAD' : null);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    const requestId = headers.get('x-request-id');
    expect(await response.json()).toEqual({
      errors: [{ message, extensions: { code: 'BAD_REQUEST', requestId } }],
    });
  });
});
