import type { IncomingHttpHeaders } from 'node:http';
import { errors, util, type Dispatcher } from 'undici';
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

const isSuccess = (status: number) => status >= 200 && status < 300;

/**
 * Sends a request and reads the whole response, whatever its status. Rejects with an `UpstreamError` if none arrives
 * before the deadline, or it is too large. A request that still waits for a connection at its deadline is never sent.
 */
export function exchange(dispatcher: Dispatcher, request: Exchange, deadline: Deadline): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const handler = new ReplyHandler(request.upstream, deadline, resolve, reject);
    if (!handler.begin()) return;
    const { method, path, headers, body } = request;
    dispatcher.dispatch({ method, path, headers, body }, handler);
  });
}

/** A reply whose headers are parsed on demand: those of most replies are never read. */
class LazyReply implements Reply {
  readonly status: number;
  readonly body: Buffer;
  private readonly rawHeaders: Buffer[];

  constructor(status: number, rawHeaders: Buffer[], body: Buffer) {
    this.status = status;
    this.rawHeaders = rawHeaders;
    this.body = body;
  }

  get headers(): IncomingHttpHeaders {
    return util.parseHeaders(this.rawHeaders);
  }
}

/** A handler of undici's older kind: the newer kind is wrapped in two objects, and all headers are parsed for it. */
class ReplyHandler implements Dispatcher.DispatchHandler {
  private readonly upstream: UpstreamName;
  private readonly deadline: Deadline;
  private readonly resolve: (reply: Reply) => void;
  private readonly reject: (error: UpstreamError) => void;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private status = 0;
  private rawHeaders: Buffer[] = [];
  /** Aborts the request; set once it is being sent. */
  private abort: ((error: Error) => void) | undefined = undefined;
  private unwatch: (() => void) | undefined = undefined;

  constructor(
    upstream: UpstreamName,
    deadline: Deadline,
    resolve: (reply: Reply) => void,
    reject: (error: UpstreamError) => void,
  ) {
    this.upstream = upstream;
    this.deadline = deadline;
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

  onConnect(abort: (error?: Error) => void): void {
    // The deadline passed while it waited for a connection.
    if (this.deadline.endedBy) abort(new Error('given up'));
    else this.abort = abort;
  }

  onHeaders(status: number, rawHeaders: Buffer[]): boolean {
    if (status < 200) return true;
    this.status = status;
    this.rawHeaders = rawHeaders;
    return true;
  }

  onData(chunk: Buffer): boolean {
    const success = isSuccess(this.status);
    this.size += chunk.length;
    if (this.size > (success ? maxBytes : maxErrorBytes)) this.giveUp('oversized');
    else if (success) this.chunks.push(chunk);
    return true;
  }

  onComplete(): void {
    this.finish();
  }

  onError(error: Error): void {
    // The gateway is stopping: no failure of the service.
    this.finish(error instanceof errors.ClientDestroyedError ? 'abandoned' : 'broken', error);
  }

  private giveUp(reason: FailureReason): void {
    this.finish(reason);
    this.abort?.(new Error(`given up: ${reason}`));
  }

  private finish(reason?: FailureReason, cause?: unknown): void {
    const { status, rawHeaders, chunks, abort } = this;
    this.unwatch?.();
    // Of an error only the status matters: its body may be truncated, late or endless.
    if (status > 0 && (!reason || !isSuccess(status)))
      this.resolve(
        new LazyReply(status, rawHeaders, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
      );
    else
      this.reject(
        new UpstreamError(this.upstream, reason ?? 'broken', { uncertain: abort !== undefined, cause }),
      );
  }
}
