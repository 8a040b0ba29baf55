import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import { answerRequests } from '../async/thread.js';
import { encodings, type Protocol } from './trace-encoding.js';

/** What is sent: spans, as the bytes of this protocol. */
export interface WrittenSpans {
  readonly protocol: Protocol;
  readonly bytes: Uint8Array;
}

function createExporter(protocol: Protocol) {
  const { contentType, serializer } = encodings[protocol];
  // oxlint-disable-next-line typescript/no-deprecated -- what its own exporter uses; there is no other yet
  const options = convertLegacyHttpOptions({}, 'TRACES', 'v1/traces', { 'Content-Type': contentType });
  return createOtlpHttpExportDelegate(options, {
    serializeRequest: (bytes: Uint8Array) => bytes,
    deserializeResponse: (response: Uint8Array) => serializer.deserializeResponse(response),
  });
}

/** The message of a refusal is only the reason phrase, which may be empty. */
function whyOf(error: Error & { readonly code?: unknown }): Error {
  return typeof error.code === 'number' ? new Error(`It answered ${error.code} ${error.message}`) : error;
}

/** All that is sent is of one protocol. */
let exporter: ReturnType<typeof createExporter> | undefined;

// The program of the thread that sends spans to the collector, as the `OTEL_…` variables say; `main.ts` has its address.
answerRequests(({ protocol, bytes }: WrittenSpans) => {
  const to = (exporter ??= createExporter(protocol));
  return new Promise<void>((resolve, reject) =>
    to.export(bytes, ({ error }) => (error ? reject(whyOf(error)) : resolve())),
  );
});
