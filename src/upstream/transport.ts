import type { IncomingHttpHeaders } from 'node:http';
import { brotliDecompress, inflateRaw, unzip } from 'node:zlib';
import { errors, type Dispatcher } from 'undici';
import { Chunks } from '../lib/chunks.js';
import type { Holding } from '../lib/memory/memory-ledger.js';
import type { Deadline } from './deadline.js';
import { type FailureReason, UpstreamError, type UpstreamName } from './errors.js';

/** One request, as it goes over the wire. */
export interface Exchange {
  readonly upstream: UpstreamName;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** The response; its body only if the status is a success, since the shape of errors is not documented. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * How large the body of a success may be. A page of 100 notes of 10,000 characters (`apis/notes.md` §2) is some 4 MiB;
 * if they are escaped, maybe 12, which is then read in smaller pages.
 */
export const maxBytes = 8 * 1024 * 1024;
/** How much of an error's body is read and discarded, so that the connection can be used again. */
const maxErrorBytes = 64 * 1024;
/** How many informational responses (1xx) may come before the one that counts. */
const maxInformational = 10;

/** How often the bytes of an answer are in memory at once: in chunks, and joined. */
const copies = 2;

const isSuccess = (status: number) => status >= 200 && status < 300;

/**
 * Sends a request and reads the whole response, whatever its status. Rejects with an `UpstreamError` if none arrives
 * before the deadline, it is too large, or there is no room for it in `memory`. A request that still waits for a
 * connection at its deadline is never sent.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Exchange,
  deadline: Deadline,
  memory?: Holding,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const handler = new ReplyHandler(request.upstream, deadline, memory, resolve, reject);
    if (!handler.begin()) return;
    const { method, path, headers, body } = request;
    dispatcher.dispatch({ method, path, headers, body }, handler);
  });
}

/** Takes the parts of one response; undici calls it. */
class ReplyHandler implements Dispatcher.DispatchHandler {
  private readonly upstream: UpstreamName;
  private readonly deadline: Deadline;
  private readonly resolve: (reply: Reply) => void;
  private readonly reject: (error: UpstreamError) => void;
  private readonly chunks = new Chunks();
  private readonly memory: Holding | undefined;
  private size = 0;
  private informational = 0;
  private status = 0;
  private headers: IncomingHttpHeaders = {};
  /** Set once the request is being sent. */
  private controller: Dispatcher.DispatchController | undefined = undefined;
  private unwatch: (() => void) | undefined = undefined;

  constructor(
    upstream: UpstreamName,
    deadline: Deadline,
    memory: Holding | undefined,
    resolve: (reply: Reply) => void,
    reject: (error: UpstreamError) => void,
  ) {
    this.upstream = upstream;
    this.deadline = deadline;
    this.memory = memory;
    this.resolve = resolve;
    this.reject = reject;
  }

  /** Starts watching the deadline; false if it is over already. */
  begin(): boolean {
    const { deadline } = this;
    if (deadline.endedBy) this.finish(deadline.endedBy);
    else this.unwatch = deadline.onEnd(() => this.giveUp(deadline.endedBy!));
    return !deadline.endedBy;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The deadline passed while it waited for a connection.
    if (this.deadline.endedBy) controller.abort(new Error('given up'));
    else this.controller = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      if (++this.informational > maxInformational) this.giveUp('broken');
      return;
    }
    this.status = status;
    this.headers = headers;
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const success = isSuccess(this.status);
    this.size += chunk.length;
    if (this.size > (success ? maxBytes : maxErrorBytes)) this.giveUp('oversized');
    else if (!success) return;
    else if (this.memory?.add(0, copies * chunk.length) === false) this.giveUp('overloaded');
    else this.chunks.add(chunk);
  }

  onResponseEnd(): void {
    this.finish();
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    // The gateway is stopping: no failure of the service.
    this.finish(error instanceof errors.ClientDestroyedError ? 'abandoned' : 'broken', error);
  }

  private giveUp(reason: FailureReason): void {
    this.finish(reason);
    this.controller?.abort(new Error(`given up: ${reason}`));
  }

  private finish(reason?: FailureReason, cause?: unknown): void {
    const { status, headers, chunks } = this;
    this.unwatch?.();
    // Of an error only the status matters: its body may be truncated, late or endless.
    if (status === 0 || (reason && isSuccess(status))) return this.fail(reason ?? 'broken', cause);
    const body = chunks.concat();
    const codings = headers['content-encoding'];
    if (codings === undefined || body.length === 0) return this.resolve({ status, headers, body });
    return decode(codingsIn(codings), body, (fault, decoded) =>
      fault ? this.fail(fault) : this.resolve({ status, headers, body: decoded }),
    );
  }

  private fail(reason: FailureReason, cause?: unknown): void {
    this.reject(
      new UpstreamError(this.upstream, reason, { uncertain: this.controller !== undefined, cause }),
    );
  }
}

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: unzip,
  'x-gzip': unzip,
  // Some send it without its wrapper (RFC 9110 §8.4.1.2), which begins with this.
  deflate: (body, ...rest) => ((body[0]! & 0x0f) === 8 ? unzip : inflateRaw)(body, ...rest),
  br: brotliDecompress,
};

type Decoder = (
  body: Buffer,
  options: { readonly maxOutputLength: number },
  done: (error: Error | null, decoded: Buffer) => void,
) => void;
type Decoded = (fault: FailureReason | undefined, body: Buffer) => void;

/** The codings in the order they were applied; the header may come more than once. */
function codingsIn(header: string | readonly string[]): readonly string[] {
  const names = String(header)
    .split(',')
    .map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== 'identity' && name !== '');
}

/** Undoes codings that were not asked for. One that is not known, or not what it says, is no usable answer. */
function decode(codings: readonly string[], body: Buffer, done: Decoded): void {
  const name = codings.at(-1);
  if (name === undefined) return done(undefined, body);
  const decoder = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
  if (!decoder) return done('misshapen', body);
  return decoder(body, { maxOutputLength: maxBytes }, (error, decoded) => {
    if (!error) return decode(codings.slice(0, -1), decoded, done);
    const isLong = 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return done(isLong ? 'oversized' : 'misshapen', body);
  });
}
