import { useCallback, useEffect, useRef, useState } from 'react';
import type { TypedDocumentString } from '../generated/index.js';
import { useSession } from '../app/session.js';
import { asGatewayError, isUnauthenticated, type GatewayError } from './gateway-error.js';
import { useGateway } from './use-gateway.js';

/** A mutation that a form submits. */
export interface Mutation<Data, Variables> {
  /** Undefined if it failed: `error` says why then. */
  readonly run: (variables: Variables) => Promise<Data | undefined>;
  readonly busy: boolean;
  readonly error: GatewayError | undefined;
}

/** Sends a mutation when asked to; it is never sent twice by itself. */
export function useMutation<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
): Mutation<Data, Variables> {
  const gateway = useGateway();
  const { ended } = useSession();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<GatewayError>();
  const run = useCallback(
    async (variables: Variables) => {
      setBusy(true);
      setError(undefined);
      try {
        return await gateway.ask(document, variables);
      } catch (cause) {
        const failure = asGatewayError(cause);
        if (isUnauthenticated(failure)) ended();
        setError(failure);
        return undefined;
      } finally {
        setBusy(false);
      }
    },
    [gateway, document, ended],
  );
  return { run, busy, error };
}

/** Tells whether the form is still in the page: what it began may end after that, when somebody is elsewhere already. */
export function useIsShown(): () => boolean {
  const isShown = useRef(false);
  useEffect(() => {
    isShown.current = true;
    return () => void (isShown.current = false);
  }, []);
  return useCallback(() => isShown.current, []);
}
