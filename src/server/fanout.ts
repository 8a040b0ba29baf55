import {
  createSourceEventStream,
  execute,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLFormattedError,
  type GraphQLSchema,
} from 'graphql';
import type { OperationResult } from 'graphql-ws';
import type { WebSocket } from 'ws';
import type { Context } from '../context.js';
import type { Following } from '../events/feed.js';
import { GatewayError } from '../errors.js';
import { Unrenderable } from '../events/retrier.js';
import type { Member, Rendering } from '../events/group.js';
import type { Multicast } from '../events/multicast.js';
import { isObject } from '../json.js';
import { takesMore } from './backlog.js';
import { tryAgainLater } from './connection.js';
import type { Messenger, Payloads } from './frames.js';
import { createHoldings, weigh } from './holdings.js';
import type { Rules } from './rules.js';
import { createSurveys } from './survey.js';

/** A subscription, and the socket and operation that its messages are for. */
export interface SocketSubscription extends ExecutionArgs {
  readonly socket: WebSocket;
  readonly operationId: string;
}

/** Lets those who subscribe to the same share one execution an event, and its bytes. */
export interface Fanout {
  /**
   * As graphql-js `subscribe`, but what it gives never has a value: messages go to the socket by themselves. It ends
   * with the feed, rejects where the place to resume from is no longer kept, and leaves with `return()`.
   */
  subscribe(subscription: SocketSubscription): Promise<Awaited<OperationResult>>;
}

const ignore = (): void => undefined;
const over = { done: true, value: undefined } as const;

/** Fan-out over the feed's multicast. */
export function createFanout(options: {
  readonly schema: GraphQLSchema;
  readonly rules: Rules;
  readonly multicast: Multicast;
  readonly messenger: Messenger;
}): Fanout {
  const { schema, rules, multicast, messenger } = options;
  const surveyOf = createSurveys(schema);
  const holdings = createHoldings();

  /** What besides its text tells a group from others of the same document. */
  function askedOf({ document, operationName, variableValues, contextValue }: ExecutionArgs): string {
    const { isPersonal, places } = surveyOf(document);
    const variables = Object.entries(variableValues ?? {}).filter(([name]) => !places.has(name));
    const who = isPersonal ? userOf(contextValue) : null;
    return JSON.stringify([operationName ?? null, Object.fromEntries(variables), who], inOrder);
  }

  /** The group, and a function that releases what its user holds of it; `RATE_LIMITED` if that would be too much. */
  function hold(args: ExecutionArgs, { selected }: Following<unknown>) {
    const asked = askedOf(args);
    const key = asked + args.document.loc?.source.body;
    const release = holdings.take(userOf(args.contextValue), weigh(args.document, key, asked, selected));
    if (!release) throw tooMuchHeld();
    return { key, release };
  }

  function rendering(args: ExecutionArgs, { wish, view, selected }: Following<unknown>): Rendering {
    // Not the first member's: the group outlives it.
    const lasting = (args.contextValue as Context).lasting();
    const toPayload = (result: ExecutionResult, context: Context): string => {
      const answer = rules.answer(result, context);
      if (answer.errors?.some(isOurs)) throw new Error('An event could not be made into a message.');
      return JSON.stringify(answer);
    };
    return {
      family: wish.family,
      only: selected[0],
      render(entry, replayed) {
        const rootValue = view(entry, replayed);
        if (rootValue === undefined) return undefined;
        const context = lasting.lasting();
        const result = execute({ ...args, contextValue: context, rootValue });
        return 'then' in result
          ? result.then((later) => toPayload(later, context))
          : toPayload(result, context);
      },
    };
  }

  return {
    async subscribe({ socket, operationId, ...args }) {
      const source = await createSourceEventStream(args);
      if (!(Symbol.asyncIterator in source)) return source as Awaited<OperationResult>;
      if (!isFollowing(source)) throw new Error('A subscription resolver gives what `Feed.follow` gives.');
      const subscriber = new Subscriber(messenger, socket, operationId, source.wish.after);
      const { key, release } = hold(args, source);
      try {
        subscriber.leave = multicast.join(key, rendering(args, source), subscriber);
      } catch (error) {
        release();
        throw error;
      }
      subscriber.release = release;
      return subscriber;
    },
  };
}

/**
 * One subscription on one socket: a member of its group, and an iterable without values, by which graphql-ws learns of
 * the end and tells of the client's. A class, as there are many: functions of their own would weigh more than the rest.
 */
class Subscriber implements Member, AsyncIterableIterator<never, undefined> {
  readonly after: number | undefined;
  leave: () => void = ignore;
  /** Releases what it holds. */
  release: () => void = ignore;
  readonly #messenger: Messenger;
  readonly #socket: WebSocket;
  readonly #operationId: string;
  readonly #ended: Promise<typeof over>;
  #resolve!: (end: typeof over | Promise<never>) => void;

  constructor(messenger: Messenger, socket: WebSocket, operationId: string, after: number | undefined) {
    this.#messenger = messenger;
    this.#socket = socket;
    this.#operationId = operationId;
    this.after = after;
    this.#ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  replay(payloads: Payloads): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.#socket.readyState !== this.#socket.OPEN) return resolve(false);
      this.#messenger.send(this.#socket, this.#operationId, payloads, (error) => resolve(!error));
    });
  }

  deliver(payloads: Payloads): boolean {
    if (!takesMore(this.#socket)) return false;
    this.#messenger.send(this.#socket, this.#operationId, payloads);
    return true;
  }

  end(reason?: unknown): void {
    this.release();
    this.release = ignore;
    // The client connects again, to another process if it can, and goes on from its last cursor: nothing is missed.
    if (reason instanceof Unrenderable) return this.#socket.close(tryAgainLater, 'Resume elsewhere');
    if (reason === undefined) return this.#resolve(over);
    const failed = Promise.reject(reason);
    // Whoever iterates hears of it, unless it had ended before.
    for (const promise of [failed, this.#ended]) promise.catch(ignore);
    this.#resolve(failed);
  }

  next(): Promise<typeof over> {
    return this.#ended;
  }

  return(): Promise<typeof over> {
    this.leave();
    this.end();
    // Even if it has failed: whoever leaves no longer listens for that.
    return Promise.resolve(over);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

function userOf(context: unknown): string {
  return (context as Context).caller?.userId ?? '';
}

function tooMuchHeld(): GatewayError {
  const message = 'Your subscriptions take up all that one user may: complete some, or filter by less.';
  return new GatewayError('RATE_LIMITED', message, { retryAfter: 1 });
}

/** A failure that is none of the client's doing, and may be over soon: sent as an answer, it would cost the event. */
function isOurs({ extensions }: GraphQLFormattedError): boolean {
  return extensions?.['code'] === 'INTERNAL_SERVER_ERROR';
}

function isFollowing(source: AsyncIterable<unknown>): source is Following<unknown> {
  return 'wish' in source && 'view' in source;
}

/** For `JSON.stringify`: the members of an object in the order of their names. */
function inOrder(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
