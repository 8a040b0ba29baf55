import { callbackify } from 'node:util';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-node';
import { SpareThread } from '../async/thread.js';
import { OutageLog } from './outage-log.js';
import type { Telemetry } from './telemetry.js';
import { encodings, protocolOf } from './trace-encoding.js';
import { createIdSource } from './trace-ids.js';
import { createRatio } from './trace-ratio.js';
import type { WrittenSpans } from './trace-sender.js';
import { enableTracing } from './tracing.js';

/** Variables of the process. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Sends spans to an OTLP/HTTP collector, as the `OTEL_…` variables of OpenTelemetry's specification say, which its SDK
 * reads by itself; they have no blanks around them. `sender` is the program of the thread that sends spans. The log says
 * when the collector does not take them. Resolves with a function that sends what is left.
 */
export async function startTracing(
  version: string,
  environment: Environment,
  sender: URL,
  telemetry: Pick<Telemetry, 'log'>,
): Promise<() => Promise<void>> {
  const { BatchSpanProcessor, NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } =
    await import('@opentelemetry/resources');
  const named = resourceFromAttributes({ 'service.name': 'trivium', 'service.version': version });
  const resource = defaultResource()
    .merge(named)
    .merge(detectResources({ detectors: [envDetector] }));
  const ids = createIdSource();
  const provider = new NodeTracerProvider({
    resource,
    idGenerator: ids,
    spanProcessors: [new BatchSpanProcessor(createExporter(sender, environment, telemetry))],
  });
  // Contexts are passed on explicitly: following them through every promise would cost each operation. Of what a client
  // says, services hear its trace only: its baggage may steer them.
  const isApart = environment['OTEL_PROPAGATORS']?.toLowerCase() === 'none';
  provider.register({ contextManager: null, propagator: isApart ? null : new W3CTraceContextPropagator() });
  const isSampled = ratioOf(environment);
  enableTracing(isSampled && (() => isSampled(ids.drawTraceId())));
  return () => provider.shutdown();
}

/** `ExportResultCode` of `@opentelemetry/core`. */
const [succeeded, failed] = [0, 1];

/**
 * Has spans sent by a thread. By `node:http` in this one, all requests would cost more: V8 would discard what it compiled
 * for the streams of a server alone.
 */
function createExporter(
  sender: URL,
  environment: Environment,
  telemetry: Pick<Telemetry, 'log'>,
): SpanExporter {
  const protocol = protocolOf(environment);
  const { serializer } = encodings[protocol];
  const thread = new SpareThread(sender, 'trace sender');
  const outage = new OutageLog(telemetry, {
    up: 'the collector takes traces',
    down: 'traces cannot be sent to the collector, and are lost',
  });
  const send = callbackify((spans: ReadableSpan[]) => {
    const written: WrittenSpans = { protocol, bytes: serializer.serializeRequest(spans)! };
    return thread.ask(written);
  });
  return {
    export: (spans, done) =>
      send(spans, (error) => {
        if (error) outage.down(error);
        else outage.up();
        done(error ? { code: failed, error } : { code: succeeded });
      }),
    shutdown: () => thread.stop(),
  };
}

/** Tells of a trace's id whether it is sampled, if the environment names a sampler by ratio, and a valid ratio. */
function ratioOf({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: given = '' }: Environment) {
  const share = given === '' ? Number.NaN : Number(given);
  const isValid = share >= 0 && share <= 1;
  const isByRatio = name === 'traceidratio' || name === 'parentbased_traceidratio';
  return isValid && isByRatio ? createRatio(share) : undefined;
}
