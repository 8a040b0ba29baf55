import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connectTo } from './connection.js';
import { createAnswerReader, type HttpAnswer } from './http-answers.js';

/** One connection's part: what it asks next, and whether an answer is right. */
export interface Asker {
  next(): Buffer;
  /** Throws where it is not. */
  check(answer: HttpAnswer): void;
}

/** What a slice of load came to. */
export interface Slice {
  readonly answers: number;
  /** Answers a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** How busy the load's own core was, from 0 to 1: near 1 the load is what was measured. */
  readonly busy: number;
}

/** Each asker, on a kept connection of its own, asks again as soon as it has its answer, for so long. */
export async function drive(url: string, askers: readonly Asker[], ms: number): Promise<Slice> {
  const took: number[] = [];
  const conversations = await Promise.all(askers.map((asker) => openConversation(url, asker, took)));
  const cpu = process.cpuUsage();
  const began = performance.now();
  const end = began + ms;
  try {
    await Promise.all(conversations.map(({ until }) => until(end)));
  } finally {
    for (const { stop } of conversations) stop();
  }
  const lasted = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  took.sort((a, b) => a - b);
  return {
    answers: took.length,
    rate: (took.length / lasted) * 1000,
    p50: quantile(took, 0.5),
    p99: quantile(took, 0.99),
    busy: (user + system) / 1000 / lasted,
  };
}

/**
 * Keeps the load's core from going to sleep meanwhile: in a virtual machine to wake it takes whoever writes to a socket as
 * long as the write itself, and the slower one is, the oftener it would be paid for. Not where what is measured may use
 * that core.
 */
export async function keepAwake<T>(work: () => Promise<T>): Promise<T> {
  let over = false;
  const turn = () => void (over || setImmediate(turn));
  turn();
  try {
    return await work();
  } finally {
    over = true;
  }
}

/** The value below which so great a share of the sorted values is. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Opens a connection, each answer on which is heard; its bytes hold something else afterwards. A fault closes it. */
export async function open(url: string, hear: (answer: HttpAnswer) => void): Promise<Socket> {
  const read = createAnswerReader(hear);
  const socket = connectTo(url, (bytes, length) => {
    try {
      read(bytes.subarray(0, length));
    } catch (error) {
      socket.destroy(error as Error);
    }
  });
  await once(socket, 'connect');
  return socket.on('error', () => undefined); // whoever waits hears of the close
}

async function openConversation(url: string, asker: Asker, took: number[]) {
  let asked = 0;
  let end = 0;
  let resolve = () => {};
  let failure = new Error('The server closed a connection.');
  const socket = await open(url, (answer) => {
    const now = performance.now();
    took.push(now - asked);
    asker.check(answer);
    if (now < end) ask();
    else resolve();
  });
  socket.on('error', (error) => (failure = error));

  function ask(): void {
    asked = performance.now();
    socket.write(asker.next());
  }

  return {
    /** Asks until this time. */
    until: (time: number) =>
      new Promise<void>((done, reject) => {
        end = time;
        resolve = done;
        if (socket.destroyed) return reject(failure);
        socket.on('close', () => reject(failure));
        ask();
      }),
    stop: () => socket.destroy(),
  };
}

/** The bytes of a POST on a kept connection. */
export function post(url: string, body: string, headers: Readonly<Record<string, string>> = {}): Buffer {
  const { host, pathname } = new URL(url);
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}
