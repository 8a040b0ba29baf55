import { text } from 'node:stream/consumers';
import { WebSocket, type ClientOptions } from 'ws';

/** A message of `graphql-transport-ws`. */
export interface Message {
  readonly id?: string;
  readonly type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test states what it expects
  readonly payload?: any;
}

/** A websocket that speaks the protocol without a client library. */
export interface RawSocket {
  send(message: object | string): void;
  /** The next message; with an id, the next one of that operation. */
  next(id?: string): Promise<Message>;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  close(): void;
}

/** Opens a websocket; rejects with `HTTP <status>` and the body if the upgrade is refused. */
export function openSocket(
  url: string,
  options: ClientOptions = {},
  protocols: string | readonly string[] = 'graphql-transport-ws',
): Promise<RawSocket> {
  const socket = new WebSocket(url.replace('http', 'ws'), [protocols].flat(), options);
  const inbox: Message[] = [];
  const readers = new Set<() => void>();
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.on('message', (data) => {
    inbox.push(JSON.parse((data as Buffer).toString()) as Message);
    readers.forEach((look) => look());
  });
  const next = (id?: string) =>
    new Promise<Message>((resolve, reject) => {
      const look = () => {
        const at = inbox.findIndex((message) => id === undefined || message.id === id);
        if (at < 0) return;
        readers.delete(look);
        resolve(inbox.splice(at, 1)[0]!);
      };
      readers.add(look);
      look();
      void closed.then((code) => reject(new Error(`closed with ${code}`)));
    });
  return new Promise((resolve, reject) => {
    socket.once('unexpected-response', (_, response) => {
      text(response).then((body) => reject(new Error(`HTTP ${response.statusCode} ${body}`)), reject);
    });
    socket.on('error', reject);
    socket.once('open', () =>
      resolve({
        send: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
        next,
        closed,
        close: () => socket.close(),
      }),
    );
  });
}
