import type { GraphQLFormattedError, OperationDefinitionNode, OperationTypeNode } from 'graphql';
import type { Context } from '../../api/context.js';
import type { Histogram } from '../../lib/telemetry/metrics.js';
import { endSpan, failSpan } from '../../lib/telemetry/tracing.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';

/** Measures operations, in the same way whatever runs them. */
export interface OperationMetrics {
  /**
   * An operation has had this result since `ended`, by `performance.now()`. `data` is what it came to, even if that is
   * withheld; without any, it counts only by its errors. What fails since its client has left counts as no error.
   */
  answered(how: Measured, context: Measurable, result: Result, ended?: number): void;
  /** An answer, or the end of a stream, has these errors. */
  refused(transport: Transport, errors: Errors): void;
  /**
   * For the log and the trace: a subscription is established, or an operation refused, of which not all may be known.
   */
  note(how: Measured, operation: Partial<Measurable>, errors?: Errors): void;
}

type Measurable = Pick<Context, 'began' | 'caller' | 'cost' | 'hasLeft' | 'requestId' | 'trace'>;

/** How an operation came; it is undefined if none was found. */
interface Measured {
  readonly transport: Transport;
  readonly operation?: OperationDefinitionNode | undefined;
}

interface Result {
  readonly data?: unknown;
  readonly errors?: Errors | undefined;
}

/** What counts where a session cannot be looked up. */
export const lookUpFailed = { extensions: { code: 'INTERNAL_SERVER_ERROR' } };

type Errors = readonly Pick<GraphQLFormattedError, 'extensions'>[];
type OperationType = `${OperationTypeNode}`;
type Transport = 'http' | 'websocket' | 'stream';

/** Adds what it measures to the metrics and, at `debug`, logs a line for each operation. */
export function createOperationMetrics({ metrics, log }: Telemetry): OperationMetrics {
  const { operationSeconds, operationErrors, operationCost } = metrics;
  const isDebugging = log.isLevelEnabled('debug');
  const refused: OperationMetrics['refused'] = (transport, errors) => {
    const codes = new Set(errors.map(({ extensions }) => String(extensions?.['code'])));
    for (const code of codes) operationErrors.of(transport, code).value += 1;
  };

  const durations: Readonly<Record<Transport, { readonly [Type in OperationType]?: Histogram }>> = {
    http: { query: operationSeconds.of('http', 'query'), mutation: operationSeconds.of('http', 'mutation') },
    websocket: { query: operationSeconds.of('websocket', 'query') },
    stream: { query: operationSeconds.of('stream', 'query') },
  };

  const costs = {
    query: operationCost.of('query'),
    mutation: operationCost.of('mutation'),
    subscription: operationCost.of('subscription'),
  };

  // At zero, so that Prometheus sees the first one as an increase.
  for (const transport of ['http', 'websocket', 'stream'])
    operationErrors.of(transport, 'INTERNAL_SERVER_ERROR');

  const note: OperationMetrics['note'] = (how, operation, errors = []) => {
    if (isDebugging) logOperation(log, how, operation, errors);
    endTrace(how, operation, errors);
  };

  return {
    answered(how, context, { data, errors }, ended = performance.now()) {
      const { transport, operation } = how;
      const { began, cost } = context;
      note(how, context, errors);
      if (operation && data !== undefined) {
        durations[transport][operation.operation]?.add((ended - began) / 1_000);
        if (cost !== undefined) costs[operation.operation].add(cost);
      }
      if (errors && !context.hasLeft) refused(transport, errors);
    },
    refused,
    note,
  };
}

function logOperation(
  log: Telemetry['log'],
  { transport, operation }: Measured,
  { began, caller, cost, requestId }: Partial<Measurable>,
  errors: Errors,
): void {
  log.debug(
    {
      operation: operation?.name?.value,
      transport,
      type: operation?.operation,
      cost,
      ms: began && Math.round(performance.now() - began),
      code: errors[0]?.extensions?.['code'],
      userId: caller?.userId,
      requestId,
    },
    'operation',
  );
}

/** Ends the span of an operation, named by its type and name, as the specification of GraphQL spans has it. */
function endTrace({ transport, operation }: Measured, { trace }: Partial<Measurable>, errors: Errors): void {
  const span = trace?.span;
  if (!span) return;
  const [kind, name] = [operation?.operation ?? 'operation', operation?.name?.value];
  span.updateName(name === undefined ? kind : `${kind} ${name}`);
  span.setAttribute('trivium.transport', transport);
  if (errors.length > 0) failSpan(span, String(errors[0]?.extensions?.['code']));
  endSpan(span);
}
