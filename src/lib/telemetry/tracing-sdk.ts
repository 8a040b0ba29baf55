import { createIdSource } from './trace-ids.js';
import { enableTracing } from './tracing.js';

/**
 * Sends spans to an OTLP/HTTP collector, as the `OTEL_…` variables of OpenTelemetry's specification say, which its SDK
 * reads by itself. Rejects if the packages are not installed: they are optional peers. Resolves with a function that
 * sends what is left.
 */
export async function startTracing(version: string): Promise<() => Promise<void>> {
  const { BatchSpanProcessor, NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } =
    await import('@opentelemetry/resources');
  const named = resourceFromAttributes({ 'service.name': 'trivium', 'service.version': version });
  const resource = defaultResource()
    .merge(named)
    .merge(detectResources({ detectors: [envDetector] }));
  const provider = new NodeTracerProvider({
    resource,
    idGenerator: createIdSource(),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  // Contexts are passed on explicitly: following them through every promise would cost each operation.
  provider.register({ contextManager: null });
  enableTracing();
  return () => provider.shutdown();
}
