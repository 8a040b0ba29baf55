import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fastify from 'fastify';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { servePages } from '../../src/server/pages/pages.js';
import { codesOf, demo, startTestbed, type Answered, type Testbed } from '../support/testbed.js';
import { openSocket } from './sockets.js';

const appOrigin = 'https://app.example';
const publicUrl = 'https://gateway.example';
const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken errors { code } } }';

/** One gateway as on a developer's machine, and one as behind a proxy that terminates TLS. */
let local: Testbed;
let proxied: Testbed;
let token: string;

beforeAll(async () => {
  local = await startTestbed({ settings: { ALLOWED_ORIGINS: appOrigin } });
  proxied = await startTestbed({
    sandbox: local.sandbox,
    settings: { PUBLIC_URL: publicUrl, INTROSPECTION: 'off', TRUST_PROXY: 'loopback' },
  });
  token = await local.signIn();
});

afterAll(async () => {
  await proxied.stop();
  await local.stop();
});

const viewerOf = async (testbed: Testbed, headers: Record<string, string>) =>
  (await testbed.ask('{ viewer { email } }', {}, undefined, headers)).data.viewer as unknown;

const cookieOf = (testbed: Testbed, origin?: string) =>
  testbed
    .ask(signIn, { input: demo }, undefined, origin === undefined ? {} : { origin })
    .then(({ headers }) => headers.get('set-cookie'));

