import { connect, type Socket } from 'node:net';

/** What is read goes through these bytes, whichever connection it is from: none are set aside for it each time. */
const readBytes = Buffer.allocUnsafeSlow(256 * 1024);

/** Opens a connection. So many of these bytes are what was read; they hold something else once `read` returns. */
export function connectTo(url: string, read: (bytes: Buffer, length: number) => void): Socket {
  const { hostname, port } = new URL(url);
  const onread = {
    buffer: readBytes,
    callback(size: number) {
      read(readBytes, size);
      return true;
    },
  };
  return connect({ host: hostname, port: Number(port), noDelay: true, onread });
}
