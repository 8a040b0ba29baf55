import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace-node';
import { context } from '@opentelemetry/api';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createIdSource } from '../../../src/lib/telemetry/trace-ids.js';
import { createRatio } from '../../../src/lib/telemetry/trace-ratio.js';

const traceIds = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .filter((bytes) => bytes.some((byte) => byte !== 0))
  .map((bytes) => Buffer.from(bytes).toString('hex'));

test('the same traces are sampled as by OpenTelemetry’s own sampler', () => {
  const shares = fc.oneof(fc.constantFrom(0, 0.1, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));
  const property = fc.property(shares, traceIds, (share, traceId) => {
    const { decision } = new TraceIdRatioBasedSampler(share).shouldSample(context.active(), traceId);
    expect(createRatio(share)(traceId)).toBe(decision === SamplingDecision.RECORD_AND_SAMPLED);
  });
  fc.assert(property, { numRuns: 2_000 });
});

test('a share is of all traces, and is within any greater one', () => {
  const isIn = [0, 0.1, 0.4, 1].map(createRatio);
  const counts = isIn.map(() => 0);
  const ids = createIdSource();
  for (let made = 0; made < 10_000; made += 1) {
    const traceId = ids.generateTraceId();
    const sampled = isIn.map((isSampled) => isSampled(traceId));
    expect(sampled).toEqual(sampled.toSorted((a, b) => Number(a) - Number(b)));
    for (const [at, is] of sampled.entries()) counts[at]! += Number(is);
  }
  expect(counts[0]).toBe(0);
  expect(counts[1]).toBeGreaterThan(500);
  expect(counts[2]).toBeGreaterThan(counts[1]!);
});

test('a trace gets the id that was drawn for it, and the next one another', () => {
  const ids = createIdSource();
  ids.drawTraceId();
  const drawn = ids.drawTraceId();
  expect(ids.generateSpanId()).toHaveLength(16);
  const made = [ids.generateTraceId(), ids.generateTraceId()];
  expect(made).toEqual([drawn, expect.stringMatching(/^[0-9a-f]{32}$/)]);
  expect(made[1]).not.toBe(drawn);
});