describe('CORS', () => {
  const corsHeaders = ({ headers }: { readonly headers: Headers }) => [
    headers.get('access-control-allow-origin'),
    headers.get('access-control-allow-credentials'),
  ];
  const ask = (origin: string) => local.ask('{ __typename }', {}, undefined, { origin });
  const preflight = (origin: string) =>
    fetch(`${local.url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,authorization',
      },
    });

  test('lets an allowed origin read answers, with credentials', async () => {
    for (const origin of [appOrigin, local.url]) {
      const answer = await ask(origin);
      expect(corsHeaders(answer)).toEqual([origin, 'true']);
      expect(answer.headers.get('access-control-expose-headers')).toBe(
        'x-request-id, x-schema-hash, ratelimit, ratelimit-policy, retry-after',
      );
      expect(answer.headers.has('x-origin-refused')).toBe(false);
      expect(answer.headers.get('vary')).toMatch(/origin/i);
      const before = await preflight(origin);
      expect([before.status, ...corsHeaders(before)]).toEqual([204, origin, 'true']);
      expect(before.headers.get('access-control-allow-headers')).toBe('content-type,authorization');
      expect(before.headers.get('access-control-allow-methods')).toBe('GET, POST');
      expect(before.headers.get('access-control-max-age')).toBe('600');
    }
  });

  test.each(['https://evil.example', 'null', `${appOrigin}.evil.example`, 'http://app.example'])(
    'does not let the origin %s read answers',
    async (origin) => {
      const answer = await ask(origin);
      expect(corsHeaders(answer)).toEqual([null, null]);
      expect(answer.headers.get('x-origin-refused')).toMatch(/ALLOWED_ORIGINS/);
      const before = await preflight(origin);
      // A success, so that a browser can only report that the origin is not allowed.
      expect([before.status, ...corsHeaders(before)]).toEqual([204, null, null]);
      expect(before.headers.get('access-control-allow-methods')).toBeNull();
      expect(before.headers.get('vary')).toMatch(/origin/i);
    },
  );

  test.each([
    ['/graphql', 'GET, POST'],
    ['/livez', 'GET, HEAD'],
    ['/schema.graphql', 'GET, HEAD'],
  ])('answers OPTIONS %s with the methods %s', async (path, methods) => {
    const options = (headers = {}) => fetch(local.url + path, { method: 'OPTIONS', headers });
    const { status, headers } = await options();
    expect([status, headers.get('allow')]).toEqual([204, methods]);
    expect((await options({ origin: appOrigin })).status).toBe(204);
  });
});

describe('the log', () => {
  const warningsOf = (testbed: Testbed) =>
    testbed
      .logged()
      .split('\n')
      .filter((line) => line.includes('from this origin are refused'))
      .map((line) => JSON.parse(line) as { readonly origin: string; readonly msg: string });

  test('names each refused origin once, whatever kind of request it came with, and 20 in all', async () => {
    const testbed = await startTestbed({ sandbox: local.sandbox, settings: { ALLOWED_ORIGINS: appOrigin } });
    onTestFinished(() => testbed.stop());
    const ask = (origin: string) => testbed.ask('{ __typename }', {}, undefined, { origin });
    const upgrade = (origin: string) => openSocket(`${testbed.url}/graphql`, { origin });
    const preflight = (origin: string) =>
      fetch(`${testbed.url}/graphql`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      });
    for (const origin of [appOrigin, testbed.url]) await Promise.all([ask(origin), preflight(origin)]);
    await ask('http://asks.example');
    await preflight('http://preflights.example');
    for (const of of ['upgrades', 'asks'])
      await expect(upgrade(`http://${of}.example`)).rejects.toThrow(
        /^HTTP 403 \{"errors":\[\{"message":".*ALLOWED_ORIGINS.*"code":"FORBIDDEN"\}\}\]\}$/,
      );
    await ask(`http://${'long.'.repeat(100)}example`);
    const lines = warningsOf(testbed);
    expect(lines.map(({ origin }) => origin)).toEqual([
      'http://asks.example',
      'http://preflights.example',
      'http://upgrades.example',
      `http://${'long.'.repeat(100)}`.slice(0, 100),
    ]);
    expect(new Set(lines.map(({ msg }) => msg))).toEqual(
      new Set(['requests from this origin are refused: see ALLOWED_ORIGINS and PUBLIC_URL']),
    );
    for (let number = 0; number < 30; number += 1) await ask(`http://${number}.example`);
    expect(warningsOf(testbed)).toHaveLength(20);
  });
});

describe('the session cookie', () => {
  test('is HttpOnly, is sent to every path, and is Secure if the public URL is https', async () => {
    const plain = await cookieOf(local, appOrigin);
    expect(plain).toMatch(/^trivium_session=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    const secure = await cookieOf(proxied, publicUrl);
    expect(secure).toMatch(/; HttpOnly; Secure; SameSite=Lax$/);
  });

  test('expires with the session', async () => {
    const expires = /Expires=([^;]+)/.exec((await cookieOf(local, appOrigin))!)![1]!;
    const day = 24 * 60 * 60 * 1000;
    expect(Date.parse(expires) - local.sandbox.clock.now()).toBeGreaterThan(day - 60_000);
    expect(Date.parse(expires) - local.sandbox.clock.now()).toBeLessThanOrEqual(day);
  });

  test('is not set for a forbidden origin', async () => {
    expect(await cookieOf(local, 'https://evil.example')).toBeNull();
    expect(await cookieOf(proxied, proxied.url)).toBeNull();
  });

  test('is accepted only from an allowed origin', async () => {
    const cookie = `trivium_session=${token}`;
    expect(await viewerOf(local, { cookie, origin: appOrigin })).toEqual({ email: demo.email });
    expect(await viewerOf(local, { cookie: `a=b; ${cookie}; c`, origin: local.url })).toEqual({
      email: demo.email,
    });
    expect(await viewerOf(local, { cookie })).toBeNull();
    expect(await viewerOf(local, { cookie, origin: 'https://evil.example' })).toBeNull();
    expect(await viewerOf(local, { cookie, origin: 'null' })).toBeNull();
  });

  test('is ignored if there is a bearer token, even a wrong one', async () => {
    const other = { email: 'other@example.com', password: 'word' };
    local.sandbox.notes.addUser({ ...other, name: 'Other' });
    const browser = { cookie: `trivium_session=${token}`, origin: appOrigin };
    const as = (authorization: string) => viewerOf(local, { ...browser, authorization });
    expect(await as(`Bearer ${await local.signIn(other)}`)).toEqual({ email: other.email });
    for (const wrong of ['Bearer wrong', 'bearer', 'Bearer a b', 'BEARER  '])
      expect(await as(wrong)).toBeNull();
    // Another scheme is meant for somebody else, such as a proxy in front of the gateway.
    expect(await as('Basic YTpi')).toEqual({ email: demo.email });
  });

  test('replaces the session that it stood for, which ends, and no other does', async () => {
    const browse = async () => {
      const cookie = (await cookieOf(local, appOrigin))!.split(';', 1)[0]!;
      return { cookie, origin: appOrigin };
    };
    const [first, other] = [await browse(), await browse()];
    const again = (headers: Record<string, string>) => local.ask(signIn, { input: demo }, undefined, headers);
    await again({ ...first, origin: 'https://evil.example' });
    await local.ask(signIn, { input: { ...demo, password: 'wrong' } }, undefined, first);
    expect(await viewerOf(local, first)).toEqual({ email: demo.email });
    const replacing = await again({ ...first, authorization: `Bearer ${token}` });
    expect(replacing.headers.get('set-cookie')).toMatch(/^trivium_session=[\w-]{43};/);
    expect(await viewerOf(local, first)).toBeNull();
    for (const live of [other, { authorization: `Bearer ${token}` }])
      expect(await viewerOf(local, live)).toEqual({ email: demo.email });
  });

  test('is kept when another session signs out by its token', async () => {
    const cookie = (await cookieOf(local, appOrigin))!.split(';', 1)[0]!;
    const browser = { cookie, origin: appOrigin };
    const { data, headers } = await local.ask(
      'mutation { signOut { signedOut } }',
      {},
      await local.signIn(),
      browser,
    );
    expect([data.signOut.signedOut, headers.get('set-cookie')]).toEqual([true, null]);
    expect(await viewerOf(local, browser)).toEqual({ email: demo.email });
  });

  test('is cleared on signing out', async () => {
    const cookie = (await cookieOf(local, appOrigin))!.split(';', 1)[0]!;
    const browser = { cookie, origin: appOrigin };
    const answer = await local.ask(
      'mutation { signOut { signedOut errors { code } } }',
      {},
      undefined,
      browser,
    );
    expect(answer.data).toEqual({ signOut: { signedOut: true, errors: [] } });
    expect(answer.headers.get('set-cookie')).toMatch(/^trivium_session=; .*Expires=Thu, 01 Jan 1970/);
    expect(await viewerOf(local, browser)).toBeNull();
  });
});

describe('a caller who has to sign in first', () => {
  const notBearer = ': `authorization` is not `Bearer ` and the token of a live session.';
  const deadCookie = ': the session cookie is not the token of a live session.';
  const noOrigin = ': the session cookie counts only with an `Origin`, which browsers send with every POST.';
  const foreign =
    ": the session cookie does not count from this page's origin (see ALLOWED_ORIGINS and PUBLIC_URL).";
  const dead = { cookie: 'trivium_session=dead' };
  const basic = { authorization: 'Basic YTpi' };
  const evil = { origin: 'https://evil.example' };

  test.each<readonly [about: string, headers: () => Record<string, string>, fault: string]>([
    ['no credentials', () => ({}), '.'],
    ['no credentials from an allowed origin', () => ({ origin: appOrigin }), '.'],
    ['an empty authorization', () => ({ authorization: '' }), '.'],
    ['another cookie', () => ({ cookie: `x_trivium_session=${token}` }), '.'],
    ['a token without `Bearer`', () => ({ authorization: token }), notBearer],
    ['another scheme', () => basic, notBearer],
    ['an unknown token', () => ({ authorization: 'Bearer dead' }), notBearer],
    ['no token', () => ({ authorization: 'Bearer' }), notBearer],
    [
      'an unknown token and a cookie',
      () => ({ authorization: 'Bearer dead', cookie: `trivium_session=${token}`, origin: appOrigin }),
      notBearer,
    ],
    ['an unknown token from a foreign origin', () => ({ authorization: 'Bearer dead', ...evil }), notBearer],
    ['a dead cookie', () => ({ ...dead, origin: appOrigin }), deadCookie],
    ['a dead cookie and another scheme', () => ({ ...dead, ...basic, origin: appOrigin }), deadCookie],
    ['a cookie without an origin', () => ({ cookie: `trivium_session=${token}` }), noOrigin],
    ['a cookie from a foreign origin', () => ({ cookie: `trivium_session=${token}`, ...evil }), foreign],
    ['a page where `signIn` sets no cookie', () => evil, foreign],
  ])('is told why, by compiled queries and by Apollo Server: %s', async (_, headers, fault) => {
    const query = '{ viewer { id } node(id: "x") { id } tag(name: "a") { id } }';
    const refusal = {
      message: `Sign in first${fault}`,
      locations: expect.anything(),
      extensions: { code: 'UNAUTHENTICATED' },
    };
    for (let time = 0; time < 3; time += 1) {
      const { data, errors } = await local.ask(query, {}, undefined, headers());
      expect(data).toEqual({ viewer: null, node: null, tag: null });
      expect(errors).toEqual(['node', 'tag'].map((name) => ({ ...refusal, path: [name] })));
    }
  });

  test('is told why after signing out in the same document', async () => {
    const query = 'mutation { signOut { signedOut } again: signOut { signedOut } }';
    const { errors } = await local.ask(query, {}, await local.signIn());
    expect(errors).toMatchObject([{ message: `Sign in first${notBearer}`, path: ['again'] }]);
  });
});

describe('a bearer token', () => {
  test('is accepted whatever the case and spacing of its scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', ' Bearer  '])
      expect(await viewerOf(local, { authorization: `${scheme} ${token}` })).toEqual({ email: demo.email });
  });
});

