import {
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@opentelemetry/api';

/**
 * Spans by OpenTelemetry's API; they go nowhere until an SDK is registered (`tracing-sdk.ts`), and then only what is
 * safe to show is in them: never a token, a body, an address or a path with an id.
 */

/** Headers of W3C Trace Context. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Taken only once an SDK is registered: that may be by another copy of the API, of which an earlier tracer hears nothing. */
let tracer: Tracer | undefined;
/** Whether the SDK is to be asked for a trace that begins here. */
let isNextSampled = () => true;

/**
 * Called once an SDK is registered: until then no spans are made, which costs nothing. `drawNext` draws the id that the
 * SDK will give to a trace that begins now, and tells whether it is sampled: the SDK is not asked for those that are not.
 */
export function enableTracing(drawNext = () => true): void {
  tracer = trace.getTracer('trivium');
  isNextSampled = drawNext;
}

/** Work that belongs to a trace: others can be made below it, and services can go on with it. */
export interface TracedWork {
  /** Undefined if the trace is not sampled: then there are no spans. */
  readonly span: Span | undefined;
  /** What spans below are made in, and what services hear; undefined if they have nothing to go on with. */
  readonly context: Context | undefined;
}

/** Most operations are like this: nothing is made for them, and services decide by themselves what they sample. */
const unsampled: TracedWork = { span: undefined, context: undefined };

/**
 * Begins work that came with these headers, and goes on with their trace if they have one. Undefined while tracing is
 * off. `startedAt` is in the time of `performance.now()`.
 */
export function traceArrival(
  name: string,
  headers: Headers | undefined,
  startedAt = performance.now(),
): TracedWork | undefined {
  if (!tracer) return undefined;
  const parent = headers?.['traceparent'] ? propagation.extract(ROOT_CONTEXT, headers) : ROOT_CONTEXT;
  return begin(tracer, name, { kind: SpanKind.SERVER, startTime: startedAt }, parent);
}

/**
 * Begins a call to a service, below its operation; undefined while tracing is off. A call of an operation that is not
 * sampled has no span: of a trace that came with the operation, the service hears that it is not sampled.
 */
export function traceCall(
  upstream: string,
  method: string,
  above: TracedWork | undefined,
): TracedWork | undefined {
  if (!tracer || (above && !above.span)) return above;
  const options = { kind: SpanKind.CLIENT, startTime: performance.now() };
  const work = begin(tracer, `${method} ${upstream}`, options, above?.context ?? ROOT_CONTEXT);
  work.span?.setAttribute('trivium.upstream', upstream).setAttribute('http.request.method', method);
  return work;
}

function begin(by: Tracer, name: string, options: SpanOptions, parent: Context): TracedWork {
  if (parent === ROOT_CONTEXT && !isNextSampled()) return unsampled;
  const span = by.startSpan(name, options, parent);
  if (span.isRecording()) return { span, context: trace.setSpan(parent, span) };
  return parent === ROOT_CONTEXT ? unsampled : { span: undefined, context: trace.setSpan(parent, span) };
}

/** Adds the headers that have a service go on with the trace of this work. */
export function sendTrace({ context }: TracedWork, headers: Record<string, string>): void {
  if (context) propagation.inject(context, headers);
}

/** Ends work's span, if it has one. All times are of one clock: a span without would end by another than it began. */
export function endSpan(span: Span | undefined): void {
  span?.end(performance.now());
}

/** Deliveries that wait to be stored, and are sampled. */
const deliveries = new WeakMap<object, TracedWork>();

/** Has the commit that stores this delivery linked to the delivery's span. */
export function traceDelivery(delivery: object, work: TracedWork | undefined): void {
  if (work?.span) deliveries.set(delivery, work);
}

/**
 * Begins a span for a commit of these deliveries, to which theirs are linked; undefined if none is sampled. It is in the
 * trace of the first that is: in one of its own it would be sampled, or not, apart from them.
 */
export function traceCommit(batch: readonly object[]): Span | undefined {
  if (!tracer) return undefined;
  const sampled = batch.flatMap((delivery) => deliveries.get(delivery) ?? []);
  if (sampled.length === 0) return undefined;
  const attributes = { 'trivium.deliveries': batch.length };
  const { span } = begin(
    tracer,
    'commit',
    { attributes, startTime: performance.now() },
    sampled[0]!.context!,
  );
  const link = span && { context: span.spanContext() };
  if (link) for (const delivery of sampled) delivery.span?.addLink(link);
  return span;
}

/** Marks a span as failed, for a reason that is safe to show. */
export function failSpan(span: Span | undefined, reason: string): void {
  span?.setStatus({ code: SpanStatusCode.ERROR, message: reason });
}
