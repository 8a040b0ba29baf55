import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.js';
import {
  createPaymentsClient,
  type PaymentsClient,
  type PaymentsSettings,
} from '../../../../src/domains/payments/service/client.js';
import { LightAbortController } from '../../../../src/lib/async/abort.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';
import { abortedSignal } from '../../../support/endings.js';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** Longer than any call takes on a busy machine: where it has to pass, timers are faked. */
const timeoutMs = 60_000;
const live = new LightAbortController();
let service: Server;
let connect: (settings?: PaymentsSettings) => PaymentsClient;
let clients: PaymentsClient[];
let seen: Seen[];
let lines: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  seen = [];
  lines = '';
  service = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      const body = Buffer.concat(chunks).toString();
      seen.push({ method, url, authorization: headers.authorization, body });
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}/api`;
  const telemetry = createTelemetry('info', { write: (line: string) => void (lines += line) });
  clients = [];
  connect = (settings) => {
    const client = createPaymentsClient({ baseUrl, telemetry, clock: systemClock, timeoutMs, ...settings });
    clients.push(client);
    return client;
  };
});

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(clients.map((client) => client.stop()));
  service.closeAllConnections();
  await new Promise((resolve) => service.close(resolve));
});

function answerWith(status: number, body?: unknown) {
  answer = (_, response) => response.writeHead(status).end(body === undefined ? '' : JSON.stringify(body));
}

function rotate(endpointId = 'pe_1', settings: PaymentsSettings = {}, signal = live) {
  return connect(settings).rotateSecret(endpointId, 'usr_1', signal);
}

test('posts to the endpoint, with its id encoded and without a body', async () => {
  answerWith(200, { secret: 's' });
  await rotate('pe/1 ü?');
  expect(seen).toEqual([
    {
      method: 'POST',
      url: '/api/webhooks/pe%2F1%20%C3%BC%3F/rotate-secret',
      authorization: undefined,
      body: '',
    },
  ]);
});

test.each([400, 411, 415, 422])(
  'sends the request once more, with an empty object, after %d',
  async (status) => {
    answer = ({ headers }, response) => {
      const wanted = headers['content-type'] === 'application/json';
      response.writeHead(wanted ? 200 : status).end('{"secret":"new"}');
    };
    expect(await rotate('pe_1', { apiToken: 'api-token' })).toBe('new');
    expect(seen.map(({ body }) => body)).toEqual(['', '{}']);
    expect(seen[1]).toMatchObject({ method: 'POST', url: seen[0]!.url, authorization: 'Bearer api-token' });
    expect(lines).toBe('');
  },
);

test.each([
  [401, 1],
  [403, 1],
  [404, 1],
  [409, 1],
  [400, 2],
  [500, 1],
])('gives up on %d after %d request(s)', async (status, times) => {
  answerWith(status);
  await rotate().catch(() => undefined);
  expect(seen).toHaveLength(times);
});

test('sends the API token if one is configured', async () => {
  answerWith(200, { secret: 's' });
  await rotate('pe_1', { apiToken: 'api-token' });
  expect(seen[0]!.authorization).toBe('Bearer api-token');
});

describe('the new secret', () => {
  test.each([
    [{ secret: 'new' }],
    [{ signing_secret: 'new' }],
    [{ new_secret: 'new' }],
    [{ new_secret: 'third', signing_secret: 'second', secret: 'new' }],
    [{ secret: null, signing_secret: '', new_secret: 'new' }],
    [{ data: { signing_secret: 'new' } }],
    [{ id: 'x', data: { secret: 'below' }, new_secret: 'new' }],
    [{ webhook: { id: 'x', secret: 'new' }, previous: { id: 'y' } }],
  ])('is found in %j', async (body) => {
    answerWith(201, body);
    expect(await rotate()).toBe('new');
  });

  test('is taken from the configured field only', async () => {
    answerWith(200, { secret: 'other', key: 'new' });
    expect(await rotate('pe_1', { rotatedSecretField: 'key' })).toBe('new');
    answerWith(200, { secret: 'other', data: { key: 'new' } });
    expect(await rotate('pe_1', { rotatedSecretField: 'key' })).toBe('new');
    answerWith(200, { secret: 'other' });
    await expect(rotate('pe_1', { rotatedSecretField: 'key' })).rejects.toMatchObject({
      code: 'UPSTREAM_INVALID_RESPONSE',
    });
  });

  test('is found at the end of a configured path', async () => {
    answerWith(200, { endpoint: { keys: { current: 'new', previous: 'old' } }, secret: 'other' });
    expect(await rotate('pe_1', { rotatedSecretField: 'endpoint.keys.current' })).toBe('new');
  });

  const two = { previous: { secret: 'old' }, current: { secret: 'new' } };
  test.each([undefined, {}, [], 'secret', { secret: 7 }, { secret: '' }, { data: null }, two])(
    'is missing in %j, and the error says which setting to correct',
    async (body) => {
      answerWith(200, body);
      await expect(rotate()).rejects.toMatchObject({
        code: 'UPSTREAM_INVALID_RESPONSE',
        message: expect.stringContaining('Set PAYMENTS_ROTATED_SECRET_FIELD to the field'),
      });
    },
  );

  test('is missing in an answer, which is logged without its content', async () => {
    answerWith(200, { secrets: ['telltale'] });
    await expect(rotate()).rejects.toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
    const route = '/api/webhooks/pe_1/rotate-secret';
    expect(JSON.parse(lines)).toMatchObject({
      level: 40,
      upstream: 'payments',
      method: 'POST',
      route,
      reason: 'misshapen',
      status: 200,
    });
    expect(lines).not.toContain('telltale');
  });
});

describe('failures', () => {
  test('names the missing setting if no address is configured', async () => {
    const client = connect({ baseUrl: undefined });
    await expect(client.rotateSecret('pe_1', 'usr_1', live)).rejects.toMatchObject({
      code: 'UPSTREAM_UNAVAILABLE',
      message: expect.stringContaining('PAYMENTS_BASE_URL'),
    });
  });

  test('returns a 404 as a refusal, and logs which setting may be wrong', async () => {
    answerWith(404, { error: 'telltale' });
    expect(await rotate()).toEqual({ refused: 404 });
    const msg = expect.stringContaining('PAYMENTS_BASE_URL');
    expect(JSON.parse(lines)).toMatchObject({ level: 40, endpointId: 'pe_1', msg });
    expect(lines).not.toContain('telltale');
  });

  test.each([
    [401, 'UPSTREAM_UNAVAILABLE'],
    [403, 'UPSTREAM_UNAVAILABLE'],
    [400, 'UPSTREAM_INVALID_RESPONSE'],
    [409, 'UPSTREAM_INVALID_RESPONSE'],
    [423, 'UPSTREAM_UNAVAILABLE'],
    [429, 'RATE_LIMITED'],
  ])('turns %d into %s, and shows nothing of the answer', async (status, code) => {
    answerWith(status, { error: 'telltale', secret: 'telltale' });
    const failure = rotate();
    await expect(failure).rejects.toMatchObject({ code });
    await expect(failure).rejects.not.toMatchObject({
      message: expect.stringMatching(/telltale|rotate it again/),
    });
    expect(lines).not.toContain('telltale');
  });

  test.each([
    [401, 'locked'],
    [400, 'misshapen'],
  ])('logs an answer of %d', async (status, reason) => {
    answerWith(status, { error: 'telltale' });
    await expect(rotate()).rejects.toMatchObject({ reason });
    expect(JSON.parse(lines)).toMatchObject({ level: 40, upstream: 'payments', reason, status });
  });

  test('says to rotate again, without a retry, if the rotation may have happened', async () => {
    const again = expect.stringContaining('rotate it again');
    answerWith(500);
    await expect(rotate()).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', message: again });
    answer = (request) => request.socket.destroy();
    await expect(rotate()).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE', message: again });
    answer = (_, response) => response.writeHead(503, { 'retry-after': '120' }).end();
    const later = { code: 'UPSTREAM_UNAVAILABLE', retryAfter: 120 };
    await expect(rotate()).rejects.toMatchObject({ extensions: later, message: again });
    answer = () => undefined;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const late = rotate().catch((error: unknown) => error);
    await expect.poll(() => seen).toHaveLength(4);
    await vi.advanceTimersByTimeAsync(timeoutMs);
    expect(await late).toMatchObject({ code: 'UPSTREAM_TIMEOUT', message: again });
    expect(seen).toHaveLength(4);
  });

  test('rotates nothing for an operation that has ended, but finishes a rotation in progress', async () => {
    answerWith(200, { secret: 'new' });
    await expect(rotate('pe_1', {}, abortedSignal())).rejects.toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
    expect(seen).toEqual([]);
    const operation = new LightAbortController();
    answer = (_, response) => {
      operation.abort();
      setTimeout(() => response.end('{"secret":"new"}'), 20);
    };
    expect(await rotate('pe_1', {}, operation)).toBe('new');
  });
});
