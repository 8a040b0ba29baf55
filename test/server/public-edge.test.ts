import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { codesOf, startTestbed, type Answered, type Testbed } from '../support/testbed.js';
import { openSocket } from './sockets.js';

let testbed: Testbed;

beforeAll(async () => {
  testbed = await startTestbed({ settings: { ALLOWED_HOSTS: 'api.example.com', INTROSPECTION: 'off' } });
});
afterAll(() => testbed.stop());

/** The status of a GET with these headers, as they are written. */
function statusOf(path: string, headers: Record<string, string | string[]>, { url } = testbed) {
  return new Promise<number | undefined>((resolve, reject) => {
    const sent = httpRequest(`${url}${path}`, { headers, setHost: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on('error', reject).end();
  });
}

describe('the header Host', () => {
  test.each([
    ['api.example.com', 200],
    ['API.Example.com.:443', 200],
    ['127.0.0.1:4000', 200],
    ['[::1]:4000', 200],
    ['rebound.example', 421],
    ['api.example.com.evil.example', 421],
    ['localhost', 421],
    ['', 421],
  ])('of %j is answered %i', async (host, status) => {
    expect(await statusOf('/favicon.ico', { host })).not.toBe(status === 421 ? 200 : 421);
    expect(await statusOf('/metrics', { host })).toBe(status);
    for (const probe of ['/livez', '/readyz?x']) expect(await statusOf(probe, { host })).toBe(200);
  });

  test('of another site is refused on websockets and deliveries, too', async () => {
    await expect(
      openSocket(`${testbed.url}/graphql`, { headers: { host: 'rebound.example' } }),
    ).rejects.toThrow('421');
    expect(await statusOf('/webhooks/shipments/sub_demo', { host: 'rebound.example' })).toBe(421);
  });

  test('is refused on deliveries as the receiver refuses', async () => {
    const socket = connect(Number(new URL(testbed.url).port), '127.0.0.1');
    socket.write('POST http://rebound.example/webhooks/shipments/sub_demo HTTP/1.1\r\n');
    socket.write('Host: rebound.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 421 [^]*\r\ncontent-type: application\/json\r\n/i);
    expect(JSON.parse(body)).toEqual({
      error: { code: 'MISDIRECTED_REQUEST', message: expect.stringContaining('ALLOWED_HOSTS') },
    });
  });

  test('that is missing is refused with 400 by us, but in HTTP/1.0', async () => {
    const ask = (version: string) => {
      const socket = connect(Number(new URL(testbed.url).port), '127.0.0.1');
      socket.write(`GET /livez HTTP/${version}\r\nConnection: close\r\n\r\n`);
      return text(socket);
    };
    expect(await ask('1.1')).toMatch(/^HTTP\/1.1 400 [^]*The header Host is missing/);
    expect(await ask('1.0')).toMatch(/^HTTP\/1.1 200 /);
  });

  test('that is sent twice is refused with 400, wherever any is allowed', async () => {
    const open = await startTestbed({ sandbox: testbed.sandbox });
    onTestFinished(() => open.stop());
    const { port } = new URL(open.url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write('GET /livez HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\nConnection: close\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1.1 400 /);
    expect(await statusOf('/livez', { host: 'anything.example' }, open)).toBe(200);
  });
});

describe('behind https', () => {
  test('answers have HSTS, and the cookie is of this host alone; sent twice, it counts as none', async () => {
    const own = await startTestbed({
      sandbox: testbed.sandbox,
      settings: { PUBLIC_URL: 'https://api.example.com' },
    });
    onTestFinished(() => own.stop());
    const origin = 'https://api.example.com';
    const { headers } = await own.ask(
      'mutation { signIn(input: { email: "demo@example.com", password: "demo-password" }) { expiresAt } }',
      {},
      undefined,
      { origin },
    );
    expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d{8}/);
    expect(headers.get('set-cookie')).toMatch(/^__Host-trivium_session=[\w-]{43}; .*Secure/);
    const [cookie = ''] = headers.get('set-cookie')!.split(';');
    const seen = async (sent: string) =>
      (await own.ask('{ viewer { email } }', {}, undefined, { origin, cookie: sent })).data.viewer !== null;
    expect(await seen(cookie)).toBe(true);
    expect(await seen(`${cookie}; ${cookie}`)).toBe(false);
    expect(await seen(`${cookie}; __Host-trivium_session=other`)).toBe(false);
    expect(await seen(cookie.replace('__Host-', ''))).toBe(false);
  });

  test('a sign-in ends the session of the cookie for later mutations of the same document, too', async () => {
    const headers = { origin: new URL(testbed.url).origin };
    const signIn = 'signIn(input: { email: "demo@example.com", password: "demo-password" }) { sessionToken }';
    const first = await testbed.ask(`mutation { ${signIn} }`, {}, undefined, headers);
    const [cookie = ''] = first.headers.get('set-cookie')!.split(';');
    const both = `mutation { ${signIn} signOut { signedOut } }`;
    const { data, errors, ...second } = await testbed.ask(both, {}, undefined, { ...headers, cookie });
    expect(errors).toMatchObject([{ path: ['signOut'], extensions: { code: 'UNAUTHENTICATED' } }]);
    const [renewed = ''] = second.headers.get('set-cookie')!.split(';');
    const viewer = await testbed.ask('{ viewer { email } }', {}, undefined, { ...headers, cookie: renewed });
    expect(viewer.data.viewer).toEqual({ email: 'demo@example.com' });
    expect(data).toBeNull();
  });

  test('alone: over http there is no HSTS', async () => {
    const { headers } = await testbed.ask('{ __typename }');
    expect(headers.get('strict-transport-security')).toBeNull();
  });
});

test.each(['', null])('an operationName of %j is none', async (operationName) => {
  const ask = async (query: string) => {
    const response = await fetch(`${testbed.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, operationName }),
    });
    return response.json();
  };
  for (let time = 0; time < 3; time += 1)
    expect(await ask('query Named { __typename }')).toEqual({ data: { __typename: 'Query' } });
});

describe('with INTROSPECTION=off', () => {
  const misspelt = '{ viewr { id } notes(frst: 1) { nodes { id } } viewer { id { x } } }';

  test('the schema is for signed-in callers', async () => {
    const token = await testbed.signIn();
    const read = (headers = {}) => fetch(`${testbed.url}/schema.graphql`, { headers });
    const refused = await read();
    expect([refused.status, codesOf((await refused.json()) as Answered)]).toEqual([404, ['UNAUTHENTICATED']]);
    const shown = await read({ authorization: `Bearer ${token}` });
    expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining('type Query')]);
  });

  test('so are suggestions', async () => {
    const anonymous = await testbed.ask(misspelt);
    expect(codesOf(anonymous)).toContain('GRAPHQL_VALIDATION_FAILED');
    expect(JSON.stringify(anonymous.errors)).not.toContain('Did you mean');
    const known = await testbed.ask(misspelt, {}, await testbed.signIn());
    expect(JSON.stringify(known.errors)).toContain('Did you mean \\"viewer\\"');
  });

  test('in answers of streams, too', async () => {
    const shown = async (headers = {}) => {
      const parameters = new URLSearchParams({ query: misspelt });
      return (await fetch(`${testbed.url}/graphql/stream?${parameters}`, { headers })).text();
    };
    expect(await shown()).not.toContain('Did you mean');
    const authorization = `Bearer ${await testbed.signIn()}`;
    expect(await shown({ authorization })).toContain('Did you mean \\"viewer\\"');
  });

  test('so are the values of an enum', async () => {
    const query = 'query ($stage: ShipmentStage) { shipments(filter: { stage: $stage }) { nodes { id } } }';
    const messageTo = async (token?: string) =>
      (await testbed.ask(query, { stage: 'LOST' }, token)).errors![0]!.message;
    const fault = 'Variable "$stage" got an invalid value; Value does not exist in "ShipmentStage" enum';
    expect(await messageTo()).toBe(`${fault}.`);
    expect(await messageTo(await testbed.signIn())).toContain(`${fault}. Did you mean one of CREATED, `);
  });
});

describe('a document', () => {
  const many = (count: number) =>
    `mutation { ${Array.from({ length: count }, (_, at) => `a${at}: signOut { signedOut }`).join(' ')} }`;

  test('may have 20 root fields of a mutation, counted with fragments, and no more', async () => {
    expect(codesOf(await testbed.ask(many(20)))).not.toContain('QUERY_TOO_COMPLEX');
    expect(codesOf(await testbed.ask(many(21)))).toEqual(['QUERY_TOO_COMPLEX']);
    const fragment = many(21).replace('mutation', 'fragment F on Mutation');
    expect(codesOf(await testbed.ask(`mutation { ...F } ${fragment}`))).toEqual(['QUERY_TOO_COMPLEX']);
    const repeated = `mutation { ${'signOut { signedOut } '.repeat(30)} }`;
    expect(codesOf(await testbed.ask(repeated))).not.toContain('QUERY_TOO_COMPLEX');
  });

  test('with ten times the same fault gets one error', async () => {
    const { errors } = await testbed.ask(`{ ${'__typename @unheard '.repeat(10)} viewer @other { id } }`);
    expect(errors?.map(({ message }) => message)).toEqual([
      'Unknown directive "@unheard".',
      'Unknown directive "@other".',
    ]);
  });
});

test('a setting’s file may begin with a byte order mark', () => {
  const { port } = readConfig({ PORT_FILE: 'port' }, () => '\ufeff4123\r\n');
  expect(port).toBe(4123);
});

test('a tag with half of a surrogate pair is refused, and asks for no other tag', async () => {
  const token = await testbed.signIn();
  const { calls } = testbed.sandbox;
  const before = calls.length;
  const query = 'query ($tag: String) { notes(filter: { tag: $tag }) { nodes { id } } }';
  expect(codesOf(await testbed.ask(query, { tag: 'a\ud800' }, token))).toEqual(['BAD_USER_INPUT']);
  expect(calls).toHaveLength(before);
});
