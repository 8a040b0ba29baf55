import type { AnyDocument } from '../core/document.js';
import { cursorOf } from '../core/document.js';
import type { Answer, TriviumError } from '../core/error.js';
import type { Sink } from '../core/transport.js';

/** How many updates a stream remembers, for those that join it a little behind. */
const remembered = 500;

/** What takes the updates of a stream, each with its cursor. */
export interface Listener {
  next(answer: Answer, cursor: string | undefined): void;
  /** The place in the log that was passed without an update. */
  passed?(cursor: string): void;
  error(failure: TriviumError): void;
  complete?(): void;
}

/** A part in a stream. */
export interface Part {
  /** The last cursor that was passed on; begin there the next time. */
  readonly cursor: string;
  stop(): void;
}

interface Stream {
  readonly listeners: Map<Listener, { cursor: string }>;
  readonly past: { readonly cursor: string; readonly answer: Answer | undefined }[];
  start: string;
  leave: () => void;
}

/**
 * Subscriptions of one client, shared: who begins at a place that a running one has passed, joins that. So each list
 * may begin at its own answer's `liveCursor`, and all of them soon use one subscription.
 */
export interface Streams {
  join(document: AnyDocument, variables: object, after: string, listener: Listener): Part;
}

/** Opens a subscription; returns what unsubscribes. */
type Subscribe = (document: AnyDocument, variables: Record<string, unknown>, sink: Sink) => () => void;

/** Creates the streams of a client: parts of the same subscription share one. */
export function createStreams(subscribe: Subscribe): Streams {
  const streams = new Map<string, Set<Stream>>();

  function open(key: string, document: AnyDocument, variables: object, start: string): Stream {
    const stream: Stream = { listeners: new Map(), past: [], start, leave: () => {} };
    const every = (act: (listener: Listener, part: { cursor: string }) => void) => {
      // One that leaves meanwhile hears nothing more; one that joins has heard of it already.
      const now = Array.from(stream.listeners);
      for (const [listener, part] of now) if (stream.listeners.has(listener)) act(listener, part);
    };
    const end = (tell: (listener: Listener) => void) => {
      stream.leave();
      streams.get(key)?.delete(stream);
      every(tell);
    };
    const take = (answer: Answer | undefined, cursor: string | undefined) => {
      if (cursor !== undefined) remember(stream, cursor, answer);
      every((listener, part) => deliver(listener, part, answer, cursor));
      if (cursor !== undefined) merge(streams.get(key)!, stream, cursor);
    };
    stream.leave = subscribe(
      document,
      { ...variables, after: start },
      {
        next: (answer) => take(answer, cursorOf(answer.data)),
        passed: (cursor) => take(undefined, cursor),
        error: (failure) => end((listener) => listener.error(failure)),
        complete: () => end((listener) => listener.complete?.()),
      },
    );
    return stream;
  }

  return {
    join(document, variables, after, listener) {
      const key = JSON.stringify([document, variables]);
      const running = streams.get(key) ?? new Set();
      streams.set(key, running);
      const part = { cursor: after };
      let stream = [...running].find((one) => indexIn(one, after) !== undefined);
      if (!stream) running.add((stream = open(key, document, variables, after)));
      const behind = stream.past.slice(indexIn(stream, after));
      stream.listeners.set(listener, part);
      for (const { answer, cursor } of behind) deliver(listener, part, answer, cursor);
      return {
        get cursor() {
          return part.cursor;
        },
        stop() {
          for (const one of running) {
            if (!one.listeners.delete(listener) || one.listeners.size > 0) continue;
            one.leave();
            running.delete(one);
          }
        },
      };
    },
  };
}

function deliver(
  listener: Listener,
  part: { cursor: string },
  answer: Answer | undefined,
  cursor: string | undefined,
): void {
  if (cursor !== undefined) part.cursor = cursor;
  if (answer) listener.next(answer, cursor);
  else if (cursor !== undefined) listener.passed?.(cursor);
}

function remember(stream: Stream, cursor: string, answer: Answer | undefined): void {
  if (cursor === (stream.past.at(-1)?.cursor ?? stream.start)) return;
  stream.past.push({ cursor, answer });
  if (stream.past.length > remembered) stream.start = stream.past.shift()!.cursor;
}

/** From where in `past` a listener that has come to this cursor goes on; undefined if the stream has not passed it. */
function indexIn({ start, past }: Stream, cursor: string): number | undefined {
  if (cursor === start) return 0;
  const index = past.findLastIndex((one) => one.cursor === cursor);
  return index < 0 ? undefined : index + 1;
}

/** Once a stream comes to where another is, or has been, that one serves its listeners, too. */
function merge(running: Set<Stream>, stream: Stream, cursor: string): void {
  const other = [...running].find((one) => one !== stream && indexIn(one, cursor) !== undefined);
  if (!other) return;
  stream.leave();
  running.delete(stream);
  const behind = other.past.slice(indexIn(other, cursor));
  for (const [listener, part] of stream.listeners) {
    other.listeners.set(listener, part);
    for (const { answer, cursor: passed } of behind) deliver(listener, part, answer, passed);
  }
}
