import { useCallback, useEffect, useRef, useState } from 'react';
import { useSession } from '../app/session.js';
import { isPlaceLost } from '../../client/core/error.js';
import { asGatewayError, isUnauthenticated, type GatewayError } from './gateway-error.js';
import { retryAfter } from './retry.js';

/** One page of a connection. */
export interface Page<Row> {
  readonly nodes: readonly Row[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null | undefined };
}

/** A list that grows page by page. */
export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  /** Whether the first page has come: what is not among the rows may be there, until then. */
  readonly hasBegun: boolean;
  readonly loading: boolean;
  readonly error: GatewayError | undefined;
  /** Loads the next page unless one is being loaded, or failed. */
  readonly more: () => void;
  /** Asks for what failed once more. */
  readonly retry: () => void;
  readonly reload: () => void;
  /** Changes the rows that are loaded. */
  readonly change: (act: Change<Row>) => void;
}

type Change<Row> = (rows: readonly Row[]) => readonly Row[];

interface State<Row> {
  readonly rows: readonly Row[];
  readonly after: string | undefined;
  readonly hasMore: boolean;
  readonly loading: boolean;
  readonly error: GatewayError | undefined;
  /** After what the page comes that was asked for last; undefined if that is the first one. */
  readonly asked: string | undefined;
}

const begun = {
  rows: [],
  after: undefined,
  hasMore: true,
  loading: false,
  error: undefined,
  asked: undefined,
};

/**
 * The pages of a connection, the first one when the view appears. A new `load` begins anew: give one function for one
 * filter. A row that comes again on a later page, since it moved meanwhile, is not shown twice.
 */
export function usePages<Row extends { readonly id: string }>(
  load: (after: string | undefined) => Promise<Page<Row>>,
): Pages<Row> {
  const { epoch } = useSession();
  const [state, setState] = useState<State<Row>>(begun);
  /** Which list is the current one: answers for an earlier one are dropped. */
  const current = useRef<object>(undefined);
  const pending = useRef(false);
  /** What was changed since the page that is being loaded was asked for: its answer may be older. */
  const changes = useRef<readonly Change<Row>[]>([]);
  const [round, setRound] = useState(0);

  const next = useCallback(
    async (after: string | undefined, isAgain = false) => {
      if (pending.current) return;
      pending.current = true;
      changes.current = [];
      const list = current.current;
      // While it is tried again, the failure stays: whoever is about to read it, or to press its button, can.
      setState((now) => ({ ...now, loading: true, error: isAgain ? now.error : undefined, asked: after }));
      const outcome = await load(after).then(
        (page) => {
          const acts = changes.current;
          return (now: State<Row>) => changed(withPage(now, page, after === undefined), acts);
        },
        (cause: unknown) => (now: State<Row>) => ({ ...now, loading: false, error: asGatewayError(cause) }),
      );
      if (list !== current.current) return;
      pending.current = false;
      setState(outcome);
    },
    [load],
  );

  // Another filter shows nothing of the former one; a reload keeps what there is until the answer comes.
  useEffect(() => setState(begun), [load]);
  useEffect(() => {
    current.current = {};
    pending.current = false;
    void next(undefined);
  }, [next, round, epoch]);

  const reload = useCallback(() => setRound((now) => now + 1), []);
  const { after, hasMore, loading, error, asked } = state;
  const more = useCallback(() => {
    if (!error && hasMore && after !== undefined) void next(after);
  }, [error, hasMore, after, next]);
  const retry = useCallback(() => {
    if (error && isPlaceLost(error)) reload();
    else void next(asked, true);
  }, [error, asked, next, reload]);
  useRetry(loading ? undefined : error, retry);
  const change = useCallback((act: Change<Row>) => {
    if (pending.current) changes.current = [...changes.current, act];
    setState((now) => changed(now, [act]));
  }, []);
  const hasBegun = !hasMore || after !== undefined;
  return { ...state, hasBegun, more, retry, reload, change };
}

/** Asks again by itself for what may pass, and to sign in for what does not without. */
function useRetry(error: GatewayError | undefined, retry: () => void): void {
  const { ended } = useSession();
  useEffect(() => {
    if (!error) return undefined;
    if (isUnauthenticated(error)) ended();
    return retryAfter(error, retry);
  }, [error, retry, ended]);
}

function changed<Row>(state: State<Row>, acts: readonly Change<Row>[]): State<Row> {
  return { ...state, rows: acts.reduce((rows, act) => act(rows), state.rows) };
}

function withPage<Row extends { readonly id: string }>(
  { rows }: State<Row>,
  { nodes, pageInfo }: Page<Row>,
  isFirst: boolean,
): State<Row> {
  const before = isFirst ? [] : rows;
  const known = new Set(before.map(({ id }) => id));
  return {
    rows: [...before, ...nodes.filter(({ id }) => !known.has(id))],
    after: pageInfo.endCursor ?? undefined,
    hasMore: pageInfo.hasNextPage,
    loading: false,
    error: undefined,
    asked: undefined,
  };
}
