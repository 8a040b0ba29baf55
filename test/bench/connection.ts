import { connect, type Socket } from 'node:net';

/** All connections read into this buffer, so that none is allocated for each read. */
const readBytes = Buffer.allocUnsafeSlow(256 * 1024);

/** Opens a connection; `read` gets a buffer whose first `length` bytes were read; it is reused once `read` returns. */
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
