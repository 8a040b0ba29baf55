import { graphql } from 'graphql';
import { expect, test } from 'vitest';
import { createContexts, type Shared, type PerOperation } from '../../src/api/context.js';
import { collect } from '../support/memory.js';
import { createSchema } from '../support/schema.js';
import { LightAbortController } from '../../src/lib/async/abort.js';

const feed = { position: () => ({ seq: 0, witness: '' }) };
const incoming = {
  session: undefined,
  signal: () => new LightAbortController(),
  hasLeft: () => false,
  requestId: 'request',
};

test('a detached context ends neither with its operation nor with another one', () => {
  const make = createContexts({ feed } as unknown as Shared, {} as PerOperation);
  const operation = make(incoming);
  const [one, other] = [operation.detached(), operation.detached()];
  operation.abort();
  expect([operation.signal.aborted, one.signal.aborted, other.signal.aborted]).toEqual([true, false, false]);
  one.abort();
  expect([one.signal.aborted, other.signal.aborted]).toEqual([true, false]);
});

test('a detached context does not keep the client of its operation in memory', async () => {
  const make = createContexts({ feed } as unknown as Shared, {} as PerOperation);
  const detach = () => {
    const client = { isGone: false };
    const operation = make({ ...incoming, hasLeft: () => client.isGone });
    return { client: new WeakRef(client), detached: operation.detached() };
  };
  const { client, detached } = detach();
  const isKept = () => {
    collect();
    return client.deref() !== undefined; // not the client: `expect` keeps what it is given
  };
  await expect.poll(isKept).toBe(false);
  expect(detached).toMatchObject({ requestId: 'request', hasLeft: false });
});

test('signIn is refused over a transport that does not provide the client address', async () => {
  const heard: unknown[] = [];
  const sessions = {
    async signIn(credentials: unknown) {
      heard.push(credentials);
      return 'WRONG_CREDENTIALS';
    },
  };
  const make = createContexts({ feed, sessions } as unknown as Shared, {} as PerOperation);
  const signIn = (more: { readonly ip?: string }) =>
    graphql({
      schema: createSchema(),
      source: 'mutation { signIn(input: { email: "ann", password: "secret" }) { errors { code } } }',
      contextValue: make({ ...incoming, ...more }),
    });
  expect((await signIn({})).errors).toMatchObject([{ message: expect.stringContaining('IP address') }]);
  expect(heard).toEqual([]);
  expect((await signIn({ ip: '192.0.2.1' })).errors).toBeUndefined();
  const signal = expect.objectContaining({ aborted: false });
  expect(heard).toMatchObject([{ email: 'ann', password: 'secret', ip: '192.0.2.1', signal }]);
});
