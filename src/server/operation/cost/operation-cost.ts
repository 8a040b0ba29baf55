import {
  Kind,
  OperationTypeNode,
  valueFromASTUntyped,
  visit,
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { CostEstimate, fragmentsOf, nothing, type Cost } from './cost-estimate.js';
import {
  maxCost,
  maxGiven,
  maxMutations,
  refuseVariables,
  tooComplex,
  tooManyFields,
  tooManyExpandedFields,
  tooManyMutations,
  tooMuchGiven,
  type Variables,
} from './document-limits.js';
import { faultInLong, misplacedNull } from './variable-faults.js';

/** Estimates what operations of valid documents cost, in time linear in the document, however fragments are spread. */
export interface Costs {
  of(document: DocumentNode, operation: OperationDefinitionNode, variables?: Variables): Cost;
  /** What an operation costs, and whether it may run. */
  assess(document: DocumentNode, operation: OperationDefinitionNode, variables?: Variables): Assessment;
}

/** What an operation would cost. */
export interface Assessment {
  /** In fields; undefined where its variables are refused before it is estimated. */
  readonly fields: number | undefined;
  /** Why it must not run: it asks for more than one answer should have, or is too large itself. */
  readonly refusal: GraphQLError | undefined;
}

/** The costs over a schema. */
export function createCosts(schema: GraphQLSchema): Costs {
  const of: Costs['of'] = (document, operation, variables = {}) => {
    const root = schema.getRootType(operation.operation);
    if (!root) return nothing;
    const defaults = defaultsOf(operation, variables);
    const given = { ...valuesOf(defaults), ...variables };
    const rows = operation.operation === OperationTypeNode.MUTATION ? longestList(document, given) : 0;
    const estimate = new CostEstimate(schema, fragmentsOf(document), given, rows, defaults);
    return estimate.ofSet(operation.selectionSet, root);
  };
  return {
    of,
    assess(document, operation, given) {
      const refusal =
        given &&
        (refuseVariables(given) ??
          faultInLong(schema, operation, given) ??
          misplacedNull(schema, document, operation, given));
      if (refusal) return { fields: undefined, refusal };
      const cost = of(document, operation, given && declaredOf(operation, given));
      const isCrowded = countMutations(document, operation) > maxMutations;
      const fault = isCrowded ? tooManyMutations : excessOf(cost);
      return { fields: cost.fields, refusal: fault === undefined ? undefined : tooComplex(fault) };
    },
  };
}

/** What it asks for too much of. */
function excessOf({ fields, expandedFields, given }: Cost): string | undefined {
  if (fields > maxCost) return tooManyFields;
  if (given > maxGiven) return tooMuchGiven;
  return expandedFields > maxCost ? tooManyExpandedFields : undefined;
}

/** Only the variables that the operation declares: GraphQL ignores all others. */
export function declaredOf(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
): Variables {
  const names = variableDefinitions.map(({ variable }) => variable.name.value);
  const given = names.filter((name) => Object.hasOwn(variables, name));
  return Object.fromEntries(given.map((name) => [name, variables[name]]));
}

/** How many root fields a mutation has, those of equal name counted once, as they are executed once. */
function countMutations(
  document: DocumentNode,
  { operation, selectionSet }: OperationDefinitionNode,
): number {
  if (operation !== OperationTypeNode.MUTATION) return 0;
  const fragments = fragmentsOf(document);
  const names = new Set<string>();
  const sets = new Set([selectionSet]); // grows during the loop
  for (const { selections } of sets)
    for (const selection of selections)
      if (selection.kind === Kind.FIELD) names.add((selection.alias ?? selection.name).value);
      else {
        const isInline = selection.kind === Kind.INLINE_FRAGMENT;
        const fragment = isInline ? selection : fragments.get(selection.name.value);
        if (fragment) sets.add(fragment.selectionSet);
      }
  return names.size;
}

/** A mutation's answer may have lists as long as its input's: it must not prove too complex only once it is done. */
function longestList(document: DocumentNode, variables: Variables): number {
  let longest = 0;
  const measure = (list: readonly unknown[]) => (longest = Math.max(longest, list.length));
  visit(document, { ListValue: ({ values }) => void measure(values) });
  // Grows during the loop.
  const values: object[] = [variables];
  for (const value of values) {
    const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    if (Array.isArray(value)) measure(value);
    for (const member of members) if (typeof member === 'object' && member !== null) values.push(member);
  }
  return longest;
}

/** The defaults of the variables that are not given. */
function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode, given: Variables) {
  const names = variableDefinitions.map(
    ({ variable, defaultValue }) => [variable.name.value, defaultValue] as const,
  );
  return new Map(names.filter(([name]) => !Object.hasOwn(given, name)));
}

function valuesOf(defaults: ReturnType<typeof defaultsOf>): Variables {
  return Object.fromEntries(
    Array.from(defaults, ([name, value]) => [name, value && valueFromASTUntyped(value)]),
  );
}
