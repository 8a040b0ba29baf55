import { execute, type ExecutionArgs, type ExecutionResult, type GraphQLFormattedError } from 'graphql';
import type { Context } from '../../api/context.js';
import type { Rendering } from '../../events/feed/member.js';
import { toJsonText } from '../../lib/json.js';
import type { CompiledDocuments } from '../operation/compiled-documents.js';
import type { OperationRules } from '../operation/operation-rules.js';

/** The arguments of an operation, without what differs between its events. */
type Operation = Omit<ExecutionArgs, 'rootValue' | 'contextValue'>;
type Run = (rootValue: unknown, context: Context) => ExecutionResult | Promise<ExecutionResult>;

/** Returns a function that renders messages of a subscription, with compiled code where there is any. */
export function createRenderer(
  { contextValue, ...operation }: ExecutionArgs,
  rules: OperationRules,
  documents: CompiledDocuments,
): Rendering['run'] {
  // The group may outlive its first member: it keeps that caller's session, but nothing else of the operation.
  const base = (contextValue as Context).detached();
  const run = compiledRun(operation, documents);
  return (rootValue) => {
    if (rootValue === undefined) return undefined;
    const context = base.detached();
    const result = run(rootValue, context);
    return 'then' in result
      ? result.then((later) => payloadOf(later, context, rules))
      : payloadOf(result, context, rules);
  };
}

/**
 * The first update has the document compiled, for all groups that have it. What compiled code fails at is run again; after
 * an update at which graphql-js fails, too, it alone runs those that follow, until one succeeds.
 */
function compiledRun(operation: Operation, documents: CompiledDocuments): Run {
  const { document, variableValues } = operation;
  const variables = variableValues ?? {};
  const source = document.loc!.source.body;
  let isAdmitted: boolean | undefined;
  let isFailing = false;

  function note(result: ExecutionResult): ExecutionResult {
    isFailing = result.errors !== undefined;
    return result;
  }

  function interpret(rootValue: unknown, context: Context): ReturnType<Run> {
    const result = execute({ ...operation, rootValue, contextValue: context });
    return 'then' in result ? result.then(note) : note(result);
  }

  function admit(): boolean {
    documents.admit(source, document);
    const admitted = documents.find(source);
    return admitted !== undefined && documents.accepts(admitted, variables);
  }

  return (rootValue, context) => {
    isAdmitted ??= admit();
    const compiled = isAdmitted && !isFailing ? documents.ready(source) : undefined;
    if (!compiled) return interpret(rootValue, context);
    const again = () => {
      context.prepareRerun();
      return interpret(rootValue, context);
    };
    const check = (result: ExecutionResult) => (result.errors ? again() : result);
    let result: ReturnType<Run>;
    try {
      result = compiled.query(rootValue, context, variables);
    } catch {
      return again();
    }
    return 'then' in result ? result.then(check, again) : check(result);
  };
}

function payloadOf(result: ExecutionResult, context: Context, rules: OperationRules): string {
  const answer = rules.showResult(result, context, 'subscription');
  if (answer.errors?.some(isInternal)) throw new Error('An event could not be rendered.');
  return toJsonText(answer);
}

/** A failure on our side, which may pass: if it were sent as a message, the client would lose the event. */
function isInternal({ extensions }: GraphQLFormattedError): boolean {
  return extensions?.['code'] === 'INTERNAL_SERVER_ERROR';
}
