import type { Socket } from 'node:net';
import { connectTo } from './connection.js';

/** What is done with what a stream says. */
export interface Listener {
  /** Called once, with the first block: the subscription is active. */
  opened(): void;
  /** Called if it was refused, with what was answered. */
  refused(answer: string): void;
  /** Called if the server ends the stream, and asks to come again. */
  sentAway(): void;
  /** Takes a block, `bytes` between `from` and `to`; the buffer is reused afterwards. */
  hear(bytes: Buffer, from: number, to: number): void;
}

const again = Buffer.from('retry: ');
/** What a block that ends a stream is shorter than, with the head of its chunk. */
const shortEnd = 64;
const endOfBlock = Buffer.from('\n\n');
const endOfHead = Buffer.from('\r\n\r\n');

/** Asks for server-sent events by POST, and reads them with minimal work: chunks are not told from what is in them. */
export function openEventStream(url: string, headers: object, operation: object, listener: Listener): Socket {
  let rest: Buffer = Buffer.alloc(0);
  let take = readHead;
  const socket = connectTo(url, (buffer, length) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, buffer.subarray(0, length)]) : buffer;
    const end = rest.length > 0 ? bytes.length : length;
    const at = take(bytes, end);
    rest = at === end ? Buffer.alloc(0) : Buffer.from(bytes.subarray(at, end));
  });

  function readHead(bytes: Buffer, end: number): number {
    const head = bytes.subarray(0, end);
    const from = head.indexOf(endOfHead);
    if (from < 0) return 0;
    if (!head.includes('text/event-stream')) listener.refused(head.toString());
    const opened = head.indexOf(endOfBlock, from + endOfHead.length);
    if (opened < 0) return 0;
    listener.opened();
    take = readBlocks;
    return readBlocks(bytes, end, opened + endOfBlock.length);
  }

  function readBlocks(bytes: Buffer, end: number, begin = 0): number {
    let from = begin;
    for (;;) {
      const at = bytes.indexOf(endOfBlock, from);
      // The buffer may have older bytes beyond the end.
      if (at < 0 || at + endOfBlock.length > end) return from;
      if (isEnd(bytes, from, at)) listener.sentAway();
      else listener.hear(bytes, from, at);
      from = at + endOfBlock.length;
    }
  }

  const body = JSON.stringify(operation);
  const fields = {
    host: new URL(url).host,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  };
  const lines = Object.entries(fields).map((field) => field.join(': '));
  socket.write(`POST /graphql/stream HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

function isEnd(bytes: Buffer, from: number, to: number): boolean {
  return to - from < shortEnd && bytes.subarray(from, to).includes(again);
}
