import type { ReactElement } from 'react';
import { isPassing } from '../../client/core/error.js';
import { isUnauthenticated, type GatewayError } from '../data/gateway-error.js';

interface ProblemProps {
  readonly error: GatewayError | undefined;
  readonly retry?: () => void;
}

/** Why something could not be shown or done, and what happens next. */
export function Problem({ error, retry }: ProblemProps): ReactElement | null {
  if (!error || isUnauthenticated(error)) return null; // the page asks to sign in again
  return (
    <div className="problem" role="alert">
      <p>{explain(error)}</p>
      {retry && (
        <button className="button small" type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

function explain(error: GatewayError): string {
  const { code, message, retryAfter } = error;
  if (code === 'UNREACHABLE') return 'The gateway cannot be reached. Trying again by itself …';
  if (retryAfter !== undefined) return `${message.replace(/\.$/, '')}. Trying again in ${retryAfter} s …`;
  return isPassing(error) ? `${message} Trying again by itself …` : message;
}
