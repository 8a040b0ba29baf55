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

/**
 * Creates the streams of a client: parts of the same subscription share one. Those that begin at places apart have one
 * each until these have come to the same place, but at most `atOnce`: further ones wait, from where they are.
 */
export function createStreams(subscribe: Subscribe, atOnce = Infinity): Streams {
  const groups = new Map<string, StreamGroup>();
  return {
    join(document, variables, after, listener) {
      const key = JSON.stringify([document, variables]);
      const open = (start: string, sink: Sink) => subscribe(document, { ...variables, after: start }, sink);
      const group = groups.get(key) ?? new StreamGroup(open, atOnce);
      groups.set(key, group);
      return group.join(after, listener);
    },
  };
}

/** The streams of one subscription, and the parts that wait until there are fewer. */
class StreamGroup {
  readonly #subscribe: (after: string, sink: Sink) => () => void;
  readonly #atOnce: number;
  readonly #running = new Set<Stream>();
  readonly #waiting = new Map<Listener, { cursor: string }>();

  constructor(subscribe: (after: string, sink: Sink) => () => void, atOnce: number) {
    this.#subscribe = subscribe;
    this.#atOnce = atOnce;
  }

  join(after: string, listener: Listener): Part {
    const part = { cursor: after };
    this.#waiting.set(listener, part);
    this.#admit();
    return {
      get cursor() {
        return part.cursor;
      },
      stop: () => this.#leave(listener),
    };
  }

  /** Lets those begin who wait: each in a stream that has passed its place, or else in one of its own. */
  #admit(): void {
    for (const [listener, part] of this.#waiting) {
      const passing = [...this.#running].find((one) => indexIn(one, part.cursor) !== undefined);
      if (!passing && this.#running.size >= this.#atOnce) continue;
      this.#waiting.delete(listener);
      const stream = passing ?? this.#open(part.cursor);
      const behind = stream.past.slice(indexIn(stream, part.cursor));
      stream.listeners.set(listener, part);
      for (const { answer, cursor } of behind) deliver(listener, part, answer, cursor);
    }
  }

  #leave(listener: Listener): void {
    this.#waiting.delete(listener);
    for (const one of this.#running) {
      if (!one.listeners.delete(listener) || one.listeners.size > 0) continue;
      one.leave();
      this.#running.delete(one);
    }
    this.#admit();
  }

  #open(start: string): Stream {
    const stream: Stream = { listeners: new Map(), past: [], start, leave: () => {} };
    const end = (tell: (listener: Listener) => void) => {
      stream.leave();
      this.#running.delete(stream);
      every(stream, tell);
      this.#admit();
    };
    this.#running.add(stream);
    stream.leave = this.#subscribe(start, {
      next: (answer) => this.#take(stream, answer, cursorOf(answer.data)),
      passed: (cursor) => this.#take(stream, undefined, cursor),
      error: (failure) => end((listener) => listener.error(failure)),
      complete: () => end((listener) => listener.complete?.()),
    });
    return stream;
  }

  #take(stream: Stream, answer: Answer | undefined, cursor: string | undefined): void {
    if (cursor !== undefined) remember(stream, cursor, answer);
    every(stream, (listener, part) => deliver(listener, part, answer, cursor));
    if (cursor !== undefined) merge(this.#running, stream, cursor);
    // Those who wait hear that all is well.
    for (const [listener, part] of this.#waiting) listener.passed?.(part.cursor);
    this.#admit();
  }
}

/** Acts for each part: one that leaves meanwhile hears nothing more; one that joins has heard of it already. */
function every(stream: Stream, act: (listener: Listener, part: { cursor: string }) => void): void {
  const now = Array.from(stream.listeners);
  for (const [listener, part] of now) if (stream.listeners.has(listener)) act(listener, part);
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
