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

/** The least operation that asks for one root field: required arguments with something in them, no others. */
export function leastOperation(kind: 'query' | 'mutation', field: GraphQLField<unknown, unknown>): string {
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

/** Documents whose fragments GraphQL's own rules would follow until the stack is exhausted, and what is said of each. */
export const endless: readonly (readonly [about: string, code: string, query: string])[] = [
  [
    'a chain of fragments whose last spreads a hundred of them again',
    'QUERY_TOO_COMPLEX',
    `{ ...F0 } ${chain(
      450,
      1,
      range(100, (at) => `...F${at}`),
    )}`,
  ],
  [
    'the same where nobody spreads it',
    'QUERY_TOO_COMPLEX',
    `{ __typename } ${chain(
      450,
      1,
      range(100, (at) => `...F${at}`),
    )}`,
  ],
  ['a cycle of many', 'QUERY_TOO_COMPLEX', `{ ...F0 } ${chain(600, 1, '...F0')}`],
  ['a long chain', 'QUERY_TOO_COMPLEX', `{ ...F0 } ${chain(250, 1, '__typename')}`],
  [
    'one chain against itself',
    'QUERY_TOO_COMPLEX',
    `{ a { ...F0 } a { ...F1 } } ${chain(7, 190, '__typename')}`,
  ],
  ['a few deep ones that spread each other', 'GRAPHQL_VALIDATION_FAILED', `{ ...F0 } ${crowd(10, 90)}`],
  ['many that spread each other', 'GRAPHQL_VALIDATION_FAILED', `{ ...F0 } ${crowd(40, 4)}`],
  ['two cycles', 'GRAPHQL_VALIDATION_FAILED', `{ ...F0 } ${chain(97, 1, '...F0 ...G0')} ${cycle('G', 97)}`],
];

/** Fragments `F0` to `F<count - 1>` of so many levels each, each spreading the next, and the last of them this. */
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

/** JSON of so many lists, or objects, in each other. */
export function nested(open: string, levels: number): string {
  return `${open.repeat(levels)}1${(open === '[' ? ']' : '}').repeat(levels)}`;
}

const fieldsOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, 1]));

/** Variables, as JSON, that GraphQL would take long over, or could not go down into. */
export const excessive: readonly (readonly [about: string, query: string, variables: string])[] = [
  ['deep in lists', 'query ($a: [ID!]!) { nodes(ids: $a) { id } }', `{"a":${nested('[', 100_000)}}`],
  ['deep where nobody looks', '{ __typename }', `{"a":${nested('[', 100_000)}}`],
  [
    'deep in objects',
    'query ($a: NoteFilter) { notes(filter: $a) { nodes { id } } }',
    nested('{"a":', 100_000),
  ],
  [
    'of many fields',
    'query ($a: NoteFilter) { notes(filter: $a) { nodes { id } } }',
    JSON.stringify({ a: fieldsOf(60_000) }),
  ],
];
