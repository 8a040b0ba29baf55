import {
  createSourceEventStream,
  getOperationAST,
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLSchema,
} from 'graphql';
import type { OperationResult } from 'graphql-ws';
import type { Context } from '../../api/context.js';
import type { LiveSource } from '../../events/feed/broadcast.js';
import type { Feed, SubscriptionSource } from '../../events/feed/feed.js';
import { GatewayError } from '../../graphql/errors.js';
import type { Selection } from '../../events/feed/selection.js';
import { Unrenderable } from '../../events/feed/retrier.js';
import type { Member, Outlet } from '../../events/feed/member.js';
import { isObject } from '../../lib/json.js';
import { userCaller, type MemoryLedger } from '../../lib/memory/memory-ledger.js';
import { createSubscriptionQuota, weigh, type SubscriptionQuota } from './subscription-quota.js';
import type { Metrics } from '../../lib/telemetry/metrics.js';
import type { CompiledDocuments } from '../operation/compiled-documents.js';
import type { OperationRules } from '../operation/operation-rules.js';
import { createRenderer } from './renderer.js';
import { createSharingAnalysis, type Sharing } from './share-scope.js';

/** A subscription, and where its updates are sent. */
export interface LiveSubscription extends ExecutionArgs {
  readonly outlet: Outlet;
}

const ignore = (): void => undefined;
const ended = { done: true, value: undefined } as const;

/** The schema that is executed, the feed whose events it is executed on, and what bounds and measures it. */
interface FanoutOptions {
  readonly schema: GraphQLSchema;
  readonly rules: OperationRules;
  readonly feed: Pick<Feed, 'multicast' | 'cursor' | 'position'>;
  readonly metrics: Metrics;
  readonly ledger: MemoryLedger;
  readonly compiled: CompiledDocuments;
}

/** Executes each event once for all equal subscriptions, whatever their transport. */
export class Fanout {
  readonly #rules: OperationRules;
  readonly #feed: FanoutOptions['feed'];
  readonly #metrics: Metrics;
  readonly #sharingOf: (document: DocumentNode) => Sharing;
  readonly #quota: SubscriptionQuota;
  readonly #compiled: CompiledDocuments;

