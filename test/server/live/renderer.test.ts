import { makeExecutableSchema } from '@graphql-tools/schema';
import { parse } from 'graphql/index.js';
import { expect, test } from 'vitest';
import { createRenderer } from '../../../src/server/live/renderer.js';
import { CompiledDocuments } from '../../../src/server/operation/compiled-documents.js';
import { OperationRules } from '../../../src/server/operation/operation-rules.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';

test('has graphql-js run again what compiled code fails at, and alone what it fails at, too', async () => {
  let calls = 0;
  let failures = 0;
  const schema = makeExecutableSchema({
    typeDefs: 'type Query { calls: Int } type Subscription { calls: Int }',
    resolvers: {
      Subscription: {
        calls: {
          resolve() {
            calls += 1;
            if ((failures -= 1) >= 0) throw new Error('A fault of ours.');
            return calls;
          },
        },
      },
    },
  });
  const rules = new OperationRules({ schema, introspection: false, telemetry: createTelemetry('silent') });
  const documents = new CompiledDocuments(schema, rules.costs);
  const source = 'subscription { calls }';
  const contextValue = {
    requestId: 'request',
    tally: { exceeded: false },
    detached: () => contextValue,
    prepareRerun: () => undefined,
  };
  const render = createRenderer({ schema, document: parse(source), contextValue }, rules, documents);
  expect(render({})).toBe('{"data":{"calls":1}}');
  await expect.poll(() => documents.ready(source)).toBeDefined();
  expect(render({})).toBe('{"data":{"calls":2}}');
  failures = 1;
  expect(render({})).toBe('{"data":{"calls":4}}');
  for (const runs of [2, 1]) {
    failures = runs;
    expect(() => render({})).toThrow('could not be rendered');
  }
  expect(render({})).toBe('{"data":{"calls":8}}');
});

test('an update that is too long to be made in one turn is refused, as its document asks for too much', () => {
  const data = 'x'.repeat(1_000_000);
  const schema = makeExecutableSchema({
    typeDefs: 'type Query { data: String } type Subscription { data: String }',
    resolvers: { Subscription: { data: { resolve: () => data } } },
  });
  const rules = new OperationRules({ schema, introspection: false, telemetry: createTelemetry('silent') });
  const contextValue = { requestId: 'request', tally: { exceeded: false }, detached: () => contextValue };
  const documents = new CompiledDocuments(schema, rules.costs);
  const render = (source: string) =>
    createRenderer({ schema, document: parse(source), contextValue }, rules, documents)({}) as string;
  expect(JSON.parse(render('subscription { a: data b: data c: data }')).data.c).toBe(data);
  expect(JSON.parse(render('subscription { a: data b: data c: data d: data }'))).toMatchObject({
    errors: [{ extensions: { code: 'QUERY_TOO_COMPLEX' } }],
  });
});
