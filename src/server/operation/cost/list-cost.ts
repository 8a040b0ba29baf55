import { defaultFieldResolver, isObjectType, type GraphQLResolveInfo, type GraphQLSchema } from 'graphql';
import type { Context, Tally } from '../../../api/context.js';
import { OperationTooComplex } from '../../../graphql/errors.js';
import { costOfRow, isOpenList, defaultRows } from './cost-estimate.js';
import { maxCost, maybeApplied, tooManyFields } from './document-limits.js';

/** A tally of the fields that lists add because they are longer than estimated. */
export function createTally(): Tally {
  return new ListTally();
}

/** A class, since each operation and update has one: an object literal with a getter takes longer to make. */
class ListTally implements Tally {
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
}

/** Has this schema's resolvers count the rows of lists whose length is unknown beforehand, and returns it. */
export function countLists(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      if (!isOpenList(field, type)) continue;
      const { resolve = defaultFieldResolver } = field;
      field.resolve = (source, given, context: Context, info) => {
        const rows: unknown = resolve(source, given, context, info);
        const count = (list: unknown) => counted(list, context, info);
        return rows instanceof Promise ? rows.then(count) : count(rows);
      };
    }
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
