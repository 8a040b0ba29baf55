import {
  defaultFieldResolver,
  GraphQLError,
  isIntrospectionType,
  isObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
} from 'graphql';
import type { Context, FieldTally } from '../../../api/context.js';
import { OperationTooComplex } from '../../../graphql/errors.js';
import { costOfRow, isOpenList, defaultRows } from './cost-estimate.js';
import { maxCost, maybeApplied, tooManyFields } from './document-limits.js';

/** As how many fields one that fails counts: to make its error takes a hundred times as long as to resolve it. */
const fieldsOfFailure = 50;

/**
 * The fields that lists add because they are longer than estimated, and those that fail. A class, since each operation
 * and update has one: an object literal with a getter takes longer to make.
 */
export class OperationTally implements FieldTally {
  objects = 0;
  #fields = 0;
  /** Costs of a row, by the nodes of the field: at one place in the operation these are always the same array. */
  #rowCosts: Map<GraphQLResolveInfo['fieldNodes'], number> | undefined;

  get exceeded(): boolean {
    return this.#fields > maxCost;
  }

  exceeds(more: number, info: GraphQLResolveInfo): boolean {
    this.#rowCosts ??= new Map();
    const cost = this.#rowCosts.get(info.fieldNodes) ?? costOfRow(info);
    this.#rowCosts.set(info.fieldNodes, cost);
    this.#fields += more * cost;
    return this.exceeded;
  }

  fails(count: number): boolean {
    this.#fields += count * fieldsOfFailure;
    return this.exceeded;
  }
}

/** The fields of this schema's objects. */
function* fieldsOf(schema: GraphQLSchema) {
  for (const type of Object.values(schema.getTypeMap()))
    if (isObjectType(type)) for (const field of Object.values(type.getFields())) yield { type, field };
}

/** Has this schema's resolvers count the rows of lists whose length is unknown beforehand, and returns it. */
export function countLists(schema: GraphQLSchema): GraphQLSchema {
  for (const { type, field } of fieldsOf(schema)) {
    if (!isOpenList(field, type)) continue;
    const { resolve = defaultFieldResolver } = field;
    field.resolve = (source, given, context: Context, info) => {
      const rows: unknown = resolve(source, given, context, info);
      const count = (list: unknown) => counted(list, context, info);
      return rows instanceof Promise ? rows.then(count) : count(rows);
    };
  }
  return schema;
}

function counted(list: unknown, context: Context, info: GraphQLResolveInfo): unknown {
  const more = Array.isArray(list) ? list.length - defaultRows : 0;
  if (more <= 0 || !context.tally.exceeds(more, info)) return list;
  const isMutation = info.operation.operation === 'mutation';
  if (!isMutation) context.abort();
  // Rejected, not thrown: in a list, GraphQL would then abandon promises of the rows before, which may reject.
  return Promise.reject(
    new OperationTooComplex(isMutation ? `${tooManyFields} ${maybeApplied}` : tooManyFields),
  );
}

/** Has this schema's resolvers count the fields that fail, and returns it. */
export function countFailures(schema: GraphQLSchema): GraphQLSchema {
  for (const { type, field } of fieldsOf(schema)) {
    const { resolve } = field;
    if (!resolve || isIntrospectionType(type)) continue;
    field.resolve = (source, given, context: Context, info) => {
      const fail = (error: unknown) => {
        throw failure(error, context, info);
      };
      try {
        const value: unknown = resolve(source, given, context, info);
        return value instanceof Promise ? value.catch(fail) : value;
      } catch (error) {
        return fail(error);
      }
    };
  }
  return schema;
}

/** Has a path, so that GraphQL takes it as it is: to make an error for each field would take long. */
function located(message: string): GraphQLError {
  return new GraphQLError(message, { path: [], originalError: new OperationTooComplex(message) });
}

const tooManyFailures = located(tooManyFields);
const tooManyAfterwards = located(`${tooManyFields} ${maybeApplied}`);

/** The error of a field that fails, once it is counted: where there are too many, a query goes on no further. */
function failure(error: unknown, context: Context, { operation }: GraphQLResolveInfo): unknown {
  if (!context.tally.fails(1) || error instanceof OperationTooComplex) return error;
  if (operation.operation === 'mutation') return tooManyAfterwards;
  context.abort();
  return tooManyFailures;
}
