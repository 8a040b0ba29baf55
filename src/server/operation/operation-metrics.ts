import type { GraphQLFormattedError, OperationTypeNode } from 'graphql';
import type { Context } from '../../api/context.js';
import { secondsSince, type Durations, type Metrics } from '../../lib/telemetry/metrics.js';

/** Measures operations, in the same way whatever runs them. */
export interface Meter {
  /** An operation has this result. One without `data`, refused or withheld, counts only by its errors. */
  answered(how: Measured, context: Pick<Context, 'began'>, result: Result): void;
  /** An answer, or the end of a stream, has these errors. */
  refused(transport: Transport, errors: Errors): void;
}

/** How an operation came, and of which type it is; undefined if none was found. */
interface Measured {
  readonly transport: Transport;
  readonly type: OperationType | undefined;
}

interface Result {
  readonly data?: unknown;
  readonly errors?: Errors | undefined;
}

type Errors = readonly Pick<GraphQLFormattedError, 'extensions'>[];
type OperationType = `${OperationTypeNode}`;
type Transport = 'http' | 'websocket';

/** A meter that adds to these metrics. */
export function createMeter({ operationSeconds, operationErrors }: Metrics): Meter {
  const refused: Meter['refused'] = (transport, errors) => {
    const codes = new Set(errors.map(({ extensions }) => String(extensions?.['code'])));
    for (const code of codes) operationErrors.of(transport, code).value += 1;
  };

  const durations: Readonly<Record<Transport, { readonly [Type in OperationType]?: Durations }>> = {
    http: { query: operationSeconds.of('http', 'query'), mutation: operationSeconds.of('http', 'mutation') },
    websocket: { query: operationSeconds.of('websocket', 'query') },
  };

  // At zero, so that Prometheus sees the first one as an increase.
  for (const transport of ['http', 'websocket']) operationErrors.of(transport, 'INTERNAL_SERVER_ERROR');

  return {
    answered({ transport, type }, { began }, { data, errors }) {
      if (type && data !== undefined) durations[transport][type]?.add(secondsSince(began));
      if (errors) refused(transport, errors);
    },
    refused,
  };
}