describe('the Accept header', () => {
  const booking = `mutation { createAppointment(input: { status: BOOKED, start: "2026-01-01T10:00:00Z",
    end: "2026-01-01T11:00:00Z", participants: [{ actor: { reference: "Patient/1" }, status: ACCEPTED }] })
    { errors { code } } }`;
  const refused = [
    '{ viewer { ...F } } fragment F on User { ...F }',
    `{ viewer ${'{ a '.repeat(200)}${'}'.repeat(201)}`,
    'subscription ($x: Boolean!) { shipmentUpdates @ skip(if: $x) { cursor } }',
    '{ nothing }',
    '{',
  ];
  const ask = (query: string, accept: string) => local.ask(query, {}, token, { accept });
  const answered = ({ status, headers }: Answered) => [status, headers.get('content-type')];

  test.each([
    'text/html',
    'image/*, text/*;q=0.5',
    'application/json;q=0',
    '*/*;q=0',
    'application/json; charset=utf-16',
    'nonsense',
  ])('without JSON is answered 406 before anything is executed: %s', async (accept) => {
    const before = local.sandbox.calls.length;
    const calls = () => local.sandbox.calls.slice(before).map(({ method, path }) => `${method} ${path}`);
    for (const query of [booking, '{ viewer { email } }', '{ tags { nodes { name } } }', ...refused]) {
      const answer = await ask(query, accept);
      expect(answered(answer)).toEqual([406, 'application/json; charset=utf-8']);
      expect(answer.errors).toEqual([
        {
          message: expect.stringMatching(
            /^Accept `application\/json`.*text\/event-stream.*websocket/,
          ) as string,
          extensions: { code: 'BAD_REQUEST', requestId: expect.any(String) as string },
        },
      ]);
      expect(answer.data).toBeUndefined();
    }
    expect(calls()).toEqual([]);
    expect((await ask(booking, 'application/json')).data).toEqual({ createAppointment: { errors: [] } });
    expect(calls().filter((call) => call === 'POST /appointments')).toHaveLength(1);
  });

  test.each([
    ['', 'application/json'],
    ['*/*;q=0.1, text/html', 'application/json'],
    ['application/*', 'application/json'],
    ['application/json;q=0, application/graphql-response+json', 'application/graphql-response+json'],
  ])('"%s" gives an answer in %s', async (accept, type) => {
    for (const query of [booking, '{ viewer { email } }']) {
      const answer = await ask(query, accept);
      expect(answered(answer)).toEqual([200, `${type}; charset=utf-8`]);
      expect(answer.errors).toBeUndefined();
    }
    for (const query of refused) {
      const answer = await ask(query, accept);
      expect([query, ...answered(answer)]).toEqual([query, 400, `${type}; charset=utf-8`]);
      expect(codesOf(answer)).toEqual([expect.stringMatching(/^QUERY_TOO_COMPLEX$|^GRAPHQL_\w+_FAILED$/)]);
    }
  });
});

