import { getIntrospectionQuery, parse, type OperationDefinitionNode } from 'graphql';
import { describe, expect, test } from 'vitest';
import { createSchema } from '../../../support/schema.js';
import { createCosts } from '../../../../src/server/operation/cost/operation-cost.js';

const costs = createCosts(createSchema());

function costOf(source: string, variables: Readonly<Record<string, unknown>> = {}) {
  return costs.of(...parseOperation(source), variables);
}

const tooCostly = (source: string) => costs.assess(...parseOperation(source)).refusal;

function parseOperation(source: string) {
  const document = parse(source);
  return [document, document.definitions[0] as OperationDefinitionNode] as const;
}

const allShipmentFields = `{
  shipments(first: 100) {
    nodes {
      id shipmentId status carrier trackingNumber stage updatedAt revision
      events { nodes { id eventId type stage occurredAt receivedAt shipmentId status carrier trackingNumber } }
    }
  }
}`;

describe('the cost of an operation', () => {
  test.each([
    ['a field', '{ __typename }', 1],
    ['an object', '{ viewer { id name } }', 3],
    ['a page of the default size', '{ notes { nodes { id title } } }', 1 + 20 * 3],
    ['a page of edges', '{ notes(first: 5) { edges { cursor node { id } } } }', 1 + 5 * 4],
    ['a backward page', '{ shipments(last: 7) { nodes { id } } }', 1 + 7 * 2],
    ['the maximum page size if more is requested', '{ notes(first: 5000) { nodes { id } } }', 1 + 100 * 2],
    ['one row if the page size is below 1', '{ notes(first: -3) { nodes { id } } }', 1 + 2],
    ['a list', '{ notes(first: 2) { nodes { tags { name } } } }', 1 + 2 * (1 + 1 + 5)],
    ['nodes by their ids', '{ nodes(ids: ["a", "b", "c"]) { id } }', 1 + 3],
    [
      'pages below pages',
      '{ tags(first: 3) { nodes { notes(first: 4) { nodes { id } } } } }',
      1 + 3 * (1 + 1 + 4 * 2),
    ],
    ['inline fragments', '{ node(id: "a") { id ... on Note { title } ... { id } } }', 4],
    ['fragments', '{ notes(first: 2) { nodes { ...A ...A } } } fragment A on Note { id title }', 1 + 2 * 5],
    ['a single id for a list', '{ nodes(ids: "a") { id } }', 1 + 1],
    ['ids up to the maximum', `{ nodes(ids: [${'"a" '.repeat(3_000)}]) { id } }`, 1 + 100],
    [
      'the most costly of the possible types of a node',
      '{ node(id: "a") { id ... on Note { title } ...S ... on Shipment { stage } } } fragment S on Shipment { carrier status }',
      1 + 1 + 3,
    ],
    ['introspection of the schema', '{ __schema { types { fields { type { name } } } } }', 1 + 100 * 4],
    ['introspection of a type', '{ __type(name: "Note") { fields { name } } }', 1 + 100 * 2],
  ])('counts %s', (_, source, fields) => {
    expect(costOf(source).fields).toBe(fields);
  });

  test('leaves out fields whose condition is not met, but counts them as expanded fields', () => {
    const source = `query ($all: Boolean = false) { notes(first: 2) {
      nodes { id title @skip(if: true) ... @include(if: $all) { content } ...F @include(if: $all) } } }
      fragment F on Note { createdAt }`;
    expect(costOf(source)).toMatchObject({ fields: 1 + 2 * 2, expandedFields: 6 });
    expect(costOf(source, { all: true })).toMatchObject({ fields: 1 + 2 * 4, expandedFields: 6 });
  });

  test('of a mutation assumes lists as long as the longest in its input', () => {
    const written =
      'mutation { createNote(input: { title: "T", content: "C", tags: ["a" "b" "c" "d" "e" "f" "g"] }) { note { tags { name } } } }';
    expect(costOf(written).fields).toBe(3 + 7);
    const source =
      'mutation ($input: CreateNoteInput!) { createNote(input: $input) { note { tags { name } } } }';
    expect(costOf(source, { input: { title: 'T', tags: ['a'] } }).fields).toBe(3 + 5);
    expect(costOf(source, { input: { tags: Array.from({ length: 20 }, String) } }).fields).toBe(3 + 20);
  });

  test('uses page sizes and ids from variables and their defaults', () => {
    const source =
      'query($n: Int = 3, $m: Int, $ids: [ID!]!) { notes(first: $n) { nodes { id } } tags(first: $m) { nodes { id } } nodes(ids: $ids) { id } }';
    expect(costOf(source, { ids: ['a', 'b'] }).fields).toBe(1 + 3 * 2 + (1 + 20 * 2) + 1 + 2);
    expect(costOf(source, { n: 10, m: null, ids: [] }).fields).toBe(1 + 10 * 2 + (1 + 20 * 2) + 1 + 1);
    expect(costOf(source, { n: 'ten', m: 2, ids: 'a' }).fields).toBe(1 + 20 * 2 + (1 + 2 * 2) + 1 + 1);
  });

  test('is computed even if each fragment spreads the next one twice', () => {
    const depth = 1_000;
    const fragments = Array.from(
      { length: depth },
      (_, at) => `fragment F${at} on Note { ...F${at + 1} ...F${at + 1} }`,
    );
    const source = `{ notes { nodes { ...F0 } } } ${fragments.join(' ')} fragment F${depth} on Note { id }`;
    expect(costOf(source)).toMatchObject({ fields: 20 * 2 ** depth, expandedFields: 2 ** depth });
    expect(costOf('{ notes { nodes { id } } }').expandedFields).toBe(3);
  });

  test.each([
    ['are skipped', 'Note', (next: string) => `...${next} @skip(if: true) ...${next} @skip(if: true)`],
    [
      'apply to other types',
      'Node',
      (next: string) => `... on Tag { ...${next} } ... on User { ...${next} }`,
    ],
  ])('is refused for too many expanded fields, even if they %s', (_name, type, below) => {
    const depth = 30;
    const fragments = Array.from(
      { length: depth },
      (_, at) => `fragment F${at} on ${type} { id ${below(`F${at + 1}`)} }`,
    );
    const source = `{ notes(first: 1) { nodes { ...F0 } } } ${fragments.join(' ')} fragment F${depth} on ${type} { id }`;
    expect(costOf(source).fields).toBeLessThan(100);
    expect(tooCostly(source)?.message).toMatch(/fragments are expanded/);
  });

  test('is the one that docs/limits.md states for shipments with their events', () => {
    expect(costOf(allShipmentFields).fields).toBe(23_001);
  });

  test('uses lists from the defaults of variables', () => {
    const source =
      'query ($ids: [ID!]! = ["a", "b", "c"], $id: ID!) { nodes(ids: $ids) { id } other: nodes(ids: [$id, $id]) { id } }';
    expect(costOf(source, { id: 'a' }).fields).toBe(1 + 3 + 1 + 2);
  });

  test('allows the introspection query of an explorer, but not much more', () => {
    const usual = getIntrospectionQuery({
      descriptions: true,
      specifiedByUrl: true,
      inputValueDeprecation: true,
    });
    expect(tooCostly(usual)).toBeUndefined();
    const many = (name: string, below: string) =>
      Array.from({ length: 30 }, (_, at) => `a${at}: ${name}${below}`).join(' ');
    const wide = `{ __schema { types { ${many('fields', ' { ...G }')} } } } fragment G on __Field { ${many('name', '')} }`;
    expect(tooCostly(wide)).toBeDefined();
  });

  test('is refused above the limit, and a page with all fields is below it', () => {
    const page = (below: string) => `notes(first: 100) { nodes { ${below} } }`;
    expect(
      tooCostly(`{ ${page('id title content tags { name count } isPinned createdAt updatedAt')} }`),
    ).toBeUndefined();
    expect(tooCostly(allShipmentFields)).toBeUndefined();
    expect(tooCostly(`{ tags { nodes { ${page(`tags { ${page('id')} }`)} } } }`)?.extensions['code']).toBe(
      'QUERY_TOO_COMPLEX',
    );
  });

  test('counts the characters that fields are given each time, as each field looks at them', () => {
    const long = 'x'.repeat(900_000);
    const givenTo = (times: number, field: string) => {
      const fields = Array.from({ length: times }, (_, at) => `a${at}: ${field}`);
      const source = `query ($long: String!, $ids: [ID!]!) { ${fields.join(' ')} }`;
      return costs.assess(...parseOperation(source), { long, ids: [long] }).refusal?.extensions['code'];
    };
    const fields = [
      'tag(name: $long) { id }',
      'notes(filter: { tag: $long }) { nodes { id } }',
      'nodes(ids: $ids) { id }',
      'node(id: "a") { ... on Tag { notes(after: $long) { nodes { id } } } }',
    ];
    for (const field of fields)
      expect([givenTo(2, field), givenTo(3, field)]).toEqual([undefined, 'QUERY_TOO_COMPLEX']);
    const inRows = 'notes(first: 3) { nodes { tags { notes(after: $long) { nodes { id } } } } }';
    expect(givenTo(1, inRows)).toBe('QUERY_TOO_COMPLEX');
    const digits = '1'.repeat(900_000); // an id, too
    const byDefault = (times: number, given = {}) => {
      const source = `query ($id: ID = ${digits}) { nodes(ids: [${'$id '.repeat(times)}]) { id } }`;
      return costs.assess(...parseOperation(source), given).refusal?.extensions['code'];
    };
    expect([byDefault(2), byDefault(3)]).toEqual([undefined, 'QUERY_TOO_COMPLEX']);
    expect(byDefault(3, { id: 'a' })).toBeUndefined();
    expect(givenTo(3, `node(id: ${digits}) { id }`)).toBe('QUERY_TOO_COMPLEX');
    const repeated = `nodes(ids: [${'$long '.repeat(3)}]) { id }`;
    expect(givenTo(1, repeated)).toBe('QUERY_TOO_COMPLEX');
  });
});

test.each([
  [
    'a nullable position',
    'mutation ($x: [String!] = []) { createNote(input: { title: "t", content: "c", tags: $x }) { __typename } }',
  ],
  [
    'a query, which is answered without the field',
    'query ($x: String = "t") { viewer { id } tag(name: $x) { id } }',
  ],
  [
    'another operation',
    'mutation { signOut { signedOut } } query ($x: String = "t") { tag(name: $x) { id } }',
  ],
  [
    'a fragment that is not used',
    'mutation ($x: Boolean = true) { signOut { signedOut } } fragment A on Note { id @skip(if: $x) }',
  ],
  [
    'a variable that GraphQL itself refuses',
    'mutation ($x: ID!) { deleteNote(input: { id: $x }) { __typename } }',
  ],
])('a null is no reason to refuse an operation in %s', (_, source) => {
  expect(costs.assess(...parseOperation(source), { x: null }).refusal).toBeUndefined();
});