  constructor({ schema, rules, feed, metrics, ledger, compiled }: FanoutOptions) {
    this.#compiled = compiled;
    this.#rules = rules;
    this.#feed = feed;
    this.#metrics = metrics;
    this.#sharingOf = createSharingAnalysis(schema);
    this.#quota = createSubscriptionQuota(ledger);
    metrics.gauge('trivium_subscriptions', 'Subscriptions that are established.', () => this.#quota.size);
    metrics.gauge(
      'trivium_subscription_groups',
      'Groups of equal subscriptions: each renders an event once.',
      () => feed.multicast.size,
    );
  }

  /**
   * As graphql-js `subscribe`, but the iterable never yields: updates go straight to the outlet. The iterable
   * ends with the feed, rejects if the position to resume from is no longer kept, and leaves its group on `return()`.
   */
  async subscribe({ outlet, ...args }: LiveSubscription): Promise<Awaited<OperationResult>> {
    const source = await createSourceEventStream(args);
    if (!(Symbol.asyncIterator in source)) return source as Awaited<OperationResult>;
    if (!isSource(source))
      throw new Error('A subscription resolver must return what `follow` of a feed or a broadcast does.');
    const followed = isLive(source) ? undefined : source;
    const subscriber = new Subscriber(outlet, callerOf(args.contextValue), followed?.after);
    const { key, release } = this.#hold(args, followed?.selected ?? []);
    try {
      subscriber.leave = this.#join(key, args, source, subscriber);
    } catch (error) {
      release();
      throw error;
    }
    subscriber.release = release;
    const { multicast } = this.#feed;
    // Before anything is sent: a group never sends to a new member at once.
    outlet.begin?.(followed && (followed.cursor ?? this.#feed.cursor(this.#feed.position())), () =>
      multicast.passed(key, subscriber),
    );
    return subscriber;
  }

  /** The group's key, and a function that releases what is accounted for; `RATE_LIMITED` if that is too much. */
  #hold(args: ExecutionArgs, selected: readonly Selection[]) {
    const { document } = args;
    const operation = getOperationAST(document, args.operationName)!;
    const { fields } = this.#rules.costs.of(document, operation, args.variableValues ?? undefined);
    const parameters = parametersOf(args, this.#sharingOf(document));
    const key = parameters + document.loc?.source.body;
    const held = weigh({ document, key, parameters, selected, fields });
    const release = this.#quota.take(userOf(args.contextValue), held);
    if (!release) throw tooMuchHeld();
    this.#metrics.operationCost.of('subscription').add(fields);
    return { key, release };
  }

  /** Adds the subscriber to those that want the same of the source; returns a function to leave. */
  #join(key: string, args: ExecutionArgs, source: Source, member: Member): () => void {
    const run = createRenderer(args, this.#rules, this.#compiled);
    if (isLive(source)) return source.broadcast.join(key, (item) => run(source.view(item)), member);
    const { family, selected, view } = source;
    return this.#feed.multicast.join(key, { family, selected, view, run }, member);
  }
}

/** What tells apart the groups of one document: operation name, variables and, where it is personal, the user. */
function parametersOf(
  { operationName, variableValues, contextValue }: ExecutionArgs,
  { isPersonal, cursorVariables }: Sharing,
): string {
  const variables = Object.entries(variableValues ?? {}).filter(([name]) => !cursorVariables.has(name));
  const who = isPersonal ? userOf(contextValue) : null;
  return JSON.stringify([operationName ?? null, Object.fromEntries(variables), who], sortMembers);
}

/**
 * One subscription: a member of its group, and the iterable by which its transport learns that it has ended, and says
 * that the client has left. A class, since there are many: closures would take more memory than all the rest.
 */
class Subscriber implements Member, AsyncIterableIterator<never, undefined> {
  readonly after: number | undefined;
  readonly caller: string;
  readonly outlet: Outlet;
  leave: () => void = ignore;
  /** Releases the memory accounted for it. */
  release: () => void = ignore;
  readonly #ended: Promise<typeof ended>;
  #resolve!: (end: typeof ended | Promise<never>) => void;

  constructor(outlet: Outlet, caller: string, after: number | undefined) {
    this.outlet = outlet;
    this.after = after;
    this.caller = caller;
    this.#ended = new Promise((resolve) => (this.#resolve = resolve));
  }

  end(reason?: unknown): void {
    this.release();
    this.release = ignore;
    // The client reconnects, to another process if it can, and resumes from its last cursor: it misses nothing.
    if (reason instanceof Unrenderable) return this.outlet.resumeElsewhere();
    if (reason === undefined) return this.#resolve(ended);
    const failed = Promise.reject(reason);
    // The transport gets the rejection, unless the stream had ended before: it must not go unhandled then.
    for (const promise of [failed, this.#ended]) promise.catch(ignore);
    this.#resolve(failed);
  }

  next(): Promise<typeof ended> {
    return this.#ended;
  }

  return(): Promise<typeof ended> {
    this.leave();
    this.end();
    // Even after a failure: a client that leaves no longer wants to know.
    return Promise.resolve(ended);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** As operations are charged to. */
function callerOf(context: unknown): string {
  return userCaller(userOf(context));
}

function userOf(context: unknown): string {
  return (context as Context).caller?.userId ?? '';
}

function tooMuchHeld(): GatewayError {
  const message =
    'Your subscriptions use all that a user may: complete some, or use shorter filters and fewer fields.';
  return new GatewayError('RATE_LIMITED', message, { retryAfter: 1 });
}

type Source = SubscriptionSource<unknown> | LiveSource<unknown, unknown>;

function isSource(source: AsyncIterable<unknown>): source is Source {
  return 'view' in source && ('family' in source || 'broadcast' in source);
}

function isLive(source: Source): source is LiveSource<unknown, unknown> {
  return 'broadcast' in source;
}

/** A replacer for `JSON.stringify` that sorts the members of objects by name. */
function sortMembers(_: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
