import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from './random.js';

/** A TCP proxy to a server that comes and goes: it delays data, and its connections can be cut. */
export interface TcpProxy {
  readonly port: number;
  /** The port of the server; while undefined, connections are closed at once. */
  target: number | undefined;
  /** Cuts each connection with this probability; returns how many. */
  cut(probability: number): number;
  stop(): void;
}

/** How often data is delayed, and for how long at most. */
export interface Delays {
  readonly probability: number;
  readonly maxMs: number;
}

/** Opens a proxy on a free port. */
export async function openTcpProxy(random: Random, delays: Delays): Promise<TcpProxy> {
  const open = new Set<Socket>();

  function pass(from: Socket, to: Socket): void {
    from.on('error', () => undefined).on('close', () => to.destroy());
    from.on('data', (bytes) => {
      if (to.destroyed) return;
      const isFull = !to.write(bytes);
      const holdMs = random.chance(delays.probability) ? random.between(0, delays.maxMs) : 0;
      if (!isFull && holdMs === 0) return;
      from.pause();
      const drained = isFull && new Promise((resolve) => to.once('drain', resolve).once('close', resolve));
      void Promise.all([sleep(holdMs), drained]).then(() => from.resume());
    });
  }

  const server = createServer((near) => {
    if (proxy.target === undefined) {
      near.destroy();
      return;
    }
    const far = connect(proxy.target, '127.0.0.1');
    open.add(near.once('close', () => open.delete(near)));
    pass(near, far);
    pass(far, near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    target: undefined,
    cut(probability) {
      const chosen = [...open].filter(() => random.chance(probability));
      for (const socket of chosen) socket.destroy();
      return chosen.length;
    },
    stop() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
  return proxy;
}
