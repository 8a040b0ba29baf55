import {
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type Span,
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

/** Called once an SDK is registered: until then no spans are made, which costs nothing. */
export function enableTracing(): void {
  tracer = trace.getTracer('trivium');
}

/** A span that others can be made below, and that can be sent along. */
export interface TracedWork {
  /** What spans below it are made in. */
  readonly context: Context;
  readonly span: Span;
}

/**
 * Begins a span for work that came with these headers, and goes on with their trace if they have one. Undefined while
 * tracing is off. `startedAt` is in the time of `performance.now()`.
 */
export function traceArrival(
  name: string,
  headers: Headers | undefined,
  startedAt = performance.now(),
): TracedWork | undefined {
  if (!tracer) return undefined;
  const parent = propagation.extract(ROOT_CONTEXT, headers ?? {});
  const options = { kind: SpanKind.SERVER, startTime: performance.timeOrigin + startedAt };
  const span = tracer.startSpan(name, options, parent);
  return { context: trace.setSpan(parent, span), span };
}

/**
 * Begins a span for a call to a service, below that of the operation; undefined while tracing is off. A call of an
 * operation that is not sampled has none of its own: the service hears of the operation's, which says so.
 */
export function traceCall(
  upstream: string,
  method: string,
  parent: Context | undefined,
): TracedWork | undefined {
  if (!tracer) return undefined;
  const context = parent ?? ROOT_CONTEXT;
  const above = trace.getSpan(context);
  if (above && (above.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return { context, span: above };
  const attributes = { 'trivium.upstream': upstream, 'http.request.method': method };
  const span = tracer.startSpan(`${method} ${upstream}`, { kind: SpanKind.CLIENT, attributes }, context);
  return { context: trace.setSpan(context, span), span };
}

/** The headers that have the service go on with the trace. */
export function traceHeaders({ context }: TracedWork): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context, headers);
  return headers;
}

/** The spans of deliveries that wait to be stored. */
const deliveries = new WeakMap<object, Span>();

/** Has the commit that stores this delivery linked to the delivery's span. */
export function traceDelivery(delivery: object, work: TracedWork | undefined): void {
  if (work) deliveries.set(delivery, work.span);
}

/** Begins a span for a commit of these deliveries, to which theirs are linked; undefined while tracing is off. */
export function traceCommit(batch: readonly object[]): Span | undefined {
  if (!tracer) return undefined;
  const attributes = { 'trivium.deliveries': batch.length };
  const span = tracer.startSpan('commit', { kind: SpanKind.INTERNAL, attributes, root: true });
  for (const delivery of batch) deliveries.get(delivery)?.addLink({ context: span.spanContext() });
  return span;
}

/** Marks a span as failed, for a reason that is safe to show. */
export function failSpan(span: Span | undefined, reason: string): void {
  span?.setStatus({ code: SpanStatusCode.ERROR, message: reason });
}
