import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fastify from 'fastify';
import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { servePages } from '../../src/server/pages.js';
import { codesOf, demo, startTestbed, type Answered, type Testbed } from '../support/testbed.js';
import { openSocket } from './sockets.js';

const appOrigin = 'https://app.example';
const publicUrl = 'https://gateway.example';
const signIn = 'mutation ($input: SignInInput!) { signIn(input: $input) { sessionToken errors { code } } }';

/** One gateway as on a developer's machine, one as behind a proxy that ends TLS. */
let open: Testbed;
let closed: Testbed;
let token: string;

beforeAll(async () => {
  open = await startTestbed({ settings: { ALLOWED_ORIGINS: appOrigin } });
  closed = await startTestbed({
    sandbox: open.sandbox,
    settings: { PUBLIC_URL: publicUrl, INTROSPECTION: 'off', TRUST_PROXY: 'loopback' },
  });
  token = await open.signIn();
});

afterAll(async () => {
  await closed.stop();
  await open.stop();
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
  const ask = (origin: string) => open.ask('{ __typename }', {}, undefined, { origin });
  const preflight = (origin: string) =>
    fetch(`${open.url}/graphql`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,authorization',
      },
    });

  test('an allowed origin may read answers, with credentials', async () => {
    for (const origin of [appOrigin, open.url]) {
      const answer = await ask(origin);
      expect(corsHeaders(answer)).toEqual([origin, 'true']);
      expect(answer.headers.get('access-control-expose-headers')).toBe('x-request-id');
      expect(answer.headers.get('vary')).toMatch(/origin/i);
      const before = await preflight(origin);
      expect([before.status, ...corsHeaders(before)]).toEqual([204, origin, 'true']);
      expect(before.headers.get('access-control-allow-headers')).toBe('content-type,authorization');
      expect(before.headers.get('access-control-allow-methods')).toBe('GET, POST');
      expect(before.headers.get('access-control-max-age')).toBe('600');
    }
  });

  test.each(['https://evil.example', 'null', `${appOrigin}.evil.example`, 'http://app.example'])(
    'the origin %s may not',
    async (origin) => {
      expect(corsHeaders(await ask(origin))).toEqual([null, null]);
      const before = await preflight(origin);
      // So that all a browser can complain of is that the page is not admitted.
      expect([before.status, ...corsHeaders(before)]).toEqual([204, null, null]);
      expect(before.headers.get('access-control-allow-methods')).toBeNull();
      expect(before.headers.get('vary')).toMatch(/origin/i);
    },
  );

  test.each([
    ['/graphql', 'GET, POST'],
    ['/livez', 'GET, HEAD'],
    ['/schema.graphql', 'GET, HEAD'],
  ])('whoever asks which methods there are is told: %s', async (path, methods) => {
    const options = (headers = {}) => fetch(open.url + path, { method: 'OPTIONS', headers });
    const { status, headers } = await options();
    expect([status, headers.get('allow')]).toEqual([204, methods]);
    expect((await options({ origin: appOrigin })).status).toBe(204);
  });
});

describe('the operator', () => {
  const told = (testbed: Testbed) =>
    testbed
      .logged()
      .split('\n')
      .filter((line) => line.includes('from this origin are refused'))
      .map((line) => JSON.parse(line) as { readonly origin: string; readonly msg: string });

  test('is told once of an origin that is not admitted, at every door, and of a few in all', async () => {
    const testbed = await startTestbed({ sandbox: open.sandbox, settings: { ALLOWED_ORIGINS: appOrigin } });
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
      await expect(upgrade(`http://${of}.example`)).rejects.toThrow('403');
    await ask(`http://${'long.'.repeat(100)}example`);
    const lines = told(testbed);
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
    expect(told(testbed)).toHaveLength(20);
  });
});

