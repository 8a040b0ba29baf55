import { createMetrics, type Metrics } from './metrics.js';
import { readableLine } from './readable-lines.js';
import { destination as openOutput, pino, type DestinationStream, type Logger } from 'pino';

/** What the process tells its operator. */
export interface Telemetry {
  readonly log: Logger;
  readonly metrics: Metrics;
}

const maxDepth = 6;
/** How many of the errors that an `AggregateError` holds are logged. */
const maxAggregated = 4;
const sensitiveNames = /authorization|cookie|password|secret|token|signature/i;

/** A copy in which every member with a sensitive name is redacted, however deep it is nested. */
function scrub(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth > maxDepth) return '[deep]';
  if (Array.isArray(value)) return value.map((item) => scrub(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      sensitiveNames.test(name) ? '[hidden]' : scrub(member, depth + 1),
    ]),
  );
}

const stackQuietMs = 60_000;
const maxStacks = 500;

/** Tells of a stack whether it is due: each cause is shown where it arose once a minute, however often it recurs. */
function createStackGate(): (stack: string) => boolean {
  const shown = new Map<string, number>();
  return (stack) => {
    const frames = /^ {4}at .*$/m.exec(stack);
    const cause = `${stack.slice(0, stack.search(/[:\n]/))}\n${frames ? stack.slice(frames.index) : stack}`;
    const now = performance.now();
    if (now - (shown.get(cause) ?? -Infinity) < stackQuietMs) return false;
    if (shown.size >= maxStacks) shown.clear();
    shown.set(cause, now);
    return true;
  };
}

/** An error with its causes and aggregated errors, to a limited depth; `above` are the errors that contain it. */
function describeError(
  error: unknown,
  isDue: (stack: string) => boolean,
  above: readonly unknown[] = [],
): unknown {
  if (!(error instanceof Error)) return scrub(error, above.length);
  if (above.includes(error)) return '[again]';
  if (above.length > maxDepth) return '[deep]';
  const { name, message, stack, cause } = error;
  const { code, errors } = error as { readonly code?: unknown; readonly errors?: unknown };
  const describe = (part: unknown) => describeError(part, isDue, [...above, error]);
  return {
    name,
    message,
    ...(stack !== undefined && isDue(stack) && { stack }),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(cause !== undefined && { cause: describe(cause) }),
    ...(Array.isArray(errors) && { errors: errors.slice(0, maxAggregated).map(describe) }),
  };
}

/** How much of the log waits while standard output does not take it; what is beyond that is dropped. */
const maxWaiting = 1024 * 1024;
const retryMs = 1_000;
/** How long the exit waits for a reader that is only late. */
const maxLastMs = 300;

/**
 * Standard output, for as long as it can be written. While it cannot, as on a full disk or with a reader that has
 * stopped, the process does not wait for it, and its end only for a moment.
 */
function standardOutput(): DestinationStream {
  const output = openOutput({
    dest: 1,
    sync: true, // or it would be waited for at exit
    maxLength: maxWaiting,
    retryEAGAIN: () => false,
    minLength: 1, // with 0, nothing is flushed
    periodicFlush: retryMs,
  });
  let isBehind = false;
  output.on('error', () => (isBehind = true));
  process.once('exit', () => {
    const until = performance.now() + maxLastMs;
    do {
      isBehind = false;
      output.flush();
    } while (isBehind && performance.now() < until);
  });
  const isRead = process.stdout.isTTY;
  // Not `output` itself: pino would flush the whole before it goes on.
  return { write: (line) => void output.write(isRead ? readableLine(line) : line) };
}

// Those of ASCII are escaped by JSON itself.
const controls = /[\u007f-\u009f\u2028\u2029]/g;

/** A line of JSON whose control characters cannot reach a terminal: there, C1 ones begin commands, too. */
function withoutControls(line: string): string {
  return line.replace(controls, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Opened when it is first needed, and once: it stays until the process exits. */
let sharedOutput: DestinationStream | undefined;

/** Telemetry that logs JSON lines, on a terminal readable ones, from `level` on; no value under a sensitive name is ever written. */
export function createTelemetry(level: string, destination = (sharedOutput ??= standardOutput())): Telemetry {
  const isDue = createStackGate();
  const options = {
    level,
    base: null,
    serializers: { err: (error: unknown) => describeError(error, isDue) },
    formatters: { log: scrubbed },
  };
  const output = { write: (line: string) => destination.write(withoutControls(line)) };
  return { log: pino(options, output), metrics: createMetrics() };
}

function scrubbed({ err, ...record }: Record<string, unknown>): Record<string, unknown> {
  return { ...(scrub(record) as Record<string, unknown>), ...(err === undefined ? {} : { err }) };
}
