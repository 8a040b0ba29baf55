import {
  executeSync,
  getVariableValues,
  Kind,
  OperationTypeNode,
  visit,
  type DocumentNode,
  type ExecutionResult,
  type FieldNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import type { CompiledQuery as JitQuery } from 'graphql-jit';
import { Pace } from '../../lib/async/pace.js';
import { createCache } from '../../lib/cache/cache.js';
import { LaterJson, toJsonText } from '../../lib/json.js';
import { fragmentsOf } from './cost/cost-estimate.js';
import { heapOfDocument, type Variables } from './cost/document-limits.js';
import type { Costs } from './cost/operation-cost.js';

/** What runs instead of the document. */
type CompiledQuery = Pick<JitQuery, 'query'>;

/** A document that may be compiled. */
export interface Admitted {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Whether it asks for a field repeatedly, so that the answer may be long however little data there is. */
  readonly repeats: boolean;
  /** Begun at the first use of what is admitted; concurrent uses share it. Null if the compiler refuses the document. */
  compiled?: CompiledQuery | null | Promise<CompiledQuery | null> | undefined;
}

const maxDocuments = 300;
/** Fields of a document, its fragments expanded, since the compiler expands them. */
const maxFields = 1_000;
/** Steps of the compiler, which looks at a field at each level above it, and there at all conditions: they take 70 ms. */
const maxSteps = 100_000;
/** The same of all documents together; one that takes more memory itself counts as more fields. */
const maxFieldsInAll = 10_000;
/** What a field takes once it is compiled: 2 to 3 KB. */
const bytesPerField = 3_000;
/** In characters: the whole schema, with its descriptions, has some 110,000. */
const maxKept = 1_000_000;
const bytesPerCharacter = 2;

/** The queries and subscriptions that the compiler is sure to treat as graphql-js does; the recently used ones stay. */
export class CompiledDocuments {
  readonly #schema: GraphQLSchema;
  readonly #costs: Costs;
  readonly #admitted = createCache<Admitted>(maxDocuments, maxFieldsInAll);
  /** Many may be due at once, and compiling a large one takes tens of milliseconds. */
  readonly #pace = new Pace(1);

  constructor(schema: GraphQLSchema, costs: Costs) {
    this.#schema = schema;
    this.#costs = costs;
  }

  /** Takes a document that is parsed and valid, if it can be compiled. */
  admit(source: string, document: DocumentNode): void {
    const operation = this.#admitted.get(source) ? undefined : plainOperation(source, document);
    if (!operation) return;
    const { expandedFields: fields } = this.#costs.of(document, operation);
    if (fields > maxFields || stepsOf(operation, document) > maxSteps) return;
    const repeats = repeatsFields(operation, document);
    const weight = isIntrospection(operation)
      ? (maxKept * bytesPerCharacter) / bytesPerField
      : Math.max(fields, heapOfDocument(document) / bytesPerField);
    this.#admitted.set(source, { document, operation, repeats }, weight);
  }

  /** The document with this text, if it is admitted and not yet forgotten. */
  find(source: string): Admitted | undefined {
    return this.#admitted.get(source);
  }

  /** The compiled document; null if the compiler refuses it. The one promise is shared by all who ask meanwhile. */
  compiled(admitted: Admitted): CompiledQuery | null | Promise<CompiledQuery | null> {
    if (admitted.compiled === undefined) admitted.compiled = this.#compile(admitted);
    return admitted.compiled;
  }

  /** The compiled document with this text, if it is ready; else it is being compiled, unless it is refused or forgotten. */
  ready(source: string): CompiledQuery | undefined {
    const admitted = this.#admitted.get(source);
    const compiled = admitted && this.compiled(admitted);
    if (!(compiled instanceof Promise)) return compiled ?? undefined;
    compiled.catch(() => undefined); // the next use tries again
    return undefined;
  }

  /** Whether GraphQL takes these variables. The compiler takes more: a list for an input object, or null where only a default may stand. */
  accepts({ operation: { variableDefinitions = [] } }: Admitted, variables: Variables): boolean {
    const isNull = variableDefinitions.some(
      ({ variable, defaultValue }) => defaultValue && variables[variable.name.value] === null,
    );
    return (
      !isNull && !getVariableValues(this.#schema, variableDefinitions, variables, { maxErrors: 1 }).errors
    );
  }

  async #compile(admitted: Admitted): Promise<CompiledQuery | null> {
    try {
      await this.#pace.turn();
      return (admitted.compiled = await compile(this.#schema, admitted));
    } catch (error) {
      admitted.compiled = undefined; // and the next one tries again
      throw error;
    }
  }
}

/** The compiler is loaded when it is first needed, which is not while a gateway starts. */
async function compile(
  schema: GraphQLSchema,
  { document, operation }: Admitted,
): Promise<CompiledQuery | null> {
  if (isIntrospection(operation)) return keepAnswer(schema, document);
  const { compileQuery, isCompiledQuery } = await import('graphql-jit');
  const compiled = compileQuery(schema, document);
  return isCompiledQuery(compiled) ? compiled : null;
}

/**
 * Introspection is not compiled: its answer is always the same, and takes some 20 ms to make. That is made at the first
 * use, in the caller's turn, and kept as text. One that is too long is left to the usual way, as if it had failed.
 */
function keepAnswer(schema: GraphQLSchema, document: DocumentNode): CompiledQuery {
  let kept: ExecutionResult | undefined;
  const make = (): ExecutionResult => {
    const text = toJsonText(executeSync({ schema, document }).data);
    return text.length > maxKept ? { errors: [] } : { data: new LaterJson(text) as never };
  };
  return { query: () => (kept ??= make()) };
}

/** The fields of introspection. */
const asksSchema = /\b__(schema|type)\b/;
/** A name by which the compiled code would set the prototype, and lose the value. */
const unusual = /\b__proto__\b/;
/** Without the `@`: blanks, commas and comments may stand between it and the name. */
const conditions = /\b(skip|include)\b/;

/** The query or subscription of a document that has no other operation, if the compiler is sure to treat it as graphql-js does. */
function plainOperation(source: string, document: DocumentNode): OperationDefinitionNode | undefined {
  const [only, ...others] = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  if (!only || others.length > 0 || only.operation === OperationTypeNode.MUTATION) return undefined;
  if (unusual.test(source)) return undefined;
  if (asksSchema.test(source)) return isIntrospection(only) ? only : undefined;
  const isSure =
    !conditions.test(source) || (areSpreadOnce(document) && comeOnce(only, document, answerName));
  return isSure ? only : undefined;
}

/** Whether a query asks for the schema alone, in a way that no variable changes. */
function isIntrospection({ operation, variableDefinitions = [], selectionSet }: OperationDefinitionNode) {
  const isQuery = operation === OperationTypeNode.QUERY && variableDefinitions.length === 0;
  return isQuery && selectionSet.selections.every(asksForSchema);
}

const asksForSchema = (selection: SelectionNode) =>
  selection.kind === Kind.FIELD && asksSchema.test(selection.name.value);

/** The compiler joins the conditions of all places where a fragment is spread, and has its fields meet all of them. */
function areSpreadOnce(document: DocumentNode): boolean {
  const spread: string[] = [];
  visit(document, { FragmentSpread: ({ name }) => void spread.push(name.value) });
  return new Set(spread).size === spread.length;
}

/** If a name is repeated, and a variable leaves out its first field, the compiler orders the fields differently. */
const answerName = ({ name, alias = name }: FieldNode): string => alias.value;

/** Whether `nameOf` gives every field a name of its own within its selection set, fragments expanded. */
function comeOnce(
  { selectionSet: root }: OperationDefinitionNode,
  document: DocumentNode,
  nameOf: (field: FieldNode) => string,
): boolean {
  const fragments = fragmentsOf(document);
  const areNew = ({ selections }: SelectionSetNode, names: Set<string>): boolean =>
    selections.every((selection) => {
      if (selection.kind === Kind.FIELD) {
        const name = nameOf(selection);
        if (names.has(name)) return false;
        names.add(name);
        return !selection.selectionSet || areNew(selection.selectionSet, new Set());
      }
      const isInline = selection.kind === Kind.INLINE_FRAGMENT;
      const spread = isInline ? selection : fragments.get(selection.name.value);
      return spread !== undefined && areNew(spread.selectionSet, names);
    });
  return areNew(root, new Set());
}

/** How many steps the compiler takes. */
function stepsOf({ selectionSet: root }: OperationDefinitionNode, document: DocumentNode): number {
  const fragments = fragmentsOf(document);
  let steps = 0;
  const count = (set: SelectionSetNode | undefined, above: number, directives: number): void => {
    for (const selection of set?.selections ?? []) {
      const isField = selection.kind === Kind.FIELD;
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      const { selectionSet } = isSpread ? fragments.get(selection.name.value)! : selection;
      const own = directives + (selection.directives?.length ?? 0);
      if (isField) steps += (above + 1) * (own + 1);
      count(selectionSet, isField ? above + 1 : above, own);
    }
  };
  count(root, 0, 0);
  return steps;
}

/** Whether a selection set of the operation, fragments expanded, names a field more than once. */
function repeatsFields(operation: OperationDefinitionNode, document: DocumentNode): boolean {
  return !comeOnce(operation, document, ({ name }) => name.value);
}
