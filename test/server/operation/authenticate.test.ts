import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createCallers } from '../../../src/server/operation/authenticate.js';
import { demo, startTestbed, type Testbed } from '../../support/testbed.js';
import { openSocket } from '../sockets.js';

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

/** The close code for a websocket with this authorization; undefined if it is acknowledged. */
async function closeCodeFor(authorization: string): Promise<number | undefined> {
  const socket = await openSocket(`${testbed.url}/graphql`);
  socket.send({ type: 'connection_init', payload: { authorization } });
  const code = await Promise.race([socket.closed, socket.next().then(() => undefined)]);
  socket.close();
  return code;
}

describe('a bearer token', () => {
  test.each([
    ['Bearer', ' '],
    ['bearer', ' '],
    ['BEARER', '    '],
    ['  Bearer', ' '],
  ])('is recognised after %j and %j', async (scheme, between) => {
    const authorization = `${scheme}${between}${token} `;
    const { data } = await testbed.ask('{ viewer { email } }', {}, undefined, { authorization });
    expect(data.viewer).toEqual({ email: demo.email });
    expect(await closeCodeFor(authorization)).toBeUndefined();
  });

  test.each([
    ['another scheme', () => `Basic ${token}`],
    ['no space before it', () => `Bearer${token}`],
    ['no scheme', () => token],
    ['a line break before it', () => `Bearer\n${token}`],
    ['a line break after it', () => `Bearer ${token}\nx`],
  ])('is refused with %s', async (_, authorization) => {
    expect(await closeCodeFor(authorization())).toBe(4401);
  });

  test('is parsed in linear time, however many spaces there are', () => {
    const find = vi.fn<(sought: string) => undefined>();
    const callers = createCallers(
      { find, idOf: () => undefined },
      { allows: () => false },
      'trivium_session',
    );
    void callers.find({}, { given: `bearer${' '.repeat(400_000)}\nx y` });
    expect(find.mock.calls).toEqual([['x y']]);
  });
});

describe('the id of a session that was found lately', () => {
  const own = 'https://own.example';
  const callers = createCallers(
    { find: () => undefined, idOf: (sought) => (sought === 'known' ? 'its id' : undefined) },
    { allows: (origin) => origin === own },
    'trivium_session',
  );
  const cookie = 'trivium_session=known';

  test.each([
    ['a bearer token', { authorization: 'Bearer known' }],
    [
      'a bearer token beside a cookie',
      { authorization: 'Bearer known', cookie: 'trivium_session=x', origin: own },
    ],
    ['a cookie', { cookie, origin: own }],
    [
      'a cookie among others',
      { cookie: `;a;trivium_sessions=x; ${cookie} ;b=trivium_session=x`, origin: own },
    ],
  ])('is known by %s', (_, headers) => {
    expect(callers.idOf(headers)).toBe('its id');
  });

  test.each([
    ['no credentials', {}],
    ['another token', { authorization: 'Bearer x', cookie, origin: own }],
    ['a cookie without an origin', { cookie }],
    ['a cookie from another origin', { cookie, origin: 'https://another.example' }],
    ['a cookie that is sent twice', { cookie: `${cookie}; ${cookie}`, origin: own }],
    ['a cookie of a longer name', { cookie: `x${cookie}`, origin: own }],
  ])('is not by %s', (_, headers) => {
    expect(callers.idOf(headers)).toBeUndefined();
  });

  test('is known by the cookie of a page of our own that only reads', () => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin' };
    expect([callers.idOf(headers, true), callers.idOf(headers)]).toEqual(['its id', undefined]);
  });
});
