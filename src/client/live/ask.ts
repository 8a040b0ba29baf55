import { getOperationAST, OperationTypeNode, type DocumentNode } from 'graphql';
import type { TriviumError } from '../core/error.js';
import { calledBack, type Sink } from '../core/transport.js';
import type { Coverage } from './coverage.js';

/**
 * Runs a query or mutation, and tells `sink` what came of it. Returns what gives a query up; a mutation that has begun
 * takes place, whether or not anybody listens.
 */
export function ask(coverage: Coverage, document: DocumentNode, variables: object, sink: Sink): () => void {
  const controller = new AbortController();
  void tell(coverage.execute(document, variables, controller.signal), calledBack(sink));
  const isMutation = getOperationAST(document)?.operation === OperationTypeNode.MUTATION;
  return isMutation ? () => {} : () => controller.abort();
}

async function tell(answer: ReturnType<Coverage['execute']>, sink: Sink): Promise<void> {
  try {
    sink.next(await answer);
    sink.complete();
  } catch (error) {
    sink.error(error as TriviumError);
  }
}
