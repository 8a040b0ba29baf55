import { createAnswerReader } from './http-answers.js';
import { open } from './load.js';

/** Kept connections over which deliveries are sent, each with one at a time. */
export interface Senders {
  /** Resolves once it was answered; rejects where the answer is not 200. Waits for a free connection. */
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

async function openSender(url: string) {
  const socket = await open(url);
  let settle: { resolve(): void; reject(error: Error): void } | undefined;
  const read = createAnswerReader(({ status, body }) => {
    if (status === 200) settle?.resolve();
    else settle?.reject(new Error(`A delivery was answered ${status}: ${body.toString()}`));
  });
  socket.on('data', read).on('close', () => settle?.reject(new Error('The server closed a connection.')));
  return {
    send: (delivery: Buffer) =>
      new Promise<void>((resolve, reject) => {
        settle = { resolve, reject };
        socket.write(delivery);
      }),
    stop: () => socket.destroy(),
  };
}
