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
    void callers.find({}, `bearer${' '.repeat(400_000)}\nx y`);
    expect(find.mock.calls).toEqual([['x y']]);
  });
});