describe('a refused request', () => {
  const accept = 'application/graphql-response+json,application/json;q=0.9';

  test.each<[string, number, { method?: string; body: string; headers?: Record<string, string> }]>([
    ['a body over 1 MiB', 413, { body: JSON.stringify({ query: '', more: 'x'.repeat(2 ** 20) }) }],
    ['a compressed body', 415, { body: '{}', headers: { 'content-encoding': 'gzip' } }],
    ['malformed JSON', 400, { body: '{' }],
    ['another method', 405, { method: 'PUT', body: '{}' }],
  ])('is answered in the client’s GraphQL media type, with a code: %s', async (_, status, init) => {
    const headers = { 'content-type': 'application/json', accept, ...init.headers };
    const answer = await fetch(`${local.url}/graphql`, { method: 'POST', ...init, headers });
    const type = 'application/graphql-response+json; charset=utf-8';
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type]);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const { errors } = (await answer.json()) as Answered;
    expect(codesOf({ errors })).toEqual(['BAD_REQUEST']);
  });
});

describe('the address of a client', () => {
  /** The error codes of a correct sign-in after a client has failed a hundred times with as many e-mail addresses. */
  async function guess(testbed: Testbed, client: string): Promise<unknown[]> {
    const from = (address: string, password: string) =>
      testbed.ask(signIn, { input: { email: address, password } }, undefined, { 'x-forwarded-for': client });
    for (let round = 0; round < 10; round += 1)
      await Promise.all(
        Array.from({ length: 10 }, (_, at) => from(`${client}-${round}-${at}@example.com`, 'wrong')),
      );
    return codesOf(await from(demo.email, demo.password));
  }

  test('is the one that a trusted proxy reports', async () => {
    expect(await guess(proxied, '203.0.113.1')).toEqual(['RATE_LIMITED']);
    const other = await proxied.ask(signIn, { input: demo }, undefined, { 'x-forwarded-for': '203.0.113.2' });
    expect(codesOf(other)).toEqual([]);
  });

  test('is the one that the nearest proxy reports if TRUST_PROXY is 1', async () => {
    const behind = await startTestbed({ settings: { TRUST_PROXY: '1' } });
    try {
      expect(await guess(behind, '198.51.100.7, 203.0.113.1')).toEqual(['RATE_LIMITED']);
      const other = await behind.ask(signIn, { input: demo }, undefined, {
        'x-forwarded-for': '203.0.113.1, 203.0.113.2',
      });
      expect(codesOf(other)).toEqual([]);
    } finally {
      await behind.stop();
    }
  });

  test('is that of an untrusted proxy, of which the log warns once, and once more when sign-ins are refused', async () => {
    for (const [trusted, warned] of [
      ['203.0.113.0/24', 1],
      ['loopback', 0],
    ] as const) {
      const behind = await startTestbed({ settings: { PUBLIC_URL: publicUrl, TRUST_PROXY: trusted } });
      try {
        for (let client = 0; client < 2; client += 1)
          expect(await guess(behind, `203.0.113.${client}`)).toEqual(['RATE_LIMITED']);
        const told = behind
          .logged()
          .split('\n')
          .filter((line) => line.includes('TRUST_PROXY'));
        expect(told.filter((line) => line.includes('X-Forwarded-For'))).toHaveLength(warned);
        expect(told.filter((line) => line.includes('from one network are refused'))).toHaveLength(1);
        expect(told.join()).not.toMatch(/127\.0\.0\.1|203\.0\.113/);
      } finally {
        await behind.stop();
      }
    }
  });

  test('is not taken from a header that a client sends', async () => {
    expect(await guess(local, '203.0.113.1')).toEqual(['RATE_LIMITED']);
    const other = await local.ask(signIn, { input: demo }, undefined, { 'x-forwarded-for': '203.0.113.2' });
    expect(codesOf(other)).toEqual(['RATE_LIMITED']);
  });
});

