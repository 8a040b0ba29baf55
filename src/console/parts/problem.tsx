import type { ReactElement } from 'react';
import { isPassing } from '../../client/core/error.js';
import { isUnauthenticated, type GatewayError } from '../data/gateway-error.js';
import { withWait } from './words.js';

interface ProblemProps {
  readonly error: GatewayError | undefined;
  /** For a question, which is asked again by itself, too; what was to be done is never done a second time. */
  readonly retry?: () => void;
  /** Whether it is being asked again. */
  readonly busy?: boolean;
}

/** Why something could not be shown or done, and what happens next. */
export function Problem({ error, retry, busy = false }: ProblemProps): ReactElement | null {
  if (!error || isUnauthenticated(error)) return null; // the page asks to sign in again
  return (
    <div className="problem">
      <p role="alert">{explain(error, retry !== undefined)}</p>
      {retry && (
        <button className="button small" type="button" onClick={retry}>
          {busy ? 'Trying …' : 'Try again'}
        </button>
      )}
    </div>
  );
}

interface LoadingProps {
  readonly of: {
    readonly error: GatewayError | undefined;
    readonly retry: () => void;
    readonly loading: boolean;
  };
}

/** That what a detail shows is being loaded, or why it is not: on a narrow screen the list, which says so, is hidden. */
export function Loading({ of: { error, retry, loading } }: LoadingProps): ReactElement {
  if (error) return <Problem error={error} retry={retry} busy={loading} />;
  return <p className="quiet">Loading …</p>;
}

function explain(error: GatewayError, isQuestion: boolean): string {
  const { code, retryAfter } = error;
  const message = isQuestion && code === 'UNREACHABLE' ? 'The gateway cannot be reached.' : error.message;
  if (retryAfter !== undefined)
    return isQuestion
      ? `${withWait(message, retryAfter, 'Trying again')} …`
      : `${withWait(message, retryAfter)}.`;
  return isQuestion && isPassing(error) ? `${message} Trying again by itself …` : message;
}
