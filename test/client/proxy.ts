import net from 'node:net';
import type { AddressInfo } from 'node:net';

/** A TCP proxy that records everything, and whose connections can be cut. */
export interface Proxy {
  readonly url: string;
  /** All bytes that the server has sent, connection by connection. */
  heard(): Buffer;
  /** All bytes that clients have sent, connection by connection. */
  said(): Buffer;
  /** Resets every connection at once, in the middle of whatever is sent; returns how many there were. */
  cut(): number;
  /** Stops forwarding on the current connections, without closing them. */
  mute(): void;
  /** While it is shut, new connections are closed at once. */
  shut(isShut: boolean): void;
  /** How many connections it has closed because it was shut. */
  refused(): number;
  /** Connects further clients to the server at this URL. */
  redirectTo(server: string): void;
  stop(): Promise<void>;
}

/** Opens a proxy to the server at this URL, on a port of its own. */
export async function openProxy(server: string): Promise<Proxy> {
  const connections = new Set<net.Socket>();
  const heard: Buffer[][] = [];
  const said: Buffer[][] = [];
  let closed = false;
  let refused = 0;
  let target = server;

  const listener = net.createServer((near) => {
    if (closed) {
      refused += 1;
      near.destroy();
      return;
    }
    const { hostname, port } = new URL(target);
    const far = net.connect(Number(port), hostname);
    record(far, heard);
    record(near, said);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      connections.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        connections.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));

  function cut(): number {
    const count = connections.size / 2;
    for (const connection of connections) connection.resetAndDestroy();
    return count;
  }

  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    heard: () => joined(heard),
    said: () => joined(said),
    cut,
    mute: () => connections.forEach((connection) => connection.unpipe().pause()),
    shut: (isShut) => void (closed = isShut),
    refused: () => refused,
    redirectTo: (to) => void (target = to),
    async stop() {
      cut();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

function record(socket: net.Socket, recordings: Buffer[][]): void {
  const chunks: Buffer[] = [];
  recordings.push(chunks);
  socket.on('data', (chunk) => chunks.push(chunk));
}

function joined(recordings: readonly (readonly Buffer[])[]): Buffer {
  return Buffer.concat(recordings.flatMap((chunks) => [...chunks, Buffer.from('\n')]));
}
