import { connect } from 'node:net';
import { onTestFinished } from 'vitest';

/** A connection without an HTTP client, for the duration of a test, and the text that it has received. */
export function openConnection(port: number | string) {
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (bytes) => (received += String(bytes)));
  return { socket, received: () => received };
}
