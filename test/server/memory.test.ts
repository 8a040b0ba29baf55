import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSchema } from '../support/schema.js';
import { CompiledDocuments } from '../../src/server/operation/compiled-documents.js';
import { OperationRules } from '../../src/server/operation/operation-rules.js';
import { createTelemetry } from '../../src/lib/telemetry/telemetry.js';
import { watchApollo } from '../support/apollo.js';
import { startTestbed, type Testbed } from '../support/testbed.js';
import { heapInUse, mebibyte } from '../support/memory.js';
import { openSocket } from './sockets.js';

/** A document for each number, all of about the same size. */
const documentOf = (at: number, fields = 40) =>
  `query Q${at} { ${Array.from({ length: fields }, (_, field) => `a${at}_${field}: __typename`).join(' ')} }`;

describe('memory in use', () => {
  const seenByApollo = watchApollo();
  let testbed: Testbed;
  beforeAll(async () => {
    testbed = await startTestbed({ settings: { LOG_LEVEL: 'error' } });
  });
  afterAll(() => testbed.stop());

  /** Without `expect`, which keeps references to what it is given. */
  async function ask(query: string): Promise<void> {
    const { data } = await testbed.ask(query);
    if (Object.values(data).some((value) => value !== 'Query'))
      throw new Error(`${query} is answered otherwise.`);
  }

  /** Sends each document so many times: it is compiled at the second. Returns how many answers came from Apollo Server. */
  async function send(from: number, to: number, times = 2): Promise<number> {
    seenByApollo.clear();
    for (let at = from; at < to; at += 10) {
      const documents = Array.from({ length: 10 }, (_, next) => documentOf(at + next));
      for (let time = 0; time < times; time += 1) await Promise.all(documents.map(ask));
    }
    return seenByApollo.size;
  }

  test(
    'does not grow after the first 300 compiled documents, and 550 in all',
    { timeout: 180_000 },
    async () => {
      await send(0, 250, 1);
      expect(await send(250, 550)).toBe(300);
      const before = heapInUse();
      expect(await send(550, 750)).toBe(200);
      const grown = (heapInUse() - before) / mebibyte;
      // oxlint-disable-next-line no-console -- the measured figure
      console.log(`${grown.toFixed(1)} MB more after 750 documents than after 550`);
      expect(grown).toBeLessThan(4);
    },
  );

  test('excludes unknown members of the messages that began active subscriptions', async () => {
    const token = await testbed.signIn();
    const socket = await openSocket(`${testbed.url}/graphql`);
    socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
    await socket.next();
    const answered = async (id: string) => {
      socket.send({ id, type: 'subscribe', payload: { query: '{ __typename }' } });
      for (const type of ['next', 'complete']) expect((await socket.next(id)).type).toBe(type);
    };
    await answered('before');
    const before = heapInUse();
    const much = 'x'.repeat(250_000);
    for (let id = 0; id < 40; id += 1) {
      const payload = { query: 'subscription { shipmentUpdates { cursor } }', extensions: { much }, much };
      socket.send({ id: `${id}`, type: 'subscribe', payload, much });
    }
    await answered('after');
    expect((heapInUse() - before) / mebibyte).toBeLessThan(5);
    socket.close();
  });

  test('does not grow after the first 600 parsed documents', () => {
    const rules = new OperationRules({
      schema: createSchema(),
      introspection: true,
      telemetry: createTelemetry('silent'),
    });
    const prepare = (from: number, to: number) => {
      for (let at = from; at < to; at += 1)
        expect(rules.prepare(documentOf(at))).toMatchObject({ kind: 'Document' });
    };
    prepare(0, 600);
    const before = heapInUse();
    prepare(600, 1_800);
    expect((heapInUse() - before) / mebibyte).toBeLessThan(5);
    expect(rules.prepare(documentOf(1_799))).toBe(rules.prepare(documentOf(1_799)));
  });

  test.each([
    [
      'have many tokens',
      (at: number) => `query ($a: ID!) { n${at}: nodes(ids: [${'$a'.repeat(2_480)}]) { id } }`,
    ],
    ['have long comments', (at: number) => `{ n${at}: __typename } # é${'x'.repeat(500_000)}`],
    ['are refused', (at: number) => `{ n${at}: nodes(ids: "é${'x'.repeat(500_000)}" "${at}") }`],
  ])('stays within bounds for documents that %s', (_, sourceOf) => {
    const schema = createSchema();
    const rules = new OperationRules({ schema, introspection: true, telemetry: createTelemetry('silent') });
    const compiled = new CompiledDocuments(schema, rules.costs);
    const before = heapInUse();
    for (let at = 0; at < 320; at += 1) {
      const prepared = rules.prepare(sourceOf(at));
      if ('kind' in prepared) compiled.admit(sourceOf(at), prepared);
    }
    expect((heapInUse() - before) / mebibyte).toBeLessThan(80);
  });
});
