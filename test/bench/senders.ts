import { open } from './load.js';

/** Keep-alive connections that send deliveries, one at a time each. */
export interface Senders {
  /** Waits for a free connection, and sends; resolves when the answer is 200, rejects if it is not. */
  send(delivery: Buffer): Promise<void>;
  stop(): void;
}

/** Opens so many connections. */
export async function openSenders(url: string, count: number): Promise<Senders> {
  const waiting: ((sender: Sender) => void)[] = [];
  const release = (sender: Sender) => {
    const next = waiting.shift();
    if (next) next(sender);
    else free.push(sender);
  };
  const free = await Promise.all(Array.from({ length: count }, () => openSender(url)));
  const all = [...free];
  return {
    async send(delivery) {
      const sender = free.pop() ?? (await new Promise<Sender>((resolve) => waiting.push(resolve)));
      try {
        await sender.send(delivery);
      } finally {
        release(sender);
      }
    },
    stop() {
      for (const sender of all) sender.stop();
    },
  };
}

type Sender = Awaited<ReturnType<typeof openSender>>;

/** A server may close a connection that was idle for so long. */
const restMs = 2_000;

async function openSender(url: string) {
  let settle: { resolve(): void; reject(error: Error): void } | undefined;
  let used = performance.now();
  let socket = await connect();

  async function connect() {
    const opened = await open(url, ({ status, body }) => {
      if (status === 200) settle?.resolve();
      else settle?.reject(new Error(`A delivery was answered ${status}: ${body.toString()}`));
    });
    opened.on('close', () => {
      if (opened === socket) settle?.reject(new Error('The server closed a connection.'));
    });
    return opened;
  }

  async function reconnect() {
    const old = socket;
    socket = await connect();
    old.destroy();
  }

  return {
    async send(delivery: Buffer): Promise<void> {
      if (performance.now() - used > restMs) await reconnect();
      await new Promise<void>((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(delivery);
      });
      used = performance.now();
    },
    stop: () => socket.destroy(),
  };
}
