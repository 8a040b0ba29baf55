import type { ExecutionResult } from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { CompiledDocuments } from '../../../src/server/operation/compiled-documents.js';
import { startTestbed, type Testbed } from '../../support/testbed.js';
import { createOperation, createRandom, inOrder, type Operation } from '../random-operations.js';
import { blocksOf } from '../stream/event-stream.js';

const operations = Number(process.env['RUNS'] ?? 150);
const events = 6;

describe('an update', () => {
  let testbed: Testbed;
  let token: string;
  /** The cursors before the first event and after the last. */
  let [begin, end]: [string, string] = ['', ''];
  /** Whether updates may be rendered by compiled code, and how many were without an error. */
  let [mayCompile, rendered] = [true, 0];

  beforeAll(async () => {
    const { ready } = CompiledDocuments.prototype;
    vi.spyOn(CompiledDocuments.prototype, 'ready').mockImplementation(function (
      this: CompiledDocuments,
      source,
    ) {
      const compiled = mayCompile ? ready.call(this, source) : undefined;
      const count = ({ errors }: ExecutionResult) => void (rendered += errors ? 0 : 1);
      const query: CompiledQuery['query'] = (...given) => {
        const result = compiled!.query(...given);
        if (result instanceof Promise) void result.then(count);
        else count(result);
        return result;
      };
      return compiled && { ...compiled, query };
    });
    testbed = await startTestbed({ settings: { LOG_LEVEL: 'error' }, streamBeatMs: 20 });
    token = await testbed.signIn();
    const place = async () => (await testbed.ask('{ liveCursor }', {}, token)).data.liveCursor as string;
    begin = await place();
    for (let at = 0; at < events; at += 1) {
      await testbed.sandbox.webhooks.emitShipment({ shipment: { id: `shp_${at % 3}` } });
      await testbed.sandbox.webhooks.emitPayment({ object: { id: `pay_${at % 2}` } });
    }
    const isRead = new RegExp(`^trivium_log_position ${2 * events}$`, 'm');
    await vi.waitUntil(async () => isRead.test(await (await fetch(`${testbed.url}/metrics`)).text()), 10_000);
    end = await place();
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await testbed.stop();
  });

  /** The texts of all updates of the past, or of the refusal; and how many of them compiled code has rendered. */
  async function replay(operation: Operation) {
    rendered = 0;
    const leaving = new AbortController();
    const response = await fetch(`${testbed.url}/graphql/stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ ...operation, operationName: 'Q' }),
      signal: leaving.signal,
    });
    const texts: string[] = [];
    if (response.status !== 200) texts.push(await response.text());
    else
      for await (const { id, event, data } of blocksOf(response.body!.pipeThrough(new TextDecoderStream()))) {
        if (event === 'next') texts.push(inOrder(data!));
        if (id === end) break;
      }
    leaving.abort();
    return { status: response.status, texts, compiled: rendered };
  }

  test('is rendered by compiled code once the document has been used', async () => {
    const query =
      'subscription Q($after: String) { shipmentUpdates(after: $after) { replayed event { eventId } } }';
    const operation = { query, variables: { after: begin } };
    const first = await replay(operation);
    expect(first).toMatchObject({ compiled: 0, texts: { length: events } });
    await expect.poll(async () => (await replay(operation)).compiled).toBe(events);
    expect((await replay(operation)).texts).toEqual(first.texts);
  });

  test.each([
    ['an alias `__proto__`', '{ __proto__: cursor replayed }', {}],
    [
      'a name that is repeated under a condition',
      '{ cursor @include(if: $off) replayed cursor }',
      { off: false },
    ],
    [
      'more than 1,000 fields',
      `{ ${Array.from({ length: 1_001 }, (_, at) => `a${at}: replayed`).join(' ')} }`,
      {},
    ],
  ])('is left to graphql-js with %s', async (_, selection, variables) => {
    const declared = selection.includes('$off') ? ', $off: Boolean!' : '';
    const query = `subscription Q($after: String${declared}) { shipmentUpdates(after: $after) ${selection} }`;
    for (let time = 0; time < 3; time += 1)
      expect(await replay({ query, variables: { after: begin, ...variables } })).toMatchObject({
        compiled: 0,
        texts: { length: events },
      });
  });

  test('is left to graphql-js for a group whose variable is null in place of its default', async () => {
    const query = `subscription Q($after: String, $count: Int = 1) { shipmentUpdates(after: $after) {
      replayed shipment { events(first: $count) { nodes { eventId } } } } }`;
    await expect
      .poll(async () => (await replay({ query, variables: { after: begin } })).compiled)
      .toBe(events);
    const withNull = await replay({ query, variables: { after: begin, count: null } });
    expect(withNull).toMatchObject({ status: 200, compiled: 0, texts: { length: events } });
  });

  test('has the same bytes as by graphql-js, including errors and nulls', { timeout: 300_000 }, async () => {
    const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31);
    const random = createRandom(seed);
    const counts = { updates: 0, errors: 0, nulls: 0, refused: 0, compiled: 0, withConditions: 0 };
    for (let at = 0; at < operations; at += 1) {
      const operation = createOperation(random, [], begin);
      mayCompile = false;
      const first = await replay(operation);
      mayCompile = true;
      await replay(operation);
      const { compiled, ...answer } = await replay(operation);
      expect(answer, `SEED=${seed}, operation ${at}: ${JSON.stringify(operation)}`).toEqual({
        status: first.status,
        texts: first.texts,
      });
      for (const text of answer.texts) {
        counts.updates += 1;
        if (text.includes('"errors"')) counts.errors += 1;
        if (text.endsWith('"data":null}')) counts.nulls += 1;
      }
      if (first.status !== 200) counts.refused += 1;
      counts.compiled += compiled;
      if (/\b(skip|include)\b/.test(operation.query)) counts.withConditions += compiled;
    }
    // oxlint-disable-next-line no-console -- the seed, with which a run can be repeated
    console.log(`${operations} subscriptions of seed ${seed}: ${JSON.stringify(counts)}`);
    expect(counts.compiled).toBeGreaterThan(operations);
    expect(counts.errors).toBeGreaterThan(operations / 50);
    expect(counts.nulls).toBeGreaterThan(operations / 50);
    expect(counts.withConditions).toBeGreaterThan(operations / 50);
  });
});
