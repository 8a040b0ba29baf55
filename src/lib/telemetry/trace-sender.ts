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

// The program of the thread that sends spans to the collector, as the `OTEL_…` variables say; `main.ts` has its address.
answerRequests(
  (spans: Uint8Array) =>
    new Promise<void>((resolve, reject) =>
      exporter.export(spans, ({ error }) => (error ? reject(error) : resolve())),
    ),
);
