import type { ServerResponse } from 'node:http';
import type { LogPosition } from '../../events/log/log-position.js';
import type { Holding } from '../../lib/memory/memory-ledger.js';
import type { Done, Outlet } from '../../events/feed/member.js';
import type { Breathe } from '../operation/admission.js';
import { encodeText } from '../operation/answer-text.js';
import { maxWaitingBytes } from '../ws/socket/backpressure.js';
import type { Answer } from './answer.js';
import { againDelayMs, type StreamFormat } from './stream-format.js';

/** In bytes: what may wait without being charged. */
const littleWaiting = 16 * 1024;
/** How long a client may take to read the end of its updates, before it is cut off: it can resume. */
const closeMs = 5_000;

/** Stands for a result, which cannot hold this character. */
const placeholder = '\0';

/** Makes the cursor of a position. */
export type CursorOf = (position: LogPosition) => string;

/** Makes the bytes of updates, once for all streams of one format that are given the same array of payloads. */
export class SharedBytes {
  readonly #format: StreamFormat;
  readonly #cursorOf: CursorOf;
  #payloads: readonly string[] = [];
  #bytes = Buffer.alloc(0);
  #last: string | undefined;

  constructor(format: StreamFormat, cursorOf: CursorOf) {
    this.#format = format;
    this.#cursorOf = cursorOf;
  }

  /** The bytes, and the cursor of the last position. */
  of(payloads: readonly string[], positions: readonly LogPosition[]): readonly [Buffer, string | undefined] {
    if (payloads !== this.#payloads) {
      const cursors = positions.map(this.#cursorOf);
      this.#payloads = payloads;
      this.#bytes = Buffer.from(
        payloads.map((payload, at) => this.#format.next(payload, cursors[at])).join(''),
      );
      this.#last = cursors.at(-1);
    }
    return [this.#bytes, this.#last];
  }
}

/** One answer that stays open. A class, since there are many: closures would take more memory than all the rest. */
export class StreamOutlet implements Outlet {
  /** Whether it sends updates; an answer to a query is waited for when the server stops. */
  isSubscription = false;
  readonly #answer: Answer;
  readonly #shared: SharedBytes;
  readonly #cursorOf: CursorOf;
  /** What waits for the client is charged here. */
  readonly #leaving: Holding;
  #response: ServerResponse | undefined = undefined;
  #passed: () => LogPosition | undefined = nowhere;
  /** The position of the last block sent. */
  #cursor: string | undefined = undefined;
  #hasEnded = false;

  constructor(answer: Answer, shared: SharedBytes, cursorOf: CursorOf, leaving: Holding) {
    this.#leaving = leaving;
    this.#answer = answer;
    this.#shared = shared;
    this.#cursorOf = cursorOf;
  }

  get #format(): StreamFormat {
    return this.#answer.format;
  }

  begin(cursor: string | undefined, passed: () => LogPosition | undefined): void {
    this.isSubscription = true;
    this.#passed = passed;
    this.#cursor = cursor;
    this.#write(this.#format.open(cursor));
  }

  send(payloads: readonly string[], positions: readonly LogPosition[], done?: Done): void {
    const [bytes, last] = this.#shared.of(payloads, positions);
    this.#cursor = last ?? this.#cursor;
    this.#write(bytes, done);
  }

  hasRoom(): boolean {
    if (this.#hasEnded || !this.#response || this.#response.destroyed) return false;
    if (this.#response.writableLength <= maxWaitingBytes && this.#hold(0)) return true;
    this.again();
    return false;
  }

  resumeElsewhere(): void {
    this.again();
  }

  /** Says that the connection is alive, and how far the subscription has come; nothing while earlier bytes wait. */
  beat(): void {
    if (!this.isSubscription || this.#hasEnded || this.#response!.writableLength > 0) return;
    const position = this.#passed();
    if (position) this.#cursor = this.#cursorOf(position);
    this.#write(this.#format.heartbeat(this.#cursor));
  }

  /** Sends the only result that there is, in parts, between which others are served, and completes. */
  async answer(parts: readonly string[], breathe: Breathe): Promise<void> {
    const [before = '', after = ''] = this.#format.next(placeholder, undefined).split(placeholder);
    this.#end(await encodeText([before, ...parts, after, this.#format.complete()], breathe));
  }

  /** Sends the last result, and completes. */
  finish(payload: string): void {
    this.#end(this.#format.next(payload, undefined) + this.#format.complete());
  }

  /** Ends it, with nothing more to ask for. */
  complete(): void {
    this.#end(this.#format.complete());
  }

  /** Ends it; the client asks again, from where it was. */
  again(): void {
    this.#end(this.#format.again(againDelayMs()));
  }

  #end(last: string | Buffer): void {
    if (this.#hasEnded) return;
    if (!this.#response) this.#write(this.#format.open(undefined));
    this.#write(last);
    this.#hasEnded = true;
    const response = this.#response!;
    response.end();
    if (!this.isSubscription) return; // any answer may take long to read
    const late = setTimeout(() => response.destroy(), closeMs).unref();
    response.once('close', () => clearTimeout(late));
  }

  /** Charges what waits, and so much more; false if there is no room for it. */
  #hold(more: number): boolean {
    const bytes = (this.#response?.writableLength ?? 0) + more;
    if (bytes > littleWaiting) return this.#leaving.resize(bytes, bytes);
    this.#leaving.release();
    return true;
  }

  /** The only place here where bytes leave. */
  #write(bytes: Buffer | string, done?: Done): void {
    const response = (this.#response ??= this.#answer.open());
    // What is charged once it is closed would never be released.
    const isOpen = !this.#hasEnded && !response.destroyed;
    if (isOpen && this.#hold(bytes.length)) return void response.write(bytes, done);
    if (isOpen) response.destroy();
    if (done) process.nextTick(done, new Error('The stream has ended.'));
  }
}

function nowhere(): undefined {
  return undefined;
}
