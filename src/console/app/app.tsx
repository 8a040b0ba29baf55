import type { ReactElement } from 'react';
import { useGateway } from '../data/use-gateway.js';
import { LiveFeed } from '../data/use-live.js';
import { useFocusOnChange } from './focus.js';
import { SessionContext, useNewSession, type Session } from './session.js';
import { Shell } from './shell.js';
import { SignInAgain, SignInPage } from './sign-in.js';

/** The console: who signs in sees the views. */
export function App(): ReactElement {
  const session = useNewSession(useGateway());
  return (
    <SessionContext value={session}>
      <Content session={session} />
    </SessionContext>
  );
}

function Content({ session: { viewer, hasEnded, error } }: { readonly session: Session }): ReactElement {
  useFocusOnChange(viewer === null ? 'nobody' : viewer?.id);
  if (viewer)
    // Another person gets new views: nothing of the former one stays.
    return (
      <LiveFeed key={viewer.id}>
        <Shell viewer={viewer} />
        {hasEnded && <SignInAgain viewer={viewer} />}
      </LiveFeed>
    );
  if (viewer === null) return <SignInPage />;
  return (
    <p className="waiting" role="status">
      {error ? `${error.message} Trying again …` : 'Loading …'}
    </p>
  );
}