describe('introspection', () => {
  test('is refused over HTTP and websockets, with a single error, if it is off', async () => {
    const session = await proxied.ask(signIn, { input: demo }, undefined, {
      'x-forwarded-for': '203.0.113.9',
    });
    const authorization = `Bearer ${session.data.signIn.sessionToken}`;
    const socket = await openSocket(`${proxied.url}/graphql`, { headers: { authorization } });
    socket.send({ type: 'connection_init' });
    await socket.next();
    for (const query of ['{ __schema { description } }', '{ __type(name: "Note") { name } }']) {
      socket.send({ id: '1', type: 'subscribe', payload: { query } });
      const { payload } = await socket.next();
      const { errors } = await proxied.ask(query);
      expect(payload).toEqual(errors);
      expect(codesOf({ errors })).toEqual(['GRAPHQL_VALIDATION_FAILED']);
    }
    expect((await proxied.ask('{ __typename }')).data).toEqual({ __typename: 'Query' });
    expect(codesOf(await proxied.ask(getIntrospectionQuery()))).toContain('GRAPHQL_VALIDATION_FAILED');
    socket.close();
  });
});

describe('the pages', () => {
  async function serve(folder: string) {
    const app = fastify();
    const pages = await servePages(app, pathToFileURL(`${folder}/`), { version: '', signatureTimes: {} });
    app.get('/graphql', (_, reply) => pages.explorer(reply));
    return app;
  }

  test('are served once they are built', async () => {
    const folder = mkdtempSync(join(inject('testDirectory'), 'pages-'));
    for (const name of ['assets', 'explorer']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'explorer/explorer.html'), '<title>Explorer</title>');
    writeFileSync(join(folder, 'assets/one.js'), 'export {};');
    const app = await serve(folder);
    const page = await app.inject('/graphql');
    expect([page.statusCode, page.headers['content-type'], page.body]).toEqual([
      200,
      'text/html; charset=utf-8',
      '<title>Explorer</title>',
    ]);
    const asset = await app.inject('/assets/one.js');
    expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect((await app.inject('/assets/../explorer/explorer.html')).statusCode).toBe(404);
    await app.close();
  });

  test('are answered 503 with a hint if they are not built', async () => {
    const app = await serve(mkdtempSync(join(inject('testDirectory'), 'pages-')));
    const page = await app.inject('/graphql');
    expect([page.statusCode, page.body]).toEqual([503, expect.stringContaining('npm run build')]);
    await app.close();
  });

  describe('and the Accept header', () => {
    /** Connections to this host alone: an injected script cannot send what it reads to another. */
    const pagePolicy = [
      "default-src 'self'",
      "base-uri 'self'",
      "font-src 'self' data:",
      "form-action 'self'",
      "frame-ancestors 'self'",
      "img-src 'self' data:",
      "object-src 'none'",
      "script-src 'self'",
      "script-src-attr 'none'",
      "style-src 'self' 'unsafe-inline'",
      "worker-src 'self' blob:",
      "connect-src 'self'",
    ].join(';');
    const get = (accept: string) =>
      fetch(`${local.url}/graphql?query={__typename}`, {
        headers: { accept, 'apollo-require-preflight': '1' },
      });

    test.each([
      'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'text/html',
      'TEXT/HTML',
      'text/*',
      'text/html, application/json',
      '*/*, text/html',
    ])('%s gets the page', async (accept) => {
      const page = await get(accept);
      expect(page.headers.get('content-type')).toMatch(/^text\//);
      expect(page.headers.get('content-security-policy')).toBe(pagePolicy);
      expect(page.headers.get('x-frame-options')).toBe('SAMEORIGIN');
      expect(await page.text()).not.toContain('apollo');
    });

    test.each([
      '*/*',
      'application/json',
      'application/graphql-response+json',
      'application/json, text/html;q=0.1',
      'application/json, text/html;q=0',
      'application/json, text/htmlx',
      '',
    ])('%s gets JSON', async (accept) => {
      const answer = await get(accept);
      expect(await answer.json()).toEqual({ data: { __typename: 'Query' } });
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    });
  });
});
