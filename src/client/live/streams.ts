import type { AnyDocument } from '../core/document.js';
import { cursorOf, textOf } from '../core/document.js';
import type { Answer, TriviumError } from '../core/error.js';
import type { Sink } from '../core/transport.js';

/** How many updates a stream remembers, for those that join it a little behind. */
const remembered = 500;

/** What takes the updates of a stream, each with its cursor. */
export interface Listener {
  next(answer: Answer, cursor: string | undefined): void;
  /** All is well; the place in the log, if there is one, was passed without an update. */
  passed?(cursor: string | undefined): void;
  error(failure: TriviumError): void;
  complete?(): void;
}

/** A part in a stream. */
export interface Part {
  /** The last cursor that was passed on; begin there the next time. */
  readonly cursor: string;
  stop(): void;
}

/** Where a listener is, whatever stream it is in. */
interface Place {
  cursor: string;
  /** It has stopped, and is not to hear anything more. */
  isLeft: boolean;
}

interface Stream {
  readonly listeners: Map<Listener, Place>;
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
export function createStreams(subscribe: Subscribe, atOnce = 8): Streams {
  const groups = new Map<string, StreamGroup>();
  return {
    join(document, variables, after, listener) {
      const key = JSON.stringify([textOf(document), variables]);
      const open = (start: string, sink: Sink) => subscribe(document, { ...variables, after: start }, sink);
      const left = (group: StreamGroup) => void (groups.get(key) === group && groups.delete(key));
      const group = groups.get(key) ?? new StreamGroup(open, atOnce, left);
      groups.set(key, group);
      return group.join(after, listener);
    },
  };
}

/** The streams of one subscription, and the parts that wait until there are fewer. */
class StreamGroup {
  readonly #subscribe: (after: string, sink: Sink) => () => void;
  readonly #atOnce: number;
  readonly #left: (group: StreamGroup) => void;
  readonly #running = new Set<Stream>();
  readonly #waiting = new Map<Listener, Place>();

  /** `left` is told when nobody takes part any more. */
  constructor(
    subscribe: (after: string, sink: Sink) => () => void,
    atOnce: number,
    left: (group: StreamGroup) => void,
  ) {
    this.#subscribe = subscribe;
    this.#atOnce = atOnce;
    this.#left = left;
  }

  join(after: string, listener: Listener): Part {
    const place = { cursor: after, isLeft: false };
    this.#waiting.set(listener, place);
    this.#admit();
    return {
      get cursor() {
        return place.cursor;
      },
      stop: () => {
        place.isLeft = true;
        this.#leave(listener);
      },
    };
  }

  /** Lets those begin who wait: each in a stream that has passed its place, or else in one of its own. */
  #admit(): void {
    for (const [listener, place] of this.#waiting) {
      const passing = [...this.#running].find((one) => indexIn(one, place.cursor) !== undefined);
      if (!passing && this.#running.size >= this.#atOnce) continue;
      this.#waiting.delete(listener);
      const stream = passing ?? this.#open(place.cursor);
      stream.listeners.set(listener, place);
      catchUp(stream, listener, place);
    }
    if (this.#running.size === 0 && this.#waiting.size === 0) this.#left(this);
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
    every(stream, (listener, place) => deliver(listener, place, answer, cursor));
    if (cursor !== undefined) merge(this.#running, stream, cursor);
    // Those who wait hear that all is well.
    for (const [listener, place] of this.#waiting) listener.passed?.(place.cursor);
    this.#admit();
  }
}

/** Acts for each listener: one that leaves meanwhile hears nothing more; one that joins has heard of it already. */
function every(stream: Stream, act: (listener: Listener, place: Place) => void): void {
  for (const [listener, place] of Array.from(stream.listeners)) if (!place.isLeft) act(listener, place);
}

/** Tells a listener what the stream has passed since the listener's place. */
function catchUp(stream: Stream, listener: Listener, place: Place): void {
  const behind = stream.past.slice(indexIn(stream, place.cursor));
  for (const { answer, cursor } of behind) if (!place.isLeft) deliver(listener, place, answer, cursor);
}

function deliver(
  listener: Listener,
  place: Place,
  answer: Answer | undefined,
  cursor: string | undefined,
): void {
  if (cursor !== undefined) place.cursor = cursor;
  if (answer) listener.next(answer, cursor);
  else listener.passed?.(cursor);
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
  for (const [listener, place] of stream.listeners) other.listeners.set(listener, place);
  every(stream, (listener, place) => catchUp(other, listener, place));
}
