import type { WebSocket } from 'ws';

/** A client too slow to keep up; it can resume. */
const tooSlow = 4290;
/** Bytes that may wait for a socket when more is to be sent. */
const mostWaiting = 1024 * 1024;

/** Whether more may be sent to this socket. One that does not keep up with what it was sent is closed with `4290`. */
export function takesMore(socket: WebSocket): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  if (socket.bufferedAmount <= mostWaiting) return true;
  socket.close(tooSlow, 'Too slow: resume from the last cursor');
  return false;
}
