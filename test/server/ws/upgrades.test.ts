import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { GraphqlSockets } from '../../../src/server/ws/websocket-server.js';

test('upgrades that come together are begun a few in each turn of the event loop, lanes in turn', async () => {
  const server = new EventEmitter();
  let begun = 0;
  let most = 0;
  const shutdown = {
    get begun() {
      begun += 1;
      for (const until = performance.now() + 3; performance.now() < until;);
      return true;
    },
  };
  const laneOf = ({ url }: { readonly url: string }) => url;
  const connections = { reading: { forget: () => undefined } };
  const sockets = new GraphqlSockets({ server, shutdown, laneOf, connections } as never);
  onTestFinished(() => sockets.stop());
  const upgrade = (url: string) => {
    const socket = new PassThrough().resume();
    server.emit('upgrade', { url, headers: {}, socket }, socket, Buffer.alloc(0));
    return socket;
  };
  for (let at = 0; at < 60; at += 1) upgrade('/');
  let before = Infinity;
  upgrade('/another').once('finish', () => (before = begun));
  while (begun < 61) {
    const already = begun;
    await turn();
    most = Math.max(most, begun - already);
  }
  expect(most).toBeLessThan(10);
  expect(before).toBeLessThan(15);
});
