import { randomUUID } from 'node:crypto';
import { unwrapResolverError } from '@apollo/server/errors';
import {
  GraphQLError,
  Kind,
  Location,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  parse,
  Source,
  specifiedRules,
  validate,
  type DirectiveNode,
  type DocumentNode,
  type ExecutionResult,
  type FormattedExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type SelectionSetNode,
  type SourceLocation,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import type { Context } from '../../api/context.js';
import { GatewayError, SessionEnded } from '../../graphql/errors.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import { createCache } from '../../lib/cache/cache.js';
import { digest } from '../../lib/sealer.js';
import { createCosts, type Costs } from './cost/operation-cost.js';
import { comparesMoreThan } from './cost/field-comparisons.js';
import {
  heapOfDocument,
  parseOptions,
  refuseAnswer,
  refuseText,
  tooComplex,
} from './cost/document-limits.js';
import { withoutValue } from './redact-values.js';

const maxDocuments = 500;
/** In bytes of heap: what valid documents may take together, and the errors of others, which keep the texts. */
const maxDocumentBytes = 32 * 1024 * 1024;
const maxRefusalBytes = 16 * 1024 * 1024;
const maxRefusals = 40;
/** In characters: a shorter document is checked at once. */
const shortDocument = 2_000;
/** Of fields with each other: a thousand take up to a millisecond. */
const maxComparisons = 50_000;
/** In characters: GraphQL repeats in its messages what it was given. */
const maxMessage = 1_000;

interface OperationRulesOptions {
  readonly schema: GraphQLSchema;
  readonly introspection: boolean;
  readonly telemetry: Telemetry;
}

/** What all transports have in common: which operations are taken, and what clients see of an error. */
export class OperationRules {
  readonly costs: Costs;
  readonly #options: OperationRulesOptions;
  readonly #validationRules: readonly ValidationRule[];
  readonly #documents = createCache<DocumentNode>(maxDocuments, maxDocumentBytes);
  /** By digest, of documents that take long to check. */
  readonly #refusals = createCache<readonly GraphQLError[]>(maxRefusals, maxRefusalBytes);

  constructor(options: OperationRulesOptions) {
    this.#options = options;
    const { schema, introspection } = options;
    this.costs = createCosts(schema);
    this.#validationRules = [...specifiedRules, ...(introspection ? [] : [NoSchemaIntrospectionCustomRule])];
  }

  /**
   * What clients see of an operation's error: what they can act on; anything else is masked, and logged under the
   * request id. `SessionEnded` ends the session. `operation` is absent where there was none yet.
   */
  readonly show = (
    error: unknown,
    operation?: Partial<Pick<Context, 'requestId' | 'endSession' | 'caller'>>,
  ): GraphQLFormattedError => {
    const origin = unwrapResolverError(error);
    if (origin instanceof SessionEnded) operation?.endSession?.();
    if (isShown(origin)) {
      const shown = toFormatted(
        error instanceof GraphQLError ? error : wrapInGraphQLError(origin),
        this.#options.schema,
      );
      return this.#options.introspection || operation?.caller ? shown : withoutSuggestion(shown);
    }
    const requestId = operation?.requestId ?? randomUUID();
    this.#options.telemetry.log.error({ err: origin, requestId }, 'an operation failed');
    const path = error instanceof GraphQLError ? error.path : undefined;
    const locations = error instanceof GraphQLError ? locationsOf(error) : undefined;
    return {
      message: 'Internal server error; the log has the details under this request id.',
      ...(path && { path }),
      ...(locations && { locations }),
      extensions: { code: 'INTERNAL_SERVER_ERROR', requestId },
    };
  };

  /** The document, parsed and validated, or what is wrong with it. Valid ones are cached, within bounds. */
  prepare(query: string): DocumentNode | readonly GraphQLError[] {
    const known = this.#documents.get(query);
    if (known) return known;
    const key = query.length > shortDocument ? digest(query) : '';
    const refused = this.#refusals.get(key);
    if (refused) return refused;
    const checked = this.#check(query);
    if ('kind' in checked) this.#documents.set(query, checked, heapOfDocument(checked));
    else if (key) this.#refusals.set(key, checked, heapOfRefusal(query, checked));
    return checked;
  }

  /** What clients see of the result of a query or an event: its errors by `show`, or why it is withheld as a whole. */
  showResult(
    result: ExecutionResult,
    operation: Context,
    type?: 'query' | 'subscription',
  ): FormattedExecutionResult {
    const refusal = refuseAnswer(result, operation, type);
    if (refusal) return { errors: [this.show(refusal, operation)] };
    const { errors, ...rest } = result;
    return errors ? { errors: errors.map((error) => this.show(error, operation)), ...rest } : rest;
  }

  /** First those of `unconditionalRoot`: GraphQL's own rules would evaluate such a condition, and throw. */
  #faultsOf(document: DocumentNode): readonly GraphQLError[] {
    const conditions = validate(this.#options.schema, document, [unconditionalRoot]);
    if (conditions.length > 0) return conditions;
    return validate(this.#options.schema, document, this.#validationRules);
  }

  #check(query: string): DocumentNode | readonly GraphQLError[] {
    const refusal = refuseText(query);
    if (refusal) return [refusal];
    try {
      const document = parseText(query);
      if (comparesMoreThan(document, maxComparisons)) return [tooLongToValidate];
      const faults = firstOfEach(this.#faultsOf(document));
      return faults.length === 0
        ? document
        : faults.map((fault) => withCode(fault, 'GRAPHQL_VALIDATION_FAILED'));
    } catch (error) {
      if (error instanceof GraphQLError) return [withCode(error, 'GRAPHQL_PARSE_FAILED')];
      throw error;
    }
  }
}

/**
 * A document whose nodes do not refer to its text, as it does itself: for each error in it GraphQL would count the lines
 * before it. Each token has its line and column already.
 */
function parseText(query: string): DocumentNode {
  const source = new Source(query);
  const document = parse(source, parseOptions);
  const { startToken, endToken } = document.loc!;
  source.body = '';
  // Not a copy, which would lack the number of its tokens.
  return Object.assign(document, { loc: new Location(startToken, endToken, new Source(query)) });
}

/** Where an error is: where its nodes begin. */
function locationsOf({ nodes, locations }: GraphQLError): readonly SourceLocation[] | undefined {
  const tokens = nodes?.flatMap(({ loc }) => loc?.startToken ?? []);
  return tokens?.length ? tokens.map(({ line, column }) => ({ line, column })) : locations;
}

const noCondition =
  'Neither the root field of a subscription nor a fragment around it can have `@skip` or `@include`.';

/** A subscription's root field must not depend on its variables (specification of September 2025, §5.2.4.1). */
const unconditionalRoot: ValidationRule = (context) => ({
  OperationDefinition({ operation, selectionSet }) {
    if (operation !== OperationTypeNode.SUBSCRIPTION) return false;
    const condition = conditionAtRoot(selectionSet, context);
    if (condition) context.reportError(new GraphQLError(noCondition, { nodes: condition }));
    return false;
  },
  FragmentDefinition: () => false,
});

/** The first `@skip` or `@include` on one of these selections, or in fragments among them. */
function conditionAtRoot(root: SelectionSetNode, context: ValidationContext): DirectiveNode | undefined {
  // Grows during the loop.
  const sets = new Set([root]);
  for (const { selections } of sets)
    for (const selection of selections) {
      const condition = selection.directives?.find(({ name }) => /^(?:skip|include)$/.test(name.value));
      if (condition) return condition;
      if (selection.kind === Kind.FIELD) continue;
      const isInline = selection.kind === Kind.INLINE_FRAGMENT;
      const fragment = isInline ? selection : context.getFragment(selection.name.value);
      if (fragment) sets.add(fragment.selectionSet);
    }
  return undefined;
}

/** Errors of ours, and those by which GraphQL itself tells the client what is wrong with the operation. */
function isShown(origin: unknown): origin is GatewayError | GraphQLError {
  return origin instanceof GatewayError || origin instanceof GraphQLError;
}

/** An error that belongs to no field, such as a stream's; it keeps its extensions. */
function wrapInGraphQLError(originalError: GatewayError | GraphQLError): GraphQLError {
  return new GraphQLError(originalError.message, { originalError });
}

const tooLongToValidate = tooComplex(
  'The document takes too long to validate: select the same fields less often.',
);

/** With a code, whichever part of GraphQL the error came from; without `http`, which is meant for Apollo Server. */
function toFormatted(error: GraphQLError, schema: GraphQLSchema): GraphQLFormattedError {
  // Thrown by GraphQL when validation has used up its own budget.
  if (error.message === 'Validation aborted.') return toFormatted(tooLongToValidate, schema);
  const { code = 'BAD_USER_INPUT', http: _, ...extensions } = error.extensions;
  const message = cut(withoutValue(error, schema));
  const locations = locationsOf(error);
  return { ...error.toJSON(), ...(locations && { locations }), message, extensions: { ...extensions, code } };
}

/** Suggestions tell the schema's names, which is not for everybody. */
function withoutSuggestion(error: GraphQLFormattedError): GraphQLFormattedError {
  return { ...error, message: error.message.replace(/ Did you mean [^]*$/, '') };
}

/** Each fault once: one that is repeated in a document would be as often in the answer. */
function firstOfEach(faults: readonly GraphQLError[]): readonly GraphQLError[] {
  const first = new Map(faults.toReversed().map((fault) => [fault.message, fault]));
  return faults.filter((fault) => first.get(fault.message) === fault);
}

function heapOfRefusal(query: string, errors: readonly GraphQLError[]): number {
  return 2 * errors.reduce((all, { message }) => all + message.length, query.length);
}

function cut(message: string): string {
  return message.length > maxMessage ? `${message.slice(0, maxMessage)}…` : message;
}

function withCode(error: GraphQLError, code: string): GraphQLError {
  // Not the nodes: an error that is kept would keep the whole document.
  const coded = new GraphQLError(error.message, { extensions: { code } });
  return Object.assign(coded, { locations: locationsOf(error) });
}
