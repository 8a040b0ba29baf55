import { WebSocket } from 'ws';

/** The operation of a subscriber. */
export interface Asked {
  readonly query: string;
  readonly variables?: object;
  readonly operationName?: string;
}

/** One socket with one subscription, and the updates that it got. */
export interface Subscriber {
  /** The ids of the events in order of arrival; for an error, its payload as JSON. */
  readonly got: string[];
  /** The cursor of the last one. */
  readonly cursor: () => string | undefined;
  /** The code with which the socket was closed. */
  readonly closed: Promise<number>;
  /** Stops reading. */
  pause(): void;
  resume(): void;
  /** Ends the subscription, not the socket. */
  complete(): void;
  close(): void;
  /** Destroys the connection without a closing handshake. */
  terminate(): void;
}

/** The updates of shipments. */
export const shipmentUpdates = `subscription ($after: String, $filter: ShipmentUpdateFilter) {
  updates: shipmentUpdates(after: $after, filter: $filter) { cursor event { eventId } } }`;

/** The updates of payments, with the data that the service sent. */
export const paymentUpdates = `subscription ($after: String) {
  updates: paymentUpdates(after: $after) { cursor event { eventId data } } }`;

interface Message {
  readonly type: string;
  readonly payload: {
    readonly data?: { readonly updates: { readonly cursor: string; readonly event: { eventId: string } } };
  };
}

/** Resolves once the subscription has begun; one that resumes may still be looking up its place. */
export function subscribe(url: string, token: string, asked: Asked): Promise<Subscriber> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  const got: string[] = [];
  let cursor: string | undefined;
  const send = (message: object) => socket.send(JSON.stringify(message));
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  const subscriber: Subscriber = {
    got,
    closed,
    cursor: () => cursor,
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    complete: () => send({ id: '1', type: 'complete' }),
    close: () => socket.close(),
    terminate: () => socket.terminate(),
  };
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    void closed.then((code) => reject(new Error(`closed with ${code}`)));
    socket.once('open', () =>
      send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }),
    );
    socket.on('message', (data: Buffer) => {
      const { type, payload } = JSON.parse(data.toString()) as Message;
      if (type === 'connection_ack') {
        send({ id: '1', type: 'subscribe', payload: asked });
        send({ type: 'ping' });
      } else if (type === 'pong') resolve(subscriber);
      else if (type === 'next' && payload.data) {
        got.push(payload.data.updates.event.eventId);
        ({ cursor } = payload.data.updates);
      } else if (type === 'next' || type === 'error') got.push(JSON.stringify(payload));
    });
  });
}

/** Opens many subscribers, a hundred at a time. */
export async function subscribeMany(count: number, open: (at: number) => Promise<Subscriber>) {
  const subscribers: Subscriber[] = [];
  while (subscribers.length < count) {
    const more = Math.min(100, count - subscribers.length);
    const opening = Array.from({ length: more }, (_, at) => open(subscribers.length + at));
    subscribers.push(...(await Promise.all(opening)));
  }
  return subscribers;
}
