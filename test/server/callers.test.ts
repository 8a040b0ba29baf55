import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownOrigins } from '../../src/server/callers.js';
import { demo, startTestbed, type Testbed } from '../support/testbed.js';
import { openSocket } from './sockets.js';

let testbed: Testbed;
let token: string;

beforeAll(async () => {
  testbed = await startTestbed();
  token = await testbed.signIn();
});
afterAll(() => testbed.stop());

/** How the socket of who says this is closed; undefined where it is taken. */
async function refused(authorization: string): Promise<number | undefined> {
  const socket = await openSocket(`${testbed.url}/graphql`);
  socket.send({ type: 'connection_init', payload: { authorization } });
  const code = await Promise.race([socket.closed, socket.next().then(() => undefined)]);
  socket.close();
  return code;
}

describe('a bearer', () => {
  test.each([
    ['Bearer', ' '],
    ['bearer', ' '],
    ['BEARER', '    '],
    ['  Bearer', ' '],
  ])('is known by %j and %j before the token', async (scheme, between) => {
    const authorization = `${scheme}${between}${token} `;
    const { data } = await testbed.ask('{ viewer { email } }', {}, undefined, { authorization });
    expect(data.viewer).toEqual({ email: demo.email });
    expect(await refused(authorization)).toBeUndefined();
  });

  test.each([
    ['another scheme', () => `Basic ${token}`],
    ['no blank between', () => `Bearer${token}`],
    ['only the token', () => token],
    ['a line break between', () => `Bearer\n${token}`],
    ['a line break behind', () => `Bearer ${token}\nx`],
  ])('is none where there is %s', async (_, authorization) => {
    expect(await refused(authorization())).toBe(4401);
  });

  test('is read in one go, however many blanks there are', async () => {
    expect(await refused(`bearer${' '.repeat(400_000)}\nx`)).toBe(4401);
  });
});

describe("one's own origins", () => {
  const loopback = (port: string) => [
    `http://localhost${port}`,
    `http://127.0.0.1${port}`,
    `http://[::1]${port}`,
  ];

  test.each([
    ['127.0.0.1', 4000, ['http://127.0.0.1:4000', ...loopback(':4000')]],
    ['127.0.0.1', 80, ['http://127.0.0.1', ...loopback('')]],
    ['::', 80, ['http://[::]', ...loopback('')]],
    ['Gateway', 443, ['http://gateway:443', ...loopback(':443')]],
    ['fe80::1%eth0', 4000, loopback(':4000')],
  ])('at %s, port %i, are as a browser writes them', (host, port, origins) => {
    expect(ownOrigins(host, port, undefined)).toEqual(origins);
  });

  test('are the public one alone where there is one', () => {
    expect(ownOrigins('127.0.0.1', 80, 'https://api.example')).toEqual(['https://api.example']);
  });
});
