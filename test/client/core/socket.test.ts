import { expect, onTestFinished, test, vi } from 'vitest';
import { createSocket } from '../../../src/client/core/socket.js';
import type { Sink } from '../../../src/client/core/transport.js';

/** What is used of a socket besides its states, which are those of every class of sockets. */
class Socket extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readonly readyState = 1;
  onopen?: () => void;
  onmessage?: (event: { readonly data: string }) => void;
  onclose?: (event: { readonly code: number; readonly reason: string }) => void;

  constructor() {
    super();
    queueMicrotask(() => this.onopen?.());
  }

  send(text: string): void {
    const { type, id } = JSON.parse(text) as { readonly type: string; readonly id?: string };
    if (type === 'connection_init') this.say({ type: 'connection_ack' });
    if (type === 'ping') this.say({ type: 'pong' });
    if (type === 'subscribe') this.subscribed?.(id!);
  }

  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  subscribed?(id: string): void;

  close(): void {}
}

/** Subscribes by sockets of this class. */
function subscribe(webSocketImpl: unknown, onNotOpened = () => {}): void {
  vi.useFakeTimers();
  const transport = createSocket({
    url: 'http://127.0.0.1:4000',
    webSocketImpl,
    token: () => undefined,
    onNotOpened,
  });
  onTestFinished(() => {
    transport.stop();
    vi.useRealTimers();
  });
  const sink: Sink = { next() {}, error: (failure) => expect.unreachable(failure.message), complete() {} };
  transport.subscribe({ query: 'subscription { a }', variables: {} }, sink);
}

test.each([
  ['an update has come', true, 0],
  ['one has lasted', false, 11_000],
])(
  'connects ever more rarely while each connection opens and is closed, and soon again once %s',
  async (_, hasUpdate, lastsMs) => {
    const begun: number[] = [];
    const close = (socket: Socket) => socket.onclose?.({ code: 1013, reason: 'Too much is in progress' });
    let act: (socket: Socket, id: string) => void = close;
    class Closed extends Socket {
      override subscribed(id: string): void {
        begun.push(performance.now());
        act(this, id);
      }
    }
    subscribe(Closed);
    await vi.advanceTimersByTimeAsync(600_000);
    const { length } = begun;
    expect(length).toBeGreaterThan(20);
    expect(length).toBeLessThan(50);
    act = (socket, id) => {
      if (hasUpdate) socket.say({ type: 'next', id, payload: { data: {} } });
      setTimeout(() => close(socket), lastsMs);
    };
    await vi.advanceTimersByTimeAsync(60_000);
    expect(begun[length + 1]! - begun[length]!).toBeLessThanOrEqual(lastsMs + 500);
  },
);

test('a socket that cannot even be made does not open, which is told at once', async () => {
  class Forbidden extends Socket {
    constructor() {
      super();
      throw new DOMException('The operation is insecure.', 'SecurityError');
    }
  }
  const onNotOpened = vi.fn<() => void>();
  subscribe(Forbidden, onNotOpened);
  await vi.advanceTimersByTimeAsync(0);
  expect(onNotOpened).toHaveBeenCalledTimes(1);
});
