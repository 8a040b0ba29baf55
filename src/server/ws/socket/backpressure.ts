import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** The close code for a client too slow to keep up; it can resume. */
const tooSlow = 4290;
/** Bytes that may wait for a socket when a live update is to be sent to it. */
const maxWaitingBytes = 1024 * 1024;
/** The same while answers are under way: two of the longest possible, if those are ASCII. */
const maxAnswerBytes = 64 * 1024 * 1024;

/**
 * Whether a live update may be sent to this socket. One that does not keep up is closed with `4290`; one that is paused
 * has an answer under way, behind which updates may wait.
 */
export function canSendUpdate(socket: WebSocket): boolean {
  return hasRoom(socket, socket.isPaused ? maxAnswerBytes : maxWaitingBytes);
}

/**
 * Sends an answer. If much waits then, nothing more is read from the client until all that waits is written, so that it
 * cannot ask faster than it receives. Only what it began before may still pile up; if that is too much, the socket is
 * closed with `4290`. Resolves once the text is written, or its client has gone.
 */
export function sendAnswer(socket: WebSocket, stream: Socket, text: string): Promise<void> {
  if (!hasRoom(socket, maxAnswerBytes)) return Promise.resolve();
  return new Promise((resolve) => {
    socket.send(text, () => resolve());
    if (socket.isPaused || socket.bufferedAmount <= maxWaitingBytes) return;
    socket.pause();
    stream.once('drain', () => socket.resume());
  });
}

function hasRoom(socket: WebSocket, most: number): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  if (socket.bufferedAmount <= most) return true;
  socket.close(tooSlow, 'Too slow: resume from the last cursor');
  return false;
}
