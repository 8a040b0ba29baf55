import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connectTo } from './connection.js';
import { createAnswerReader, type HttpAnswer } from './http-answers.js';
import { pinned } from './process.js';

/** Makes the requests of one connection, and checks the answers. */
export interface Asker {
  next(): Buffer;
  /** Throws if the answer is wrong. */
  check(answer: HttpAnswer): void;
}

/** The results of a slice of load. */
export interface Slice {
  readonly answers: number;
  /** Answers a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** How busy the load generator was, from 0 to 1: near 1, it is the load generator that was measured. */
  readonly busy: number;
}

/** For so long, each asker sends its next request once it has an answer, on a keep-alive connection of its own. */
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
 * Keeps the load generator's core awake during the work: on a virtual machine, waking it costs the writer of a socket
 * as much as the write itself, and slower servers would pay that more often. It does nothing where nothing is pinned,
 * and is not to be used otherwise if the measured process may use that core.
 */
export async function keepAwake<T>(work: () => Promise<T>): Promise<T> {
  let over = !pinned;
  const turn = () => void (over || setImmediate(turn));
  turn();
  try {
    return await work();
  } finally {
    over = true;
  }
}

/** The value below which this share of the sorted values lies. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Opens a connection; `hear` gets each answer, whose bytes are reused afterwards. If it throws, the socket closes. */
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
  return socket.on('error', () => undefined); // callers listen for the close
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
    /** Sends requests until this time. */
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

/** The bytes of a POST on a keep-alive connection. */
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
