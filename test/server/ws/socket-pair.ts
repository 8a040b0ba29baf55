import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { MemoryLedger } from '../../../src/lib/memory/memory-ledger.js';
import { createTelemetry } from '../../../src/lib/telemetry/telemetry.js';
import { chargeWaiting } from '../../../src/server/ws/socket/backpressure.js';

/**
 * Both ends of a websocket whose client is paused at first. What waits for it is charged to a ledger with room for so
 * many bytes of heap and of buffers.
 */
export async function openPair(heap: number, buffers: number) {
  const server = new WebSocketServer({ port: 0 });
  onTestFinished(() => server.close());
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [socket, { socket: stream }] = (await once(server, 'connection')) as [WebSocket, { socket: Socket }];
  onTestFinished(() => socket.terminate());
  await once(client, 'open');
  client.pause();
  const ledger = new MemoryLedger(createTelemetry('silent'), { heap, buffers });
  chargeWaiting(socket, ledger.open('user', 'leaving'));
  return { socket, stream, client };
}
