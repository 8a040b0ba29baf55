import {
  getNamedType,
  getNullableType,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  isCompositeType,
  isListType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  valueFromASTUntyped,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type SelectionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { maxEntities, maxPageSize, defaultPageSize } from '../../../graphql/page-size.js';
import type { Variables } from './document-limits.js';

/** What an operation asks for, in fields. */
export interface Cost {
  /** About as many as the answer may have: a field below a page or a list counts once for each row. */
  readonly fields: number;
  /** As many as the operation has with its fragments expanded. */
  readonly expandedFields: number;
  /** How many characters are given to its fields as arguments; below a page or a list, once for each row. */
  readonly given: number;
}

/** By name. */
type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** By the name of a variable that is not given. */
type Defaults = ReadonlyMap<string, ValueNode | undefined>;

/** The fragments of a document. */
export function fragmentsOf({ definitions }: DocumentNode): Fragments {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
}

/** Estimated for a list that is not a page, such as the tags of a note; a tally counts the rows beyond. */
export const defaultRows = 5;
/** How often a field below `__schema` or `__type` counts: GraphiQL's own query comes to some 20,000. */
const schemaRows = 100;
const schemaFields = new Map([SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]));
/** The cost of an operation that asks for no fields. */
export const nothing: Cost = { fields: 0, expandedFields: 0, given: 0 };

/** Counts the fields that one operation, with these variables, asks for. */
export class CostEstimate {
  private readonly schema: GraphQLSchema;
  private readonly variables: Variables;
  private readonly fragments: Fragments;
  /** How many rows a list of unknown length is estimated to have. */
  private readonly openRows: number;
  private readonly defaults: Defaults;
  private readonly fragmentCosts = new Map<string, Cost>();
  /** The characters in a variable, by its name. */
  private readonly variableCharacters = new Map<string, number>();

  constructor(
    schema: GraphQLSchema,
    fragments: Fragments,
    variables: Variables,
    openRows = 0,
    defaults: Defaults = new Map(),
  ) {
    this.defaults = defaults;
    this.schema = schema;
    this.fragments = fragments;
    this.variables = variables;
    this.openRows = Math.max(openRows, defaultRows);
  }

  /** An object has one type: of the selections for several object types only the costliest counts. */
  ofSet({ selections }: SelectionSetNode, type: GraphQLCompositeType): Cost {
    let always = nothing;
    const byType = new Map<GraphQLCompositeType, Cost>();
    for (const selection of selections) {
      const on = this.typeOf(selection, type);
      const found = this.ofSelection(selection, on);
      const cost = this.isLeftOut(selection) ? { ...nothing, expandedFields: found.expandedFields } : found;
      if (on === type || !isObjectType(on)) always = plus(always, cost);
      else byType.set(on, plus(byType.get(on) ?? nothing, cost));
    }
    return plus(always, [...byType.values()].reduce(costliest, nothing));
  }

  /** Whether its own `@skip` or `@include` leaves it out. */
  private isLeftOut({ directives = [] }: SelectionNode): boolean {
    return directives.some(({ name, arguments: given = [] }) => {
      const [condition] = given.map(({ value }) => valueFromASTUntyped(value, this.variables));
      if (name.value === GraphQLSkipDirective.name) return condition === true;
      return name.value === GraphQLIncludeDirective.name && condition === false;
    });
  }

  private typeOf(selection: SelectionNode, parent: GraphQLCompositeType): GraphQLCompositeType {
    if (selection.kind === Kind.FIELD) return parent;
    const { typeCondition } =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : (this.fragments.get(selection.name.value) ?? {});
    const type = typeCondition && this.schema.getType(typeCondition.name.value);
    return isCompositeType(type) ? type : parent;
  }

  private ofSelection(selection: SelectionNode, type: GraphQLCompositeType): Cost {
    if (selection.kind === Kind.FIELD) return this.ofField(selection, type);
    if (selection.kind === Kind.INLINE_FRAGMENT) return this.ofSet(selection.selectionSet, type);
    const { value: name } = selection.name;
    const set = this.fragments.get(name)?.selectionSet;
    const cost = this.fragmentCosts.get(name) ?? (set ? this.ofSet(set, type) : nothing);
    this.fragmentCosts.set(name, cost);
    return cost;
  }

