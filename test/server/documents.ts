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
