import {
  parse,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  type OperationDefinitionNode,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { asksFor } from '../../src/graphql/look-ahead.js';

/** The `info` of the operation's only field, and how often a fragment was looked up. */
function resolving(source: string, variableValues: Readonly<Record<string, unknown>> = {}) {
  const [operation, ...definitions] = parse(source).definitions as [
    OperationDefinitionNode,
    ...FragmentDefinitionNode[],
  ];
  let lookUps = 0;
  const fragments = new Proxy(Object.fromEntries(definitions.map((each) => [each.name.value, each])), {
    get: (target, name: string) => ((lookUps += 1), target[name]),
  });
  const info = { fieldNodes: operation.selectionSet.selections, fragments, variableValues };
  return { info: info as unknown as GraphQLResolveInfo, lookUps: () => lookUps };
}

describe('asksFor', () => {
  test.each([
    ['finds a field', '{ notes { nodes { tags { count } } } }', true],
    ['does not find it in another place', '{ notes { nodes { tags { name } } count } }', false],
    ['does not find it by an alias', '{ notes { nodes { tags { count: name } } } }', false],
    ['finds it under aliases', '{ notes { a: nodes { b: tags { c: count } } } }', true],
    [
      'finds it in fragments',
      '{ notes { ... { ...A } } } fragment A on NoteConnection { nodes { ...B } } fragment B on Note { tags { count } }',
      true,
    ],
    [
      'finds it in a fragment that is also spread in another place',
      '{ notes { edges { ...A } nodes { ...A } } } fragment A on Note { tags { count } }',
      true,
    ],
    [
      'finds it in a fragment that is also spread one level above',
      '{ notes { ...A nodes { ...A } } } fragment A on Note { tags { count } }',
      true,
    ],
    ['does not find it where it is skipped', '{ notes { nodes @skip(if: true) { tags { count } } } }', false],
    [
      'finds it in a fragment that is also spread and skipped',
      '{ notes { nodes { ...A @skip(if: $no) ...A } } } fragment A on Note { tags { count } }',
      true,
    ],
  ])('%s', (_, source, expected) => {
    const { info } = resolving(source, { no: true });
    expect(asksFor(info, 'nodes', 'tags', 'count')).toBe(expected);
  });

  test.each([
    ['spread', (next: string) => `...${next} ...${next}`],
    ['spread and skipped', (next: string) => `...${next} @skip(if: true) ...${next} @skip(if: true)`],
    ['spread in two types', (next: string) => `... on Note { ...${next} } ... on Tag { ...${next} }`],
  ])(
    'enters each fragment at most once per level, though each is %s twice by the one before',
    (_name, below) => {
      const depth = 12;
      const fragments = Array.from(
        { length: depth },
        (_, at) => `fragment F${at} on Node { ${below(`F${at + 1}`)} }`,
      );
      const { info, lookUps } = resolving(
        `{ notes { nodes { ...F0 } } } ${fragments.join(' ')} fragment F${depth} on Node { id }`,
      );
      expect(asksFor(info, 'nodes', 'tags', 'count')).toBe(false);
      expect(lookUps()).toBeLessThanOrEqual(depth + 1);
    },
  );
});
