import {
  parse,
  type FragmentDefinitionNode,
  type GraphQLResolveInfo,
  type OperationDefinitionNode,
} from 'graphql';
import { describe, expect, test } from 'vitest';
import { asksFor } from '../src/lookahead.js';

/** The operation's one field as it is resolved, and how often a fragment is looked up. */
function resolving(source: string, variableValues: Readonly<Record<string, unknown>> = {}) {
  const [operation, ...definitions] = parse(source).definitions as [
    OperationDefinitionNode,
    ...FragmentDefinitionNode[],
  ];
  let looked = 0;
  const fragments = new Proxy(Object.fromEntries(definitions.map((each) => [each.name.value, each])), {
    get: (target, name: string) => ((looked += 1), target[name]),
  });
  const info = { fieldNodes: operation.selectionSet.selections, fragments, variableValues };
  return { info: info as unknown as GraphQLResolveInfo, looked: () => looked };
}

describe('an operation asks for what is below a field', () => {
  test.each([
    ['by itself', '{ notes { nodes { tags { count } } } }', true],
    ['not where it is not', '{ notes { nodes { tags { name } } count } }', false],
    ['not by its alias', '{ notes { nodes { tags { count: name } } } }', false],
    ['by another alias', '{ notes { a: nodes { b: tags { c: count } } } }', true],
    [
      'in fragments',
      '{ notes { ... { ...A } } } fragment A on NoteConnection { nodes { ...B } } fragment B on Note { tags { count } }',
      true,
    ],
    [
      'in a fragment that another place has in vain',
      '{ notes { edges { ...A } nodes { ...A } } } fragment A on Note { tags { count } }',
      true,
    ],
    [
      'in a fragment that stood on the level above',
      '{ notes { ...A nodes { ...A } } } fragment A on Note { tags { count } }',
      true,
    ],
    ['not where it is left out', '{ notes { nodes @skip(if: true) { tags { count } } } }', false],
    [
      'in a fragment that is left out elsewhere',
      '{ notes { nodes { ...A @skip(if: $no) ...A } } } fragment A on Note { tags { count } }',
      true,
    ],
  ])('%s', (_, source, expected) => {
    const { info } = resolving(source, { no: true });
    expect(asksFor(info, 'nodes', 'tags', 'count')).toBe(expected);
  });

  test.each([
    ['as they are', (next: string) => `...${next} ...${next}`],
    ['left out', (next: string) => `...${next} @skip(if: true) ...${next} @skip(if: true)`],
    ['of several types', (next: string) => `... on Note { ...${next} } ... on Tag { ...${next} }`],
  ])('with fragments that double, %s: each is looked into once a step', (_name, below) => {
    const depth = 12;
    const fragments = Array.from(
      { length: depth },
      (_, at) => `fragment F${at} on Node { ${below(`F${at + 1}`)} }`,
    );
    const { info, looked } = resolving(
      `{ notes { nodes { ...F0 } } } ${fragments.join(' ')} fragment F${depth} on Node { id }`,
    );
    expect(asksFor(info, 'nodes', 'tags', 'count')).toBe(false);
    expect(looked()).toBeLessThanOrEqual(depth + 1);
  });
});
