import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { createAdmission } from '../../../../src/server/operation/admission.js';
import { Connection } from '../../../../src/server/ws/socket/connection.js';
import { createTelemetry } from '../../../../src/lib/telemetry/telemetry.js';

test('is closed with 4500 if a message cannot be handled, and the log says why', async () => {
  const server = new WebSocketServer({ port: 0 });
  onTestFinished(() => server.close());
  const client = new WebSocket(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [socket, request] = (await once(server, 'connection')) as [WebSocket, IncomingMessage];
  onTestFinished(() => socket.terminate());
  let logged = '';
  const telemetry = createTelemetry('info', { write: (line) => void (logged += line) });
  const options = { telemetry, admission: createAdmission(telemetry), caller: 'network' };
  new Connection(socket, request, options).onMessage(() => Promise.reject(new Error('It failed.')));
  await once(client, 'open');
  client.send('{"type":"ping"}');
  expect((await once(client, 'close'))[0]).toBe(4500);
  expect(logged).toMatch(/a websocket message could not be handled/);
  expect(logged).toMatch(/It failed\./);
});
