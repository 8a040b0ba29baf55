import {
  getNamedType,
  getNullableType,
  GraphQLError,
  isCompositeType,
  isListType,
  isObjectType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';

/** What an operation asks for, in fields. */
export interface Cost {
  /** As many as the answer may have, about: what is below a page or a list counts for each of its rows. */
  readonly fields: number;
  /** As many as the operation has with its fragments written out. */
  readonly written: number;
}

/** Values of variables, before they were coerced. */
export type Variables = Readonly<Record<string, unknown>>;

/** Counts an operation of a valid document; takes as long as the document is, however often a fragment is spread. */
export type CountCost = (
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
) => Cost;

const greatestCost = 50_000;
const usualRows = 20;
const greatestPage = 100;
const nothing: Cost = { fields: 0, written: 0 };

/** Why an operation is not to be run: it asks for more than one answer should have. */
export function tooCostly({ fields }: Cost): GraphQLError | undefined {
  if (fields <= greatestCost) return undefined;
  return new GraphQLError(
    `The operation may answer with over ${greatestCost} fields: ask for smaller pages, or for less below them.`,
    { extensions: { code: 'QUERY_TOO_COMPLEX', http: { status: 400 } } },
  );
}

/** Counting over a schema. */
export function createCostCounter(schema: GraphQLSchema): CountCost {
  return (document, operation, variables) => {
    const root = schema.getRootType(operation.operation);
    return root
      ? new Count(schema, document, operation, variables).ofSet(operation.selectionSet, root)
      : nothing;
  };
}

class Count {
  private readonly schema: GraphQLSchema;
  private readonly variables: Variables;
  private readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  private readonly known = new Map<string, Cost>();

  constructor(
    schema: GraphQLSchema,
    { definitions }: DocumentNode,
    { variableDefinitions = [] }: OperationDefinitionNode,
    variables: Variables,
  ) {
    this.schema = schema;
    const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
    this.fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
    const defaults = variableDefinitions.map(({ variable, defaultValue }): [string, unknown] => [
      variable.name.value,
      defaultValue?.kind === Kind.INT ? Number(defaultValue.value) : undefined,
    ]);
    this.variables = { ...Object.fromEntries(defaults), ...variables };
  }

  ofSet({ selections }: SelectionSetNode, type: GraphQLCompositeType): Cost {
    return selections.map((selection) => this.ofSelection(selection, type)).reduce(plus, nothing);
  }

  private ofSelection(selection: SelectionNode, type: GraphQLCompositeType): Cost {
    if (selection.kind === Kind.FIELD) return this.ofField(selection, type);
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.ofFragment(selection.name.value);
    return this.ofSet(selection.selectionSet, this.named(selection.typeCondition?.name.value) ?? type);
  }

  private ofFragment(name: string): Cost {
    const known = this.known.get(name);
    if (known) return known;
    const fragment = this.fragments.get(name);
    const type = this.named(fragment?.typeCondition.name.value);
    const cost = fragment && type ? this.ofSet(fragment.selectionSet, type) : nothing;
    this.known.set(name, cost);
    return cost;
  }

  private ofField(node: FieldNode, parent: GraphQLCompositeType): Cost {
    const field = 'getFields' in parent ? parent.getFields()[node.name.value] : undefined;
    const type = field && getNamedType(field.type);
    // What is asked of the schema itself is bounded by its own rule.
    if (!field || !isCompositeType(type) || !node.selectionSet) return { fields: 1, written: 1 };
    const { fields, written } = this.ofSet(node.selectionSet, type);
    return { fields: 1 + this.rowsOf(node, field, parent) * fields, written: 1 + written };
  }

  /** How many rows a page or a list may have; those of a page are counted at its connection. */
  private rowsOf(
    node: FieldNode,
    { args, type }: GraphQLField<unknown, unknown>,
    parent: GraphQLCompositeType,
  ) {
    const given = (name: string) =>
      this.valueOf(node.arguments?.find((argument) => argument.name.value === name)?.value);
    const takes = (name: string) => args.some((argument) => argument.name === name);
    if (takes('first')) return pageOf([given('first'), given('last')]);
    if (!isListType(getNullableType(type)) || (isObjectType(parent) && parent.name.endsWith('Connection')))
      return 1;
    const ids = takes('ids') ? given('ids') : undefined;
    return Array.isArray(ids) ? Math.max(ids.length, 1) : usualRows;
  }

  private valueOf(node: ValueNode | undefined): unknown {
    if (node?.kind === Kind.VARIABLE) return this.variables[node.name.value];
    if (node?.kind === Kind.INT) return Number(node.value);
    return node?.kind === Kind.LIST ? node.values : undefined;
  }

  private named(name: string | undefined): GraphQLCompositeType | undefined {
    const type = name === undefined ? undefined : this.schema.getType(name);
    return isCompositeType(type) ? type : undefined;
  }
}

function pageOf(sizes: readonly unknown[]): number {
  const given = sizes.filter((size) => typeof size === 'number');
  return given.length === 0 ? usualRows : Math.min(Math.max(...given, 1), greatestPage);
}

function plus(one: Cost, other: Cost): Cost {
  return { fields: one.fields + other.fields, written: one.written + other.written };
}
