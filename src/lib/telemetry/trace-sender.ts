import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import { answerRequests } from '../async/thread.js';
import { encodingFor } from './trace-encoding.js';

const { contentType, serializer } = encodingFor(process.env);
/** Spans come as the bytes that are sent. */
const asBytes = {
  serializeRequest: (spans: Uint8Array) => spans,
  deserializeResponse: (response: Uint8Array) => serializer.deserializeResponse(response),
};
// oxlint-disable-next-line typescript/no-deprecated -- what its own exporter uses; there is no other yet
const options = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', { 'Content-Type': contentType });
const exporter = createOtlpHttpExportDelegate(options, asBytes);

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
