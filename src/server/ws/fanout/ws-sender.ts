import type { WebSocket } from 'ws';

/** Sends `next` messages, with the operation's id last, so that sockets can share the bytes before it. */
export interface Messenger {
  /**
   * Sends a message for each payload, in order, after all that was sent on this socket before. A socket that is not
   * open gets nothing, and `done` is called with an error. Consecutive calls with the same array share its bytes.
   */
  send(socket: WebSocket, operationId: string, payloads: Payloads, done?: Done): void;
}

/** JSON texts. */
export type Payloads = readonly string[];
/** Called when all is written, or why it is not. */
export type Done = (error?: Error | null) => void;

/** A `next` message up to the operation's id: that, as JSON, and a `}` are to follow. */
export function beginMessage(payload: string): string {
  return `{"type":"next","payload":${payload},"id":`;
}

/** Sends through `ws` itself. */
export const plainMessenger: Messenger = {
  send(socket, operationId, payloads, done) {
    const end = `${JSON.stringify(operationId)}}`;
    for (const [at, payload] of payloads.entries())
      socket.send(`${beginMessage(payload)}${end}`, at === payloads.length - 1 ? done : undefined);
  },
};
