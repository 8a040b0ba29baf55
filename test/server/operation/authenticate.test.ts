import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createCallers, ownOrigins } from '../../../src/server/operation/authenticate.js';
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
    const callers = createCallers({ find }, () => new Set(), testbed.telemetry, 'trivium_session');
    void callers.find({}, `bearer${' '.repeat(400_000)}\nx y`);
    expect(find.mock.calls).toEqual([['x y']]);
  });
});

describe("the gateway's own origins", () => {
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

  test('are only that of the public URL if there is one', () => {
    expect(ownOrigins('127.0.0.1', 80, 'https://api.example')).toEqual(['https://api.example']);
  });
});
