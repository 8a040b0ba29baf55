import type { IncomingHttpHeaders } from 'node:http';
import { errors, util, type Dispatcher } from 'undici';
import type { Deadline } from './deadline.js';
import { type FailureReason, UpstreamError, type UpstreamName } from './failure.js';

/** One request, as it goes over the wire. */
export interface Exchange {
  readonly upstream: UpstreamName;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** What came back: the body only where the status is a success, since nothing shows the shape of an error. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A page of 100 notes of 10,000 characters (`apis/notes.md` §2) is some 4 MiB; escaped, maybe 12, read in parts. */
export const mostBytes = 8 * 1024 * 1024;
/** How much of an error's body is read, and thrown away, to save its connection. */
const mostErrorBytes = 64 * 1024;

const isSuccess = (status: number) => status >= 200 && status < 300;

/**
 * Sends a request and reads the whole answer, whatever its status; rejects with an `UpstreamError` where there is none
 * before the deadline, or one too large. A request that still waits for a connection at its deadline is never sent.
 */
export function exchange(dispatcher: Dispatcher, request: Exchange, deadline: Deadline): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const receiving = new Receiving(request.upstream, deadline, resolve, reject);
    if (!receiving.begin()) return;
    const { method, path, headers, body } = request;
    dispatcher.dispatch({ method, path, headers, body }, receiving);
  });
}

/** What came back, whose headers are parsed when somebody asks for them: of most replies nobody does. */
class Received implements Reply {
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

/** A handler of undici's older kind: around one of the newer kind undici puts two objects, and parses all headers. */
class Receiving implements Dispatcher.DispatchHandler {
  private readonly upstream: UpstreamName;
  private readonly deadline: Deadline;
  private readonly resolve: (reply: Reply) => void;
  private readonly reject: (error: UpstreamError) => void;
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private status = 0;
  private rawHeaders: Buffer[] = [];
  /** Cuts the connection; there is one from when the request is sent. */
  private cut: ((error: Error) => void) | undefined = undefined;
  private forget: (() => void) | undefined = undefined;

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

  /** Whether there is time to begin. */
  begin(): boolean {
    const { deadline } = this;
    if (deadline.over) this.finish(deadline.over);
    else this.forget = deadline.whenOver(() => this.giveUp(deadline.over!));
    return !deadline.over;
  }

  onConnect(abort: (error?: Error) => void): void {
    // It has waited for a connection in vain: nobody wants it sent any more.
    if (this.deadline.over) abort(new Error('given up'));
    else this.cut = abort;
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
    if (this.size > (success ? mostBytes : mostErrorBytes)) this.giveUp('oversized');
    else if (success) this.chunks.push(chunk);
    return true;
  }

  onComplete(): void {
    this.finish();
  }

  onError(error: Error): void {
    // The gateway's own stop is no fault of the service.
    this.finish(error instanceof errors.ClientDestroyedError ? 'abandoned' : 'broken', error);
  }

  private giveUp(reason: FailureReason): void {
    this.finish(reason);
    this.cut?.(new Error(`given up: ${reason}`));
  }

  private finish(reason?: FailureReason, cause?: unknown): void {
    const { status, rawHeaders, chunks, cut } = this;
    this.forget?.();
    // An error's status says all: its body may be cut, late or endless.
    if (status > 0 && (!reason || !isSuccess(status)))
      this.resolve(
        new Received(status, rawHeaders, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)),
      );
    else
      this.reject(
        new UpstreamError(this.upstream, reason ?? 'broken', { uncertain: cut !== undefined, cause }),
      );
  }
}
