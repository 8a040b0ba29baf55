import {
  getVariableValues,
  GraphQLError,
  isNonNullType,
  Kind,
  OperationTypeNode,
  TypeInfo,
  ValidationContext,
  type DocumentNode,
  type GraphQLErrorOptions,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { isLongerAsJson } from '../../../lib/json-size.js';
import type { Variables } from './document-limits.js';

/** In characters: what errors may repeat. */
const longVariables = 64 * 1024;

/**
 * The first thing that is wrong with long variables: GraphQL would report up to fifty, and repeat in each the whole value
 * that it is in.
 */
export function faultInLong(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
): GraphQLError | undefined {
  if (!isLongerAsJson(variables, longVariables)) return undefined;
  const [fault] = getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 }).errors ?? [];
  if (!fault) return undefined;
  const { message, nodes, originalError } = fault;
  return badVariable(message, { nodes: nodes ?? [], originalError });
}

/**
 * A null where none may stand, also in a part that the operation leaves out. GraphQL allows it to a variable that has a
 * default until it comes to that place: too late for a mutation, which may have taken effect by then, and for a
 * subscription, each event of which would be an error. A query does no harm, and has an error in its answer.
 */
export function misplacedNull(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): GraphQLError | undefined {
  if (operation.operation === OperationTypeNode.QUERY) return undefined;
  const definitions = operation.variableDefinitions ?? [];
  // Where a variable itself must not be null, GraphQL says so in time.
  const nullable = definitions.filter(({ type }) => type.kind !== Kind.NON_NULL_TYPE);
  const names = nullable.map(({ variable }) => variable.name.value);
  const nulls = new Set(names.filter((name) => variables[name] === null));
  if (nulls.size === 0) return undefined;
  const context = new ValidationContext(schema, document, new TypeInfo(schema), () => undefined);
  const usages = context.getRecursiveVariableUsages(operation);
  const fault = usages.find(({ node, type }) => nulls.has(node.name.value) && isNonNullType(type));
  if (!fault) return undefined;
  const { node, type } = fault;
  const where = `it is used in a position expecting type "${String(type)}"`;
  return badVariable(`Variable "$${node.name.value}" must not be null: ${where}.`, { nodes: node });
}

function badVariable(message: string, options: GraphQLErrorOptions): GraphQLError {
  return new GraphQLError(message, {
    ...options,
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  });
}
