import type { ServerResponse } from 'node:http';
import { LightAbortController, whenAborted } from '../../lib/async/abort.js';
import type { OperationMemory } from '../../lib/memory/operation-memory.js';
import { whenClosed } from './when-closed.js';
import { operationMs } from './cost/document-limits.js';

/** Aborts it at an operation's deadline, unless it is aborted before; returns it. */
export function withDeadline(ending: LightAbortController): LightAbortController {
  const deadline = setTimeout(() => ending.abort(), operationMs).unref();
  whenAborted(ending, () => clearTimeout(deadline));
  return ending;
}

/** Aborted at the operation's deadline, when it is answered, or when its client leaves: work that waits is dropped. */
export function operationSignal(response: ServerResponse, memory?: OperationMemory): LightAbortController {
  const ending = withDeadline(new LightAbortController(memory));
  whenClosed(response, () => ending.abort());
  return ending;
}