describe('the session cookie', () => {
  test('is for the browser alone, on every path, and secure where the public address is', async () => {
    const plain = await cookieOf(open, appOrigin);
    expect(plain).toMatch(/^trivium_session=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    const secure = await cookieOf(closed, publicUrl);
    expect(secure).toMatch(/; HttpOnly; Secure; SameSite=Lax$/);
  });

  test('lasts as long as the session', async () => {
    const expires = /Expires=([^;]+)/.exec((await cookieOf(open, appOrigin))!)![1]!;
    const day = 24 * 60 * 60 * 1000;
    expect(Date.parse(expires) - open.sandbox.clock.now()).toBeGreaterThan(day - 60_000);
    expect(Date.parse(expires) - open.sandbox.clock.now()).toBeLessThanOrEqual(day);
  });

  test('is not given to a forbidden origin', async () => {
    expect(await cookieOf(open, 'https://evil.example')).toBeNull();
    expect(await cookieOf(closed, closed.url)).toBeNull();
  });

  test('counts only from an allowed origin', async () => {
    const cookie = `trivium_session=${token}`;
    expect(await viewerOf(open, { cookie, origin: appOrigin })).toEqual({ email: demo.email });
    expect(await viewerOf(open, { cookie: `a=b; ${cookie}; c`, origin: open.url })).toEqual({
      email: demo.email,
    });
    expect(await viewerOf(open, { cookie })).toBeNull();
    expect(await viewerOf(open, { cookie, origin: 'https://evil.example' })).toBeNull();
    expect(await viewerOf(open, { cookie, origin: 'null' })).toBeNull();
  });

  test('a bearer token wins over it, even a wrong one', async () => {
    const other = { email: 'other@example.com', password: 'word' };
    open.sandbox.notes.addUser({ ...other, name: 'Other' });
    const browser = { cookie: `trivium_session=${token}`, origin: appOrigin };
    const as = (authorization: string) => viewerOf(open, { ...browser, authorization });
    expect(await as(`Bearer ${await open.signIn(other)}`)).toEqual({ email: other.email });
    for (const wrong of ['Bearer wrong', 'bearer', 'Bearer a b', 'BEARER  '])
      expect(await as(wrong)).toBeNull();
    // Another scheme is for somebody else, as a proxy in front of us.
    expect(await as('Basic YTpi')).toEqual({ email: demo.email });
  });

  test('goes with the session', async () => {
    const cookie = (await cookieOf(open, appOrigin))!.split(';', 1)[0]!;
    const browser = { cookie, origin: appOrigin };
    const answer = await open.ask(
      'mutation { signOut { signedOut errors { code } } }',
      {},
      undefined,
      browser,
    );
    expect(answer.data).toEqual({ signOut: { signedOut: true, errors: [] } });
    expect(answer.headers.get('set-cookie')).toMatch(/^trivium_session=; .*Expires=Thu, 01 Jan 1970/);
    expect(await viewerOf(open, browser)).toBeNull();
  });
});

describe('a bearer token', () => {
  test('is read however the scheme is written', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER', ' Bearer  '])
      expect(await viewerOf(open, { authorization: `${scheme} ${token}` })).toEqual({ email: demo.email });
  });
});

