import { GraphQLError, NoFragmentCyclesRule, parse, validate } from 'graphql';
import { describe, expect, test } from 'vitest';
import { createSchema } from '../../../support/schema.js';
import { parseOptions, refuseText } from '../../../../src/server/operation/cost/document-limits.js';
import { OperationRules } from '../../../../src/server/operation/operation-rules.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { chain, deepFragments } from '../../documents.js';

const schema = createSchema();
const telemetry = createTelemetry('error', { write: () => undefined });
const rules = new OperationRules({ schema, introspection: true, telemetry });

const codeOf = (query: string) => refuseText(query)?.extensions['code'];

describe('the nesting check', () => {
  test.each(deepFragments)('refuses %s with %s', (_, code, query) => {
    expect(rules.prepare(query)).toMatchObject([{ extensions: { code } }]);
  });

  test.each(['scalar fragment', 'union U = fragment', 'type fragment'])(
    'finds a fragment behind a definition that ends with the name `fragment`: %s',
    (definition) => {
      const query = `{ ...F0 } ${chain(200, 1, '__typename')}`.replaceAll(
        'fragment F',
        `${definition} fragment F`,
      );
      expect(codeOf(query)).toBe('QUERY_TOO_COMPLEX');
      expect(codeOf(`${definition} fragment A on Query { ...A }`)).toBe('GRAPHQL_VALIDATION_FAILED');
    },
  );

  test('adds the depth of a fragment to the depth at which it is spread', () => {
    expect(codeOf(`{ ...F0 } ${chain(199, 1, '__typename')}`)).toBeUndefined();
    expect(rules.prepare(`{ ...F0 } ${chain(199, 1, '__typename')}`)).toHaveProperty('kind', 'Document');
    expect(codeOf(`{ ...F0 } ${chain(200, 1, '__typename')}`)).toBe('QUERY_TOO_COMPLEX');
    expect(codeOf(`{ ... { ...F0 } } ${chain(199, 1, '__typename')}`)).toBe('QUERY_TOO_COMPLEX');
    expect(codeOf(`{ ...F0 } ${chain(4, 50, '__typename')}`)).toBe('QUERY_TOO_COMPLEX');
    expect(codeOf(`{ ...F0 } ${chain(4, 49, '__typename')}`)).toBeUndefined();
  });

  test('counts a fragment at its deepest spread, and once if spread side by side', () => {
    const query = (below: string) => `{ ...F0 ${below} ...F0 } ${chain(190, 1, '__typename')}`;
    expect(codeOf(query('...F0 '.repeat(500)))).toBeUndefined();
    expect(codeOf(query(`${'... { '.repeat(10)} ...F0 ${'}'.repeat(10)}`))).toBe('QUERY_TOO_COMPLEX');
  });

  test('tells the keyword `fragment` from names, strings and comments', () => {
    const query = `
      query fragment { ...fragment ... on Query { ...A } }
      # fragment A on Query { ...A }
      fragment fragment on Query @include(if: true) { fragment: __typename }
      fragment A on Query { ...B on: __typename tag(name: "fragment A on Query { ...A }") { id } }
      query A { ...A } fragment B on Query { __typename }`;
    expect(codeOf(query)).toBeUndefined();
    expect(codeOf(`${query} fragment C on Query { ...A ...C }`)).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  test('reads only as far as the parser would', () => {
    const cycle = 'fragment A on Query { ...A }';
    expect(rules.prepare(`${cycle} ?`)).toMatchObject([{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }]);
    const withTokens = (count: number) => `{ ${'a '.repeat(count - 10)} } ${cycle}`;
    expect(parse(withTokens(5_000), parseOptions).definitions).toHaveLength(2);
    expect(rules.prepare(withTokens(5_000))).toMatchObject([{ message: refuseText(cycle)!.message }]);
    expect(rules.prepare(withTokens(5_001))).toMatchObject([
      { extensions: { code: 'GRAPHQL_PARSE_FAILED' } },
    ]);
  });
});

describe('a cycle of fragments', () => {
  test.each([
    ['{ ...A } fragment A on Query { ...A }', 'Cannot spread fragment "A" within itself.', [[1, 32]]],
    [
      '{ ...A }\nfragment A on Query { ...B }\nfragment B on Query { tag(name: "") { ...C } }\nfragment C on Tag { ...B ...D }',
      'Cannot spread fragment "B" within itself via "C".',
      [
        [3, 39],
        [4, 21],
      ],
    ],
  ])('is reported with the message and locations of GraphQL itself: %s', (query, message, places) => {
    const refusal = refuseText(query)!;
    const locations = places.map(([line, column]) => ({ line, column }));
    expect(refusal).toBeInstanceOf(GraphQLError);
    expect(refusal.toJSON()).toEqual({
      message,
      locations,
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
  });

  test('is found exactly where GraphQL finds one, in random documents', () => {
    const random = (bound: number) => Math.floor(Math.random() * bound);
    const counts = { cycles: 0, others: 0 };
    for (let times = 0; times < 2_000; times++) {
      const count = 1 + random(6);
      const spreads = () => Array.from({ length: random(3) }, () => `...F${random(count + 1)} `).join('');
      const fragments = Array.from(
        { length: count },
        (_, at) => `fragment F${at} on Query { id ${spreads()} a { ${spreads()} id } }`,
      );
      const query = `query { a ${spreads()} } ${fragments.join(' ')}`;
      const found = refuseText(query);
      const errors = validate(schema, parse(query), [NoFragmentCyclesRule]);
      counts[found ? 'cycles' : 'others'] += 1;
      expect([query, found?.extensions['code']]).toEqual([
        query,
        errors.length > 0 ? 'GRAPHQL_VALIDATION_FAILED' : undefined,
      ]);
    }
    expect(counts.cycles).toBeGreaterThan(200);
    expect(counts.others).toBeGreaterThan(200);
  });
});
