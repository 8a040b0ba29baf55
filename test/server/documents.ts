import {
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isRequiredInputField,
  type GraphQLField,
  type GraphQLInputType,
} from 'graphql';

/** The smallest valid operation on one root field: only required arguments, with some value. */
export function minimalOperation(kind: 'query' | 'mutation', field: GraphQLField<unknown, unknown>): string {
  const required = field.args.filter(isRequiredArgument);
  const given = required.map(({ name, type }) => `${name}: ${literal(type)}`).join(', ');
  const selection = isCompositeType(getNamedType(field.type)) ? ' { __typename }' : '';
  return `${kind} { ${field.name}${given && `(${given})`}${selection} }`;
}

function literal(type: GraphQLInputType): string {
  if (isNonNullType(type)) return literal(type.ofType);
  if (isListType(type)) return '[]';
  if (isEnumType(type)) return type.getValues()[0]!.name;
  if (!isInputObjectType(type)) return '"x"';
  const required = Object.values(type.getFields()).filter(isRequiredInputField);
  return `{ ${required.map((field) => `${field.name}: ${literal(field.type)}`).join(', ')} }`;
}

/** Documents whose fragments GraphQL's own rules would follow until the stack overflows, and the error code of each. */
export const deepFragments: readonly (readonly [about: string, code: string, query: string])[] = [
  [
    'a chain of fragments whose last one spreads a hundred of the others',
    'QUERY_TOO_COMPLEX',
    `{ ...F0 } ${chain(
      450,
      1,
      range(100, (at) => `...F${at}`),
    )}`,
  ],
  [
    'the same chain without a spread in the operation',
    'QUERY_TOO_COMPLEX',
    `{ __typename } ${chain(
      450,
      1,
      range(100, (at) => `...F${at}`),
    )}`,
  ],
  ['a long cycle', 'QUERY_TOO_COMPLEX', `{ ...F0 } ${chain(600, 1, '...F0')}`],
  ['a long chain', 'QUERY_TOO_COMPLEX', `{ ...F0 } ${chain(250, 1, '__typename')}`],
  [
    'two fields of one name that spread the same chain',
    'QUERY_TOO_COMPLEX',
    `{ a { ...F0 } a { ...F1 } } ${chain(7, 190, '__typename')}`,
  ],
  [
    'a few deep fragments that all spread each other',
    'GRAPHQL_VALIDATION_FAILED',
    `{ ...F0 } ${crowd(10, 90)}`,
  ],
  ['many fragments that all spread each other', 'GRAPHQL_VALIDATION_FAILED', `{ ...F0 } ${crowd(40, 4)}`],
  ['two cycles', 'GRAPHQL_VALIDATION_FAILED', `{ ...F0 } ${chain(97, 1, '...F0 ...G0')} ${cycle('G', 97)}`],
];

/** Fragments `F0` to `F<count - 1>` of this many levels, each spreading the next, and the last containing `last`. */
export function chain(count: number, levels: number, last: string): string {
  return range(count, (at) => fragment(at, levels, at < count - 1 ? `...F${at + 1}` : last));
}

function crowd(count: number, levels: number): string {
  const others = (at: number) => range(count, (step) => `...F${(at + step + 1) % count}`);
  return range(count, (at) => fragment(at, levels, others(at)));
}

function cycle(name: string, count: number): string {
  return range(count, (at) => `fragment ${name}${at} on Query { ...${name}${(at + 1) % count} }`);
}

function fragment(at: number, levels: number, innermost: string): string {
  return `fragment F${at} on Query ${'{ a '.repeat(levels - 1)}{ ${innermost} ${'}'.repeat(levels)}`;
}

function range(count: number, make: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => make(at)).join(' ');
}

/** JSON of this many nested lists or objects. */
export function nested(open: string, levels: number): string {
  return `${open.repeat(levels)}1${(open === '[' ? ']' : '}').repeat(levels)}`;
}

const fieldsOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, 1]));

/** Variables, as JSON, that would take GraphQL too long, or overflow its stack. */
export const excessiveVariables: readonly (readonly [about: string, query: string, variables: string])[] = [
  ['deeply nested lists', 'query ($a: [ID!]!) { nodes(ids: $a) { id } }', `{"a":${nested('[', 20_000)}}`],
  ['deep nesting in an undeclared variable', '{ __typename }', `{"a":${nested('[', 20_000)}}`],
  [
    'deeply nested objects',
    'query ($a: NoteFilter) { notes(filter: $a) { nodes { id } } }',
    nested('{"a":', 20_000),
  ],
  [
    'an object of many fields',
    'query ($a: NoteFilter) { notes(filter: $a) { nodes { id } } }',
    JSON.stringify({ a: fieldsOf(60_000) }),
  ],
];
