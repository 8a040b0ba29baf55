import { isSubscription, type Payload } from '../core/document.js';
import { failureOf, TriviumError, type Answer } from '../core/error.js';
import { headersFor, readAnswer, type HttpOptions } from '../core/http.js';
import type { Sink, Transport } from '../core/transport.js';
import { createStreams } from '../live/streams.js';
import { readBlocks, type EventBlock } from './event-stream.js';

/** The gateway shows every 12 seconds that a stream is alive; after this long without anything it is given up. */
const silenceMs = 30_000;
/** A stream that was silent for this long (or since the clock went back) is opened anew when the page is shown. */
const probeMs = 2_500;
/** How many equal subscriptions from places apart have a stream each: a browser opens only six connections over HTTP/1.1. */
const maxApart = 2;

/**
 * Runs each subscription as an answer of server-sent events, and equal ones as one. Nothing is asked again by itself: a
 * stream that is cut is a failure, `UNREACHABLE`.
 */
export function createStreamTransport(options: HttpOptions): Transport {
  const open = new Set<OpenStream>();
  const streams = createStreams(
    (query, variables, sink) => start({ query: query as string, variables }, sink),
    maxApart,
  );

  function start(payload: Payload, sink: Sink): () => void {
    const stream = new OpenStream(options, payload, sink, () => open.delete(stream));
    open.add(stream);
    return () => stream.stop();
  }

  return {
    subscribe({ query, variables }, sink) {
      const { after, ...others } = variables;
      if (typeof after !== 'string') return start({ query, variables }, sink);
      return streams.join(query, others, after, sink).stop;
    },
    restart: () => open.forEach((stream) => stream.cut()),
    wake: () => open.forEach((stream) => stream.isSilent && stream.cut()),
    stop: () => open.forEach((stream) => stream.stop()),
  };
}

/** One answer that stays open, until it ends in whatever way: then its sink has heard so, or was left. */
class OpenStream {
  readonly #controller = new AbortController();
  readonly #sink: Sink;
  readonly #ended: () => void;
  #heardAt = Date.now();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: HttpOptions, payload: Payload, sink: Sink, ended: () => void) {
    this.#sink = sink;
    this.#ended = ended;
    this.#heard();
    this.#run(options, payload).then(
      () => this.#end(() => sink.complete()),
      (error: unknown) => this.#end(() => sink.error(error as TriviumError)),
    );
  }

  get isSilent(): boolean {
    return Math.abs(Date.now() - this.#heardAt) > probeMs;
  }

  /** Gives the connection up; the sink hears of it. */
  cut(): void {
    this.#end(() => this.#sink.error(cutOff()));
  }

  /** Leaves it; the sink hears nothing more. */
  stop(): void {
    this.#end(() => {});
  }

  #end(tell: () => void): void {
    if (this.#controller.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#controller.abort();
    this.#ended();
    tell();
  }

  #heard(): void {
    this.#heardAt = Date.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.cut(), silenceMs);
  }

  async #run({ url, fetch, credentials }: HttpOptions, payload: Payload): Promise<void> {
    const caller = credentials();
    const { signal } = this.#controller;
    const response = await fetch(`${url}/graphql/stream`, {
      method: 'POST',
      headers: headersFor(caller, 'text/event-stream'),
      credentials: caller.credentials,
      body: JSON.stringify(payload),
      signal,
    }).catch((cause: unknown) => Promise.reject(cutOff(cause)));
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw failureOf(await readAnswer(response, signal), response.status);
    await this.#take(
      readBlocks(response.body, () => this.#heard()),
      isSubscription(payload.query),
    );
  }

  /** Passes on what comes, up to the end; a subscription that ends without an error is cut off. */
  async #take(blocks: AsyncIterable<EventBlock>, isEndless: boolean): Promise<void> {
    let retryAfter: number | undefined;
    let isWhole = !isEndless;
    try {
      for await (const { event, id, data, retry } of blocks) {
        if (this.#controller.signal.aborted) return;
        if (event === 'complete' && isWhole) return;
        if (event === 'complete') break;
        if (event === 'next') {
          const answer = JSON.parse(data ?? '') as Answer;
          isWhole ||= answer.data == null;
          this.#sink.next(answer);
        } else if (retry === undefined) this.#sink.passed?.(id);
        else retryAfter = Number(retry) / 1_000;
      }
    } catch (cause) {
      throw cutOff(cause);
    }
    throw cutOff(undefined, retryAfter);
  }
}

function cutOff(cause?: unknown, retryAfter?: number): TriviumError {
  const message = 'The live connection has ended.';
  const errors = retryAfter === undefined ? [] : [{ message, extensions: { retryAfter } }];
  return new TriviumError('UNREACHABLE', message, { cause, errors });
}
