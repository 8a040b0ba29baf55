import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Holding } from '../../../lib/memory/memory-ledger.js';
import { pauseReading } from './pauses.js';

/** The close code for a client too slow to keep up; it can resume. */
const tooSlow = 4290;
/** Bytes that may wait for a socket when a live update is to be sent to it. */
export const maxWaitingBytes = 1024 * 1024;
/** What may wait without being charged: the connection is charged for it. */
const littleWaiting = 16 * 1024;
/** What the frames of short messages take in the heap, in proportion to their bytes; long ones are few. */
const heapOfFrames = 4;
/** What an answer takes besides until it is written, measured: it may be as short as a pong. */
const heapOfAnswer = 1_600;

/** What waits for a socket: where it is charged, and how many answers are in it. */
interface Leaving {
  readonly holding: Holding;
  answers: number;
}

const leaving = new WeakMap<WebSocket, Leaving>();
/** Sockets from which nothing is read until an answer is written. */
const answering = new WeakSet<WebSocket>();

/** Has what waits for a socket charged to this holding. Without, only its length is bounded. */
export function chargeWaiting(socket: WebSocket, holding: Holding): void {
  leaving.set(socket, { holding, answers: 0 });
}

/**
 * Whether a live update may be sent to this socket. One that does not keep up, or has no room in the ledger, is closed
 * with `4290`; behind a long answer that is under way updates may wait.
 */
export function canSendUpdate(socket: WebSocket): boolean {
  if (socket.readyState !== socket.OPEN) return false;
  const isLate = !answering.has(socket) && socket.bufferedAmount > maxWaitingBytes;
  return !isLate && hold(socket) ? true : tooLate(socket);
}

const writing = new WeakMap<WebSocket, Promise<void>>();

/** A promise if much waits for the socket: of what is written, or of its end. One for all who ask meanwhile. */
export function untilWritten(socket: WebSocket, stream: Socket): Promise<void> | undefined {
  if (socket.readyState !== socket.OPEN || socket.bufferedAmount <= maxWaitingBytes) return undefined;
  const known = writing.get(socket);
  if (known) return known;
  const written = new Promise<void>((resolve) => {
    const end = () => {
      stream.off('drain', end).off('close', end);
      writing.delete(socket);
      resolve();
    };
    stream.on('drain', end).on('close', end);
  });
  writing.set(socket, written);
  return written;
}

/**
 * Sends an answer. If much waits then, nothing more is read from the client until all that waits is written, so that it
 * cannot ask faster than it receives. What it began before may still pile up, for as long as there is room for it in the
 * ledger; then the socket is closed with `4290`. Resolves once the frames, which are one message, are written, or its
 * client has gone.
 */
export function sendAnswer(
  socket: WebSocket,
  stream: Socket,
  ...frames: readonly (string | Buffer)[]
): Promise<void> {
  if (socket.readyState !== socket.OPEN) return Promise.resolve();
  countAnswer(socket, 1);
  if (
    !hold(
      socket,
      frames.reduce((sum, { length }) => sum + length, 0),
    )
  ) {
    countAnswer(socket, -1);
    tooLate(socket);
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    for (const frame of frames.slice(0, -1)) socket.send(frame, { binary: false, fin: false });
    socket.send(frames.at(-1)!, { binary: false }, () => {
      countAnswer(socket, -1);
      if (socket.readyState !== socket.CLOSED) hold(socket);
      resolve();
    });
    if (answering.has(socket) || socket.bufferedAmount <= maxWaitingBytes) return;
    answering.add(socket);
    const readOn = pauseReading(socket);
    stream.once('drain', () => {
      answering.delete(socket);
      readOn();
    });
  });
}

function countAnswer(socket: WebSocket, more: number): void {
  const waiting = leaving.get(socket);
  if (waiting) waiting.answers += more;
}

/** Charges what waits for the socket, and so much more; false if there is no room for it. */
export function hold(socket: WebSocket, more = 0): boolean {
  const waiting = leaving.get(socket);
  if (!waiting) return true;
  const { holding, answers } = waiting;
  const bytes = socket.bufferedAmount + more;
  const heap = Math.max(heapOfFrames * Math.min(bytes, maxWaitingBytes), bytes) + heapOfAnswer * answers;
  if (heap > heapOfFrames * littleWaiting) return holding.resize(heap, bytes);
  holding.release();
  return true;
}

/** Closes a socket for what waits for it. */
export function tooLate(socket: WebSocket): false {
  socket.close(tooSlow, 'Too slow: resume from the last cursor');
  return false;
}
