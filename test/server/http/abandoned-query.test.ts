import { makeExecutableSchema } from '@graphql-tools/schema';
import { parse } from 'graphql';
import { once } from 'node:events';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Context } from '../../../src/api/context.js';
import { MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { TrustedDocuments } from '../../../src/server/documents/trusted-documents.js';
import { CompiledQueries } from '../../../src/server/http/compiled-queries.js';
import { CompiledDocuments } from '../../../src/server/operation/compiled-documents.js';
import { createAdmission } from '../../../src/server/operation/admission.js';
import { createCosts } from '../../../src/server/operation/cost/operation-cost.js';
import { createOperationMetrics } from '../../../src/server/operation/operation-metrics.js';
import { scrape } from '../../support/metrics.js';

const source = '{ slow }';

test('a compiled query whose client has left ends, even if the usual way refuses it', async () => {
  let fail: (error: Error) => void = () => undefined;
  const slow = () => new Promise((_, reject) => (fail = reject));
  const schema = makeExecutableSchema({
    typeDefs: 'type Query { slow: String }',
    resolvers: { Query: { slow } },
  });
  const telemetry = createTelemetry('silent');
  const costs = createCosts(schema);
  const compiled = new CompiledDocuments(schema, costs);
  const queries = new CompiledQueries({
    compiled,
    costs,
    documents: new TrustedDocuments(telemetry),
    admission: createAdmission(new MemoryLedger(telemetry)),
    operationMetrics: createOperationMetrics(telemetry),
    isOpen: () => true,
    makeContext: () => ({ requestId: 'request' }) as Context,
    chargedTo: () => 'network',
  });
  compiled.admit(source, parse(source));
  const held = () => scrape(telemetry.metrics, 'trivium_memory_held_bytes{kind="inProgress"}');

  let refused = 0;
  const take = queries.before((asked, response) => {
    queries.learn(asked, {});
    refused += 1;
    response.end();
  });
  const responses: ServerResponse[] = [];
  const server = createServer((asked, response) => {
    responses.push(response);
    take(asked, response);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const ask = () => {
    const { port } = server.address() as AddressInfo;
    const body = JSON.stringify({ query: source });
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    return request({ port, path: '/graphql', method: 'POST', headers })
      .on('error', () => undefined)
      .end(body);
  };

  await once(ask(), 'response');
  const leaving = ask();
  await expect.poll(held).toBeGreaterThan(0);
  leaving.destroy();
  await once(responses[1]!, 'close');
  fail(new Error('The client has left.'));
  await expect.poll(() => refused).toBe(2);
  await expect.poll(held).toBe(0);
});
