import { randomBytes } from 'node:crypto';

/** Makes the ids of traces and spans, in lower-case hex. */
interface IdSource {
  /** Draws the id that the trace made next will have, and returns it; drawn again, it is another. */
  drawTraceId(): string;
  generateTraceId(): string;
  generateSpanId(): string;
}

/** How many random bytes are drawn at once: a draw costs far more than an id. */
const drawnAtOnce = 4_096;
/** In digits of hex. */
const traceIdLength = 32;
const spanIdLength = 16;

/** A source of random ids that draws many at once. That one is all zeros, which is no id, is as likely as a collision. */
export function createIdSource(): IdSource {
  let drawn = '';
  let used = 0;
  let next: string | undefined;

  function take(length: number): string {
    if (used + length > drawn.length) {
      drawn = randomBytes(drawnAtOnce).toString('hex');
      used = 0;
    }
    used += length;
    return drawn.slice(used - length, used);
  }

  return {
    drawTraceId: () => (next = take(traceIdLength)),
    generateTraceId() {
      const id = next ?? take(traceIdLength);
      next = undefined;
      return id;
    },
    generateSpanId: () => take(spanIdLength),
  };
}
