import {
  getOperationAST,
  GraphQLError,
  OperationTypeNode,
  type DocumentNode,
  type OperationDefinitionNode,
} from 'graphql';
import type { Variables } from '../operation/cost/document-limits.js';
import { declaredOf } from '../operation/cost/operation-cost.js';
import type { OperationRules } from '../operation/operation-rules.js';
import { requestedDocument } from '../documents/requested-document.js';
import type { TrustedDocuments } from '../documents/trusted-documents.js';

/** An operation as a client names it. */
export interface OperationPayload {
  readonly query?: string | null | undefined;
  /** Names a trusted document, as do Apollo's `extensions`. */
  readonly documentId?: unknown;
  readonly extensions?: unknown;
  readonly operationName?: string | null | undefined;
  readonly variables?: Variables | null | undefined;
}

/** A query or a subscription that may run. */
export interface LiveOperation {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Those that the operation declares. */
  readonly variableValues: Variables | undefined;
  /** In fields. */
  readonly cost: number | undefined;
}

/** Why an operation does not run. */
export interface LiveRefusal {
  readonly errors: readonly GraphQLError[];
  /** In fields, where that was found before it was refused. */
  readonly cost?: number | undefined;
}

/** The query or subscription that a payload names, or why it is refused; `transport` is how messages name what it came by. */
export function prepareLive(
  { rules, documents }: { readonly rules: OperationRules; readonly documents: TrustedDocuments },
  payload: OperationPayload,
  transport: 'a websocket' | 'a stream',
): LiveOperation | LiveRefusal {
  const requested = requestedDocument(payload);
  if (typeof requested === 'string') return refusal(requested);
  const verdict = documents.take(requested);
  if (verdict.refusal) return { errors: [verdict.refusal] };
  const { variables } = payload;
  const operationName = payload.operationName || null; // an empty one is none
  const document = rules.prepare(verdict.text);
  if (!('kind' in document)) return { errors: document };
  const operation = getOperationAST(document, operationName);
  if (!operation) return refusal(notFound(operationName), 'OPERATION_RESOLUTION_FAILURE');
  if (operation.operation === OperationTypeNode.MUTATION)
    return refusal(
      `Send mutations by POST to /graphql where \`Accept\` prefers \`application/json\`, not over ${transport}.`,
    );
  const { fields, refusal: tooMuch } = rules.costs.assess(document, operation, variables ?? undefined);
  if (tooMuch) return { errors: [tooMuch], cost: fields };
  const variableValues = variables ? declaredOf(operation, variables) : undefined;
  return { document, operation, variableValues, cost: fields };
}

/** GraphQL's own message, as clients get it over HTTP. */
function notFound(name: string | null | undefined): string {
  if (name == null) return 'Must provide operation name if query contains multiple operations.';
  return `Unknown operation named "${name}".`;
}

function refusal(message: string, code = 'BAD_USER_INPUT'): LiveRefusal {
  return { errors: [new GraphQLError(message, { extensions: { code } })] };
}
