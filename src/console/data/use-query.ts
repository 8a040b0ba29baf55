import { useCallback, useEffect, useRef, useState } from 'react';
import type { TypedDocumentString } from '../generated/index.js';
import { useSession } from '../app/session.js';
import { asGatewayError, isUnauthenticated, type GatewayError } from './gateway-error.js';
import { retryAfter } from './retry.js';
import { useGateway } from './use-gateway.js';

/** A query's answer as far as it is known. */
export interface Query<Data> {
  readonly data: Data | undefined;
  readonly error: GatewayError | undefined;
  readonly loading: boolean;
  readonly reload: () => void;
}

/**
 * Asks a query when a view appears, when its variables change and after `reload`. What fails for a while is asked
 * again by itself, and so is all that failed because the session had ended, once somebody has signed in again.
 */
export function useQuery<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
): Query<Data> {
  const gateway = useGateway();
  const { epoch, ended } = useSession();
  const [round, setRound] = useState(0);
  const [state, setState] = useState<Omit<Query<Data>, 'reload'>>(begun);
  const key = JSON.stringify(variables);
  const asked = useRef<string>(undefined);
  const reload = useCallback(() => setRound((now) => now + 1), []);

  useEffect(() => {
    const cancel = new AbortController();
    // While the same is tried again, its failure stays: whoever is about to read it, or to press its button, can.
    const isAgain = asked.current === `${epoch} ${key}`;
    asked.current = `${epoch} ${key}`;
    setState(({ data, error }) => ({ data, error: isAgain ? error : undefined, loading: true }));
    gateway.ask(document, JSON.parse(key) as Variables, cancel.signal).then(
      (data) => !cancel.signal.aborted && setState({ data, error: undefined, loading: false }),
      (cause: unknown) => {
        if (cancel.signal.aborted) return;
        const error = asGatewayError(cause);
        if (isUnauthenticated(error)) ended();
        setState(({ data }) => ({ data, error, loading: false }));
      },
    );
    return () => cancel.abort();
  }, [gateway, document, key, round, epoch, ended]);

  const { error, loading } = state;
  useEffect(() => (error && !loading ? retryAfter(error, reload) : undefined), [error, loading, reload]);
  return { ...state, reload };
}

const begun = { data: undefined, error: undefined, loading: true };
