import {
  cacheExchange,
  Client,
  composeExchanges,
  makeErrorResult,
  makeResult,
  type Exchange,
  type ExchangeIO,
  type Operation,
  type OperationResult,
} from '@urql/core';
import {
  filter,
  fromValue,
  make,
  makeSubject,
  map,
  merge,
  mergeMap,
  pipe,
  share,
  switchMap,
  takeUntil,
  tap,
} from 'wonka';
import type { Answer, Trivium } from '../core/trivium.js';
import { ask } from '../live/ask.js';
import { Coverage } from '../live/coverage.js';
import { onViewer } from '../live/viewer.js';
import { hasLiveList } from './live-lists.js';
import { ShownOperations } from './shown-operations.js';

/** What urql may be given besides. */
export interface UrqlOptions {
  /** The exchanges between, for all but the live lists: by default urql's document cache; Graphcache, say. */
  readonly exchanges?: readonly Exchange[];
}

/**
 * An urql client over `trivium`: see `triviumExchange`.
 *
 * @example
 * const client = createUrqlClient(createTrivium({ url: 'http://127.0.0.1:4000' }));
 */
export function createUrqlClient(trivium: Trivium, options: UrqlOptions = {}): Client {
  return new Client({ url: `${trivium.url}/graphql`, exchanges: [triviumExchange(trivium, options)] });
}

/**
 * The last exchange of an urql client, over `trivium`: one sign-in, operations over HTTP, subscriptions that resume. What
 * asks for `liveCursor` beside `shipments` or `payments` has a list that pages by `after`: each operation that shows the
 * list has all pages of it. While a subscription to all `shipmentUpdates` or `paymentUpdates` is mounted, the family's
 * lists are live: rows change, come, go, and take their places, and none goes back in time. For that both select
 * `id revision updatedAt`, the service's own id, and what is filtered by, as the documents of `/operations` do. All else
 * goes through `exchanges`. Everything is forgotten and asked for again when somebody else signs in.
 */
export function triviumExchange(
  trivium: Trivium,
  { exchanges = [cacheExchange] }: UrqlOptions = {},
): Exchange {
  return ({ client, dispatchDebug }) => {
    const shown = new ShownOperations(client);
    const { source: resets$, next: reset } = makeSubject<void>();
    const coverage = new Coverage({
      trivium,
      apply: shown.apply,
      expired() {
        shown.clear();
        shown.askAgain(isLive);
      },
    });
    onViewer(trivium, () => {
      shown.clear();
      coverage.clear();
      reset();
      shown.askAgain();
    });
    const network: ExchangeIO = (operations$) =>
      pipe(
        operations$,
        filter(({ kind }) => kind !== 'teardown'),
        mergeMap((operation) => answer({ coverage, shown }, operation, operations$)),
      );
    const lists = listExchange({ coverage, shown });
    // The exchanges between are made anew to forget what they know.
    const between = () => composeExchanges([...exchanges])({ client, dispatchDebug, forward: network });
    return (operations$) => {
      const tracked$ = pipe(operations$, tap(shown.track), share);
      const starts$ = merge([fromValue(undefined), resets$]);
      const others$ = filter((operation: Operation) => !isLive(operation))(tracked$);
      return merge([
        pipe(tracked$, filter(isLive), share, lists),
        pipe(
          starts$,
          switchMap(() => between()(others$)),
        ),
        shown.changes$,
      ]);
    };
  };
}

function isLive({ kind, query }: Operation): boolean {
  return kind !== 'mutation' && hasLiveList(query);
}

interface Parts {
  readonly coverage: Coverage;
  readonly shown: ShownOperations;
}

/** Answers live lists from what is known, or by the gateway. */
function listExchange(parts: Parts): ExchangeIO {
  const { shown } = parts;
  return (operations$) =>
    pipe(
      operations$,
      filter(({ kind }) => kind !== 'teardown'),
      mergeMap((operation) => {
        const { requestPolicy } = operation.context;
        const data = requestPolicy === 'network-only' ? undefined : shown.read(operation);
        const isAsked = requestPolicy !== 'cache-only' && !(data && requestPolicy === 'cache-first');
        const known = { ...makeResult(operation, { data: data ?? null }), stale: isAsked };
        const asked$ = pipe(answer(parts, operation, operations$), map(shown.take));
        return merge([...(data || !isAsked ? [fromValue(known)] : []), ...(isAsked ? [asked$] : [])]);
      }),
    );
}

/** What the gateway says to an operation, until that is torn down, or asked again whatever is said. */
function answer(parts: Parts, operation: Operation, operations$: Parameters<ExchangeIO>[0]) {
  const isEnd = ({ kind, key, context }: Operation) =>
    key === operation.key && (kind === 'teardown' || context.requestPolicy === 'network-only');
  return pipe(answers(parts, operation), takeUntil(pipe(operations$, filter(isEnd))));
}

function answers({ coverage, shown }: Parts, operation: Operation) {
  const { kind, query } = operation;
  const variables = shown.variablesOf(operation);
  return make<OperationResult>((observer) => {
    const { complete } = observer;
    let { next } = observer;
    const error = (failure: Error) => {
      next(makeErrorResult(operation, failure));
      complete();
    };
    const told = (update: Answer) => next(makeResult(operation, update as never));
    if (kind === 'subscription') return coverage.subscribe(query, variables, { next: told, error, complete });
    const leave = ask(coverage, query, variables, { next: told, error, complete });
    if (kind !== 'mutation') return leave;
    // If the exchanges were made anew meanwhile, what became of it is told past them.
    return () => void (next = shown.tell);
  });
}