  private ofField(node: FieldNode, parent: GraphQLCompositeType): Cost {
    const { value: name } = node.name;
    const field = schemaFields.get(name) ?? ('getFields' in parent ? parent.getFields()[name] : undefined);
    const type = field && getNamedType(field.type);
    const given = (node.arguments ?? []).reduce((sum, { value }) => sum + this.charactersIn(value), 0);
    if (!field || !isCompositeType(type) || !node.selectionSet)
      return { fields: 1, expandedFields: 1, given };
    const below = this.ofSet(node.selectionSet, type);
    const rows = this.rowsOf(node, field, parent);
    return {
      fields: 1 + rows * below.fields,
      expandedFields: 1 + below.expandedFields,
      given: given + rows * below.given,
    };
  }

  private charactersIn(node: ValueNode): number {
    if (node.kind === Kind.STRING || node.kind === Kind.INT) return node.value.length; // an id may be either
    if (node.kind === Kind.LIST) return node.values.reduce((sum, each) => sum + this.charactersIn(each), 0);
    if (node.kind === Kind.OBJECT)
      return node.fields.reduce((sum, { value }) => sum + this.charactersIn(value), 0);
    if (node.kind !== Kind.VARIABLE) return 0;
    const name = node.name.value;
    const assumed = this.defaults.get(name);
    const known =
      this.variableCharacters.get(name) ??
      (assumed ? this.charactersIn(assumed) : charactersOf(this.variables[name]));
    this.variableCharacters.set(name, known);
    return known;
  }

  /** How many rows a field may have; those of a page are counted at its connection, and all else has one. */
  private rowsOf(
    node: FieldNode,
    field: GraphQLField<unknown, unknown>,
    parent: GraphQLCompositeType,
  ): number {
    if (schemaFields.has(field.name)) return schemaRows;
    const given = (name: string) => {
      const argument = node.arguments?.find((each) => each.name.value === name);
      return argument && valueFromASTUntyped(argument.value, this.variables);
    };
    const takes = (name: string) => field.args.some((argument) => argument.name === name);
    if (takes('first')) return pageOf([given('first'), given('last')]);
    if (takes('ids')) return bounded(toList(given('ids')).length);
    if (takes('representations')) return Math.min(toList(given('representations')).length, maxEntities);
    return isOpenList(field, parent) ? this.openRows : 1;
  }
}

/** An estimate of how many fields a row of the list being resolved has. */
export function costOfRow(info: GraphQLResolveInfo): number {
  const { fieldNodes, returnType, schema, fragments, variableValues } = info;
  const type = getNamedType(returnType);
  if (!isCompositeType(type)) return 1;
  const selections = fieldNodes.flatMap(({ selectionSet }) => selectionSet?.selections ?? []);
  const count = new CostEstimate(schema, new Map(Object.entries(fragments)), variableValues);
  return count.ofSet({ kind: Kind.SELECTION_SET, selections }, type).fields;
}

/** Arguments that tell how long a list is. */
const sizing: ReadonlySet<string> = new Set(['first', 'ids', 'representations']);

/** Whether the length of this list is unknown beforehand; a page's, or that of `nodes(ids:)`, is in the arguments. */
export function isOpenList(
  { type, args }: GraphQLField<unknown, unknown>,
  parent: GraphQLCompositeType,
): boolean {
  const isList = isListType(getNullableType(type)) && isCompositeType(getNamedType(type));
  const isPart = parent.name.endsWith('Connection') || parent.name.startsWith('__');
  return isList && !isPart && !args.some(({ name }) => sizing.has(name));
}

function pageOf(sizes: readonly unknown[]): number {
  const given = sizes.filter((size) => typeof size === 'number');
  return given.length === 0 ? defaultPageSize : bounded(Math.max(...given));
}

/** A number out of bounds is refused later, by the resolver. */
function bounded(rows: number): number {
  return Math.min(Math.max(rows, 1), maxPageSize);
}

/** GraphQL takes a single value for a list of one. */
function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** How many characters the strings of a value have. */
function charactersOf(root: unknown): number {
  let characters = 0;
  const values = [root]; // grows during the loop
  for (const value of values)
    if (typeof value === 'string') characters += value.length;
    else if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) values.push(member);
  return characters;
}

function plus(one: Cost, other: Cost): Cost {
  return {
    fields: one.fields + other.fields,
    expandedFields: one.expandedFields + other.expandedFields,
    given: one.given + other.given,
  };
}

function costliest(one: Cost, other: Cost): Cost {
  return {
    fields: Math.max(one.fields, other.fields),
    expandedFields: one.expandedFields + other.expandedFields,
    given: Math.max(one.given, other.given),
  };
}
