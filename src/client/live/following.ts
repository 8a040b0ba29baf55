import { callBack } from '../core/attempt.js';
import type { AnyDocument } from '../core/document.js';
import { failureOf, isPassing, isPlaceLost, TriviumError } from '../core/error.js';
import { createPauses } from '../core/pause.js';
import type { Trivium } from '../core/trivium.js';
import type { Entity } from './order.js';
import { createStreams, type Part, type Streams } from './streams.js';

/** What is shown of anything that the gateway is asked for. */
export interface Asked {
  /** Whether an answer is awaited. */
  readonly loading: boolean;
  /** Why the last try failed; what was there stays. What may pass is tried again by itself. */
  readonly error: TriviumError | undefined;
}

type Data = Readonly<Record<string, unknown>>;

/** What is followed: how it is asked for, and takes what comes. */
export interface Subject {
  /** The query, which selects `liveCursor`, and its variables. */
  readonly query: readonly [document: AnyDocument, variables: object];
  /** The subscription to what changes, and its variables without `after`. */
  readonly updates: readonly [document: AnyDocument, variables: object];
  /** The name of the changed entity in an update. */
  readonly one: string;
  /** Takes the answer to the query. */
  begin(data: Data): void;
  /** Takes an entity as it has become. */
  take(entity: Entity): void;
}

const shared = new WeakMap<Trivium, Streams>();

/** The streams of a client: one set for all that is live in it. */
function streamsOf(trivium: Trivium): Streams {
  const streams = shared.get(trivium) ?? createStreams(trivium.subscribe);
  shared.set(trivium, streams);
  return streams;
}

/** Asks for a subject, and follows it from its place in the log, while anyone listens to its state. */
export class Following<State extends Asked> {
  readonly #trivium: Trivium;
  readonly #subject: Subject;
  readonly #listeners = new Set<() => void>();
  readonly #pauses = createPauses();
  #state: State;
  /** Where it is in the log: its answer's `liveCursor`, moved on by each update. */
  #cursor: string | undefined;
  #part: Part | undefined;
  /** Why it is not followed any more, until it is again: a further page does not change that. */
  #ended: TriviumError | undefined;
  #isAboutToTell = false;
  /** Counts what was begun, so that the answer to what was given up is not heard any more. */
  #epoch = 0;

  constructor(trivium: Trivium, subject: Subject, state: State) {
    this.#trivium = trivium;
    this.#subject = subject;
    this.#state = state;
  }

  /** The same object while nothing changes. */
  get state(): State {
    return this.#state;
  }

  /** Bound, since React takes it off. */
  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      if (this.#cursor === undefined) void this.#load();
      else this.#resume(this.#cursor);
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#pause();
    };
  };

  readonly reload = async (): Promise<void> => {
    this.#pause();
    this.#cursor = undefined;
    await this.#load();
  };

  /** Asks the subject's query with these variables. Resolves to why that failed, if it did and is not given up. */
  async ask(variables: object, take: (data: Data) => void): Promise<TriviumError | undefined> {
    const mine = this.#epoch;
    this.show({ loading: true } as Partial<State>);
    let failure: TriviumError | undefined;
    try {
      const answer = await this.#trivium.execute(this.#subject.query[0], variables);
      if (mine !== this.#epoch) return undefined;
      if (answer.errors?.length || !answer.data) throw failureOf(answer);
      take(answer.data as Data);
    } catch (error) {
      failure = error as TriviumError;
    }
    if (mine !== this.#epoch) return undefined;
    this.show({ loading: false, error: failure ?? this.#ended } as Partial<State>);
    return failure;
  }

  /** Changes the state, and tells whoever listens soon: once for many changes, as when a page catches up. */
  show(change: Partial<State>): void {
    const next = { ...this.#state, ...change };
    const isSame = (Object.keys(next) as (keyof State)[]).every((key) => next[key] === this.#state[key]);
    if (isSame) return;
    this.#state = next;
    if (this.#isAboutToTell) return;
    this.#isAboutToTell = true;
    setTimeout(() => {
      this.#isAboutToTell = false;
      for (const listener of this.#listeners) callBack(listener);
    });
  }

  /** Asks for all of it, until that is answered for good. */
  async #load(attempts = 0): Promise<void> {
    this.#epoch++;
    this.#ended = undefined;
    const failure = await this.ask(this.#subject.query[1], (data) => {
      this.#subject.begin(data);
      this.#cursor = data['liveCursor'] as string;
      if (this.#listeners.size > 0) this.#follow(this.#cursor, attempts);
    });
    if (failure) this.#ended = failure;
    if (failure && isPassing(failure)) void this.#loadLater(failure, attempts);
  }

  /** Asks again after a pause, which the return of the network ends. */
  async #loadLater({ retryAfter = 0 }: TriviumError, attempts: number): Promise<void> {
    const mine = this.#epoch;
    const page = typeof window === 'undefined' ? undefined : window;
    const hurry = () => this.#pauses.skip();
    page?.addEventListener?.('online', hurry); // React Native has a window without it
    await this.#pauses.wait(attempts, retryAfter * 1_000);
    page?.removeEventListener?.('online', hurry);
    if (mine === this.#epoch && this.#listeners.size > 0) await this.#load(attempts + 1);
  }

  /** Follows from where it is; a failure of before is to show itself again. */
  #resume(after: string): void {
    this.#end(undefined);
    this.#follow(after);
  }

  /** Follows from a place in the log; `attempts` counts the places that did not count. */
  #follow(after: string, attempts = 0): void {
    const { updates, one } = this.#subject;
    let failed = attempts;
    this.#part = streamsOf(this.#trivium).join(...updates, after, {
      next: ({ data }) => {
        failed = 0;
        const [update] = Object.values((data ?? {}) as Record<string, Record<string, Entity> | null>);
        if (update?.[one]) this.#subject.take(update[one]);
      },
      error: (failure) => {
        this.#leave();
        if (!isPlaceLost(failure)) return this.#end(failure);
        // What was missed cannot be told any more.
        this.#cursor = undefined;
        return void this.#loadLater(failure, failed);
      },
      complete: () => {
        this.#leave();
        this.#end(new TriviumError('DISPOSED', 'The client was disposed of.'));
      },
    });
  }

  /** Shows why it is not followed any more, or that it is. */
  #end(error: TriviumError | undefined): void {
    this.#ended = error;
    this.show({ error } as Partial<State>);
  }

  #pause(): void {
    this.#epoch++;
    this.#leave();
    if (this.#state.loading && this.#cursor !== undefined) this.#state = { ...this.#state, loading: false };
  }

  /** Stops following; it goes on from there. */
  #leave(): void {
    this.#cursor = this.#part?.cursor ?? this.#cursor;
    this.#part?.stop();
    this.#part = undefined;
  }
}
