import { useState, type SubmitEvent, type ReactElement } from 'react';
import type { Session, Viewer } from './session.js';

/** The bar on top of a page: who is signed in, or the form to sign in with. */
export function SignInBar({ session }: { readonly session: Session }): ReactElement {
  const { viewer, problem, signIn, signOut } = session;
  return (
    <header className="bar">
      <a className="bar-brand" href="/graphql">
        <Mark />
        Trivium
      </a>
      {problem !== undefined && (
        <p className="bar-problem" role="alert">
          {problem}
        </p>
      )}
      {viewer === null && <SignInForm signIn={signIn} />}
      {viewer && <SignedIn viewer={viewer} signOut={signOut} />}
    </header>
  );
}

function SignInForm({ signIn }: Pick<Session, 'signIn'>): ReactElement {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [busy, run] = useBusy();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    run(() => signIn(email, password));
  };
  return (
    <form className="bar-person" onSubmit={submit}>
      <input
        type="email"
        placeholder="E-mail"
        aria-label="E-mail"
        autoComplete="username"
        required
        value={email}
        onChange={({ target }) => setEmail(target.value)}
      />
      <input
        type="password"
        placeholder="Password"
        aria-label="Password"
        autoComplete="current-password"
        required
        value={password}
        onChange={({ target }) => setPassword(target.value)}
      />
      <button type="submit" disabled={busy}>
        Sign in
      </button>
    </form>
  );
}

function SignedIn({ viewer, signOut }: { readonly viewer: Viewer } & Pick<Session, 'signOut'>): ReactElement {
  const [busy, run] = useBusy();
  const grants = viewer.grants.join(', ') || 'none';
  return (
    <div className="bar-person">
      <p className="bar-viewer" title={`Grants: ${grants}`}>
        <b>{viewer.name}</b> <span>{viewer.email}</span>
      </p>
      <button type="button" disabled={busy} onClick={() => run(signOut)}>
        Sign out
      </button>
    </div>
  );
}

/** Whether an action runs, and the way to run one. */
function useBusy(): readonly [boolean, (action: () => Promise<void>) => void] {
  const [busy, setBusy] = useState(false);
  const run = (action: () => Promise<void>): void => {
    setBusy(true);
    void action().finally(() => setBusy(false));
  };
  return [busy, run];
}

function Mark(): ReactElement {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16 17.5V27M16 17.5 7 7.5M16 17.5 25 7.5" />
      <circle cx="16" cy="17.5" r="4" />
    </svg>
  );
}
