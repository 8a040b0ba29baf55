import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
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

/** A page of 100 notes of 10,000 characters (`apis/notes.md` §2) is some 4 MiB; escaped it may be 12, and is asked for in parts. */
const mostBytes = 8 * 1024 * 1024;
/** Of an error only so much is read as may save its connection; it is thrown away. */
const mostErrorBytes = 64 * 1024;

const isSuccess = (status: number) => status >= 200 && status < 300;

/**
 * Sends a request and reads the whole answer, whatever its status; rejects with an `UpstreamError` where there is none
 * before the deadline, or one too large. A request that still waits for a connection at its deadline is never sent.
 */
export function exchange(dispatcher: Dispatcher, request: Exchange, deadline: Deadline): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let head: { readonly status: number; readonly headers: IncomingHttpHeaders } | undefined;
    let connection: Dispatcher.DispatchController | undefined;
    let forget = () => {};

    function finish(reason?: FailureReason, cause?: unknown): void {
      forget();
      // An error's status says all: its body may be cut, late or endless.
      if (head && (!reason || !isSuccess(head.status)))
        resolve({ ...head, body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) });
      else
        reject(
          new UpstreamError(request.upstream, reason ?? 'broken', {
            uncertain: connection !== undefined,
            cause,
          }),
        );
    }

    function giveUp(reason: FailureReason): void {
      finish(reason);
      connection?.abort(new Error(`given up: ${reason}`));
    }

    if (deadline.over) return finish(deadline.over);
    forget = deadline.whenOver(() => giveUp(deadline.over!));
    const { method, path, headers, body } = request;
    dispatcher.dispatch(
      { method, path, headers, body },
      {
        onRequestStart(controller) {
          // It has waited for a connection in vain: nobody wants it sent any more.
          if (deadline.over) return controller.abort(new Error('given up'));
          connection = controller;
        },
        onResponseStart(_, status, received) {
          if (status >= 200) head = { status, headers: received };
        },
        onResponseData(_, chunk) {
          const success = isSuccess(head?.status ?? 0);
          size += chunk.length;
          if (size > (success ? mostBytes : mostErrorBytes)) giveUp('oversized');
          else if (success) chunks.push(chunk);
        },
        onResponseEnd: () => finish(),
        onResponseError: (_, error) => finish('broken', error),
      },
    );
  });
}
