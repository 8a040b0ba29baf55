import type { ReactElement } from 'react';
import { useGateway } from '../data/use-gateway.js';
import { LiveFeed } from '../data/use-live.js';
import { useFocusOnChange } from './focus.js';
import { SessionContext, useNewSession, type Session } from './session.js';
import { Shell } from './shell.js';
import { SignInAgain, SignInPage } from './sign-in.js';

/** The console: who signs in sees the views, and so does whoever may be signed in, where that cannot be told for now. */
export function App(): ReactElement {
  const session = useNewSession(useGateway());
  return (
    <SessionContext value={session}>
      <Content session={session} />
    </SessionContext>
  );
}

function Content({
  session: { viewer, hasEnded, error, turn },
}: {
  readonly session: Session;
}): ReactElement {
  const isLoading = viewer === undefined && !error;
  // Who is known only after the views were shown has them go on, and the focus stays in them.
  const views = isLoading ? undefined : `${turn}`;
  useFocusOnChange(viewer === null ? 'nobody' : views);
  if (viewer === null) return <SignInPage />;
  if (isLoading)
    return (
      <p className="waiting" role="status">
        Loading …
      </p>
    );
  // Another person gets new views: nothing of the former one stays.
  return (
    <LiveFeed key={turn}>
      <Shell />
      {viewer && hasEnded && <SignInAgain viewer={viewer} />}
    </LiveFeed>
  );
}
