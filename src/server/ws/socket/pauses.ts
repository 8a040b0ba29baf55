import type { WebSocket } from 'ws';

/** How many want nothing read from a socket, for those of which anybody does. */
const pauses = new WeakMap<WebSocket, number>();

/**
 * Has nothing more read from a socket until the function that it returns is called, once. Whoever else has paused it
 * meanwhile has it stay so: the socket itself counts no pauses, and one `resume` would end them all.
 */
export function pauseReading(socket: WebSocket): () => void {
  const before = pauses.get(socket) ?? 0;
  pauses.set(socket, before + 1);
  if (before === 0) socket.pause();
  return () => {
    const left = pauses.get(socket)! - 1;
    if (left > 0) pauses.set(socket, left);
    else {
      pauses.delete(socket);
      socket.resume();
    }
  };
}
