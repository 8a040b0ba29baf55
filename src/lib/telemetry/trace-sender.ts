import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { answerRequests } from '../async/thread.js';

/** Spans come as the bytes that are sent. */
const serializer = {
  serializeRequest: (spans: Uint8Array) => spans,
  deserializeResponse: (response: Uint8Array) => JsonTraceSerializer.deserializeResponse(response),
};
// oxlint-disable-next-line typescript/no-deprecated -- what its own exporter uses; there is no other yet
const options = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', { 'Content-Type': 'application/json' });
const exporter = createOtlpHttpExportDelegate(options, serializer);

/** The message of a refusal is only the reason phrase, which may be empty. */
function whyOf(error: Error & { readonly code?: unknown }): Error {
  return typeof error.code === 'number' ? new Error(`It answered ${error.code} ${error.message}`) : error;
}

// The program of the thread that sends spans to the collector, as the `OTEL_…` variables say; `main.ts` has its address.
answerRequests(
  (spans: Uint8Array) =>
    new Promise<void>((resolve, reject) =>
      exporter.export(spans, ({ error }) => (error ? reject(whyOf(error)) : resolve())),
    ),
);
