import type { ReactElement } from 'react';
import { useSession } from '../app/session.js';

interface NoGrantProps {
  readonly grant: string;
  /** One that serves as well. */
  readonly other?: string;
  readonly what: string;
}

/** What a view says to whoever may not see it, and how that is changed. */
export function NoGrant({ grant, other, what }: NoGrantProps): ReactElement {
  const { viewer } = useSession();
  return (
    <section className="no-grant">
      <h1>You may not see {what}</h1>
      <p>
        That takes the grant <code>{grant}</code>
        {other && (
          <>
            {' '}
            or <code>{other}</code>
          </>
        )}
        , which <b>{viewer?.email}</b> does not have.
      </p>
      <p className="quiet">
        Whoever runs this gateway gives it in the setting <code>GRANTS</code>, for example{' '}
        <code>{`{"${viewer?.email}": ["${grant}"]}`}</code>. Sign in again afterwards.
      </p>
    </section>
  );
}

/** Whether the person who is signed in has a grant, as `SHIPMENTS_READ`; where that is not known, the gateway tells. */
export function useGrant(grant: string): boolean {
  const { viewer } = useSession();
  return viewer === undefined || (viewer?.grants.some((held) => held === grant) ?? false);
}
