import {
  getVariableValues,
  Kind,
  OperationTypeNode,
  visit,
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import { createCache } from '../../lib/cache/cache.js';
import { noDocument, requestedDocument, type RequestedDocument } from '../documents/requested-document.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';
import { fragmentsOf } from '../operation/cost/cost-estimate.js';
import type { Costs } from '../operation/cost/query-cost.js';
import { parsePlain, type PlainRequest } from './plain-request.js';

/** How requests with the same body are answered, unless the document is forgotten. */
interface Plan {
  readonly requested: RequestedDocument;
  readonly source: string;
  readonly variables: Variables;
  /** In fields. */
  readonly cost: number | undefined;
}

type Variables = Readonly<Record<string, unknown>>;

/** A document that may be compiled. */
interface Admitted {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Whether it asks for a field repeatedly, so that the answer may be long however little data there is. */
  readonly repeats: boolean;
  /** Begun at the second use; concurrent uses share it. Null if the compiler refuses the document. */
  compiled?: CompiledQuery | null | Promise<CompiledQuery | null> | undefined;
}

const maxDocuments = 300;
/** Fields of a document, its fragments expanded, since the compiler expands them. */
const maxFields = 1_000;
/** The same of all documents together: compiled, each takes 2 to 3 KB. */
const maxFieldsInAll = 10_000;

/** The schema that is compiled, what its fields cost, and which documents may run. */
interface CompilableDocumentsOptions {
  readonly schema: GraphQLSchema;
  readonly costs: Costs;
  readonly documents: TrustedDocuments;
}

/** The documents that Apollo Server has taken and the compiler can take, and the requests that ask for one of them. */
export class CompilableDocuments {
  readonly #schema: GraphQLSchema;
  readonly #costs: Costs;
  readonly #trusted: TrustedDocuments;
  readonly #admitted = createCache<Admitted>(maxDocuments, maxFieldsInAll);
  /** By the body of the request: clients repeat a query in the same bytes. */
  readonly #plans = createCache<Plan>(maxDocuments);

  constructor({ schema, costs, documents }: CompilableDocumentsOptions) {
    this.#schema = schema;
    this.#costs = costs;
    this.#trusted = documents;
  }

  /** Takes a document that is parsed and valid, if it can be compiled. */
  admit(source: string, document: DocumentNode): void {
    const operation = this.#admitted.get(source) ? undefined : plainQuery(source, document);
    if (!operation) return;
    const { expandedFields: fields } = this.#costs.of(document, operation);
    if (fields > maxFields) return;
    const repeats = repeatsFields(operation, document);
    this.#admitted.set(source, { document, operation, repeats }, fields);
  }

  /** The document that a request's body asks for, with its variables and cost; undefined for all that is not admitted. */
  find(body: string): (Plan & { readonly admitted: Admitted }) | undefined {
    const plan = this.#planFor(body);
    const admitted = plan && this.#admitted.get(plan.source);
    return admitted && { ...plan, admitted };
  }

  /** The compiled document; null if the compiler refuses it. The one promise is shared by all who ask meanwhile. */
  compiled(admitted: Admitted): CompiledQuery | null | Promise<CompiledQuery | null> {
    if (admitted.compiled === undefined) admitted.compiled = this.#compile(admitted);
    return admitted.compiled;
  }

  async #compile(admitted: Admitted): Promise<CompiledQuery | null> {
    try {
      return (admitted.compiled = await compile(this.#schema, admitted.document));
    } catch (error) {
      admitted.compiled = undefined; // and the next one tries again
      throw error;
    }
  }

  #planFor(body: string): Plan | undefined {
    const known = this.#plans.get(body);
    if (known && this.#sourceOf(known.requested) === known.source) return known;
    const plan = this.#plan(parsePlain(body));
    if (plan) this.#plans.set(body, plan);
    return plan;
  }

  #plan(request: PlainRequest | undefined): Plan | undefined {
    const requested = request ? requestedDocument(request) : noDocument;
    if (!request || typeof requested === 'string') return undefined;
    const source = this.#sourceOf(requested);
    const admitted = source === undefined ? undefined : this.#admitted.get(source);
    if (!admitted || source === undefined) return undefined;
    const { document, operation } = admitted;
    const variables = request.variables ?? {};
    const isNamed = !request.operationName || request.operationName === operation.name?.value;
    if (!isNamed) return undefined;
    const { fields: cost, refusal } = this.#costs.assess(document, operation, variables);
    const isAccepted = !refusal && areAccepted(this.#schema, operation, variables);
    return isAccepted ? { requested, source, variables, cost } : undefined;
  }

  /** The text to be run, if the document is trusted, or may run without a trace. */
  #sourceOf(requested: RequestedDocument): string | undefined {
    // Without a manifest, Apollo Server refuses its own form of ids.
    if (requested.hash !== undefined && !this.#trusted.knowsIds) return undefined;
    const { text, stranger } = this.#trusted.find(requested);
    return stranger === undefined ? text : undefined;
  }
}

/** The compiler is loaded when it is first needed, which is not while a gateway starts. */
async function compile(schema: GraphQLSchema, document: DocumentNode): Promise<CompiledQuery | null> {
  const { compileQuery, isCompiledQuery } = await import('graphql-jit');
  const compiled = compileQuery(schema, document);
  return isCompiledQuery(compiled) ? compiled : null;
}

/** The compiler accepts more than GraphQL: a list for an input object, or null where only a default may stand. */
function areAccepted(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Variables,
): boolean {
  const isNull = variableDefinitions.some(
    ({ variable, defaultValue }) => defaultValue && variables[variable.name.value] === null,
  );
  return !isNull && !getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 }).errors;
}

/** Introspection; and a name by which the compiled code would set the prototype, and lose the value. */
const unusual = /\b__(schema|type|proto__)\b/;
/** Without the `@`: blanks, commas and comments may stand between it and the name. */
const conditions = /\b(skip|include)\b/;

/** The query of a document that has no other operation, if the compiler is sure to treat it as Apollo Server does. */
function plainQuery(source: string, document: DocumentNode): OperationDefinitionNode | undefined {
  const [only, ...others] = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  const plain = others.length === 0 && only?.operation === OperationTypeNode.QUERY;
  if (!plain || unusual.test(source)) return undefined;
  const isSure =
    !conditions.test(source) || (areSpreadOnce(document) && comeOnce(only, document, answerName));
  return isSure ? only : undefined;
}

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

/** Whether a selection set of the operation, fragments expanded, names a field more than once. */
function repeatsFields(operation: OperationDefinitionNode, document: DocumentNode): boolean {
  return !comeOnce(operation, document, ({ name }) => name.value);
}