describe('a client that takes', () => {
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
  const ask = (query: string, accept: string) => open.ask(query, {}, token, { accept });
  const answered = ({ status, headers }: Answered) => [status, headers.get('content-type')];

  test.each([
    'text/html',
    'image/*, text/*;q=0.5',
    'application/json;q=0',
    '*/*;q=0',
    'application/json; charset=utf-16',
    'nonsense',
  ])('no JSON is refused before anything is done: %s', async (accept) => {
    const before = open.sandbox.calls.length;
    const calls = () => open.sandbox.calls.slice(before).map(({ method, path }) => `${method} ${path}`);
    for (const query of [booking, '{ viewer { email } }', '{ tags { nodes { name } } }', ...refused]) {
      const answer = await ask(query, accept);
      expect(answered(answer)).toEqual([406, 'application/json; charset=utf-8']);
      expect(answer.errors).toEqual([
        { message: expect.stringMatching(/^An 'accept' header /), extensions: { code: 'BAD_REQUEST' } },
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
  ])('"%s" is answered in %s', async (accept, type) => {
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

describe('a client of GraphQL reads', () => {
  const accept = 'application/graphql-response+json,application/json;q=0.9';

  test.each<[string, number, { method?: string; body: string; headers?: Record<string, string> }]>([
    ['a body over 1 MiB', 413, { body: JSON.stringify({ query: '', more: 'x'.repeat(2 ** 20) }) }],
    ['a compressed body', 415, { body: '{}', headers: { 'content-encoding': 'gzip' } }],
    ['malformed JSON', 400, { body: '{' }],
    ['another method', 405, { method: 'PUT', body: '{}' }],
  ])('why there is no answer to %s', async (_, status, init) => {
    const headers = { 'content-type': 'application/json', accept, ...init.headers };
    const answer = await fetch(`${open.url}/graphql`, { method: 'POST', ...init, headers });
    const type = 'application/graphql-response+json; charset=utf-8';
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type]);
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    const { errors } = (await answer.json()) as Answered;
    expect(codesOf({ errors })).toEqual(['BAD_REQUEST']);
  });
});

describe('the address of a client', () => {
  /** Whether after a hundred guesses for many addresses from one client a right sign-in still is let through. */
  async function guess(testbed: Testbed, client: string): Promise<unknown[]> {
    const from = (address: string, password: string) =>
      testbed.ask(signIn, { input: { email: address, password } }, undefined, { 'x-forwarded-for': client });
    for (let round = 0; round < 10; round += 1)
      await Promise.all(
        Array.from({ length: 10 }, (_, at) => from(`${client}-${round}-${at}@example.com`, 'wrong')),
      );
    return codesOf(await from(demo.email, demo.password));
  }

  test('is what a trusted proxy says', async () => {
    expect(await guess(closed, '203.0.113.1')).toEqual(['RATE_LIMITED']);
    const other = await closed.ask(signIn, { input: demo }, undefined, { 'x-forwarded-for': '203.0.113.2' });
    expect(codesOf(other)).toEqual([]);
  });

  test('is what the nearest of a number of proxies says', async () => {
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

  test('is that of a proxy which is not trusted: the log says so once, and when sign-ins are refused for it', async () => {
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

  test('is not what anybody says', async () => {
    expect(await guess(open, '203.0.113.1')).toEqual(['RATE_LIMITED']);
    const other = await open.ask(signIn, { input: demo }, undefined, { 'x-forwarded-for': '203.0.113.2' });
    expect(codesOf(other)).toEqual(['RATE_LIMITED']);
  });
});

describe('introspection that is off', () => {
  test('is refused at every door, once', async () => {
    const session = await closed.ask(signIn, { input: demo }, undefined, {
      'x-forwarded-for': '203.0.113.9',
    });
    const authorization = `Bearer ${session.data.signIn.sessionToken}`;
    const socket = await openSocket(`${closed.url}/graphql`, { headers: { authorization } });
    socket.send({ type: 'connection_init' });
    await socket.next();
    for (const query of ['{ __schema { description } }', '{ __type(name: "Note") { name } }']) {
      socket.send({ id: '1', type: 'subscribe', payload: { query } });
      const { payload } = await socket.next();
      const { errors } = await closed.ask(query);
      expect(payload).toEqual(errors);
      expect(codesOf({ errors })).toEqual(['GRAPHQL_VALIDATION_FAILED']);
    }
    expect((await closed.ask('{ __typename }')).data).toEqual({ __typename: 'Query' });
    expect(codesOf(await closed.ask(getIntrospectionQuery()))).toContain('GRAPHQL_VALIDATION_FAILED');
    socket.close();
  });
});

describe('the pages', () => {
  async function serve(folder: string) {
    const app = fastify();
    const pages = await servePages(app, pathToFileURL(`${folder}/`));
    app.get('/graphql', (_, reply) => pages.explorer(reply));
    return app;
  }

  test('are served once they are built', async () => {
    const folder = mkdtempSync(join(inject('testDirectory'), 'pages-'));
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'explorer.html'), '<title>Explorer</title>');
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
    expect((await app.inject('/assets/../explorer.html')).statusCode).toBe(404);
    await app.close();
  });

  test('are not missed by whoever has not built them', async () => {
    const app = await serve(mkdtempSync(join(inject('testDirectory'), 'pages-')));
    const page = await app.inject('/graphql');
    expect([page.statusCode, page.body]).toEqual([503, expect.stringContaining('npm run build')]);
    await app.close();
  });

  describe('are for browsers; others are answered in JSON:', () => {
    const get = (accept: string) =>
      fetch(`${open.url}/graphql?query={__typename}`, {
        headers: { accept, 'apollo-require-preflight': '1' },
      });

    test.each([
      'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'text/html',
      'TEXT/HTML',
      'text/*',
      'text/html, application/json',
      '*/*, text/html',
    ])('%s', async (accept) => {
      const page = await get(accept);
      expect(page.headers.get('content-type')).toMatch(/^text\//);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
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
    ])('%s', async (accept) => {
      const answer = await get(accept);
      expect(await answer.json()).toEqual({ data: { __typename: 'Query' } });
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    });
  });
});
