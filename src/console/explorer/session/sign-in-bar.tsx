import { useEffect, useRef, useState, type ReactElement, type RefObject, type SubmitEvent } from 'react';
import type { Session, Viewer } from './session.js';

/** The bar at the top of a page: who is signed in, or the sign-in form. */
export function SignInBar({ session }: { readonly session: Session }): ReactElement {
  const { viewer, problem } = session;
  const bar = useKeptFocus(viewer && viewer.email);
  return (
    <header className="bar" ref={bar}>
      <a className="bar-brand" href="/graphql">
        <Mark />
        Trivium
      </a>
      <nav className="bar-links" aria-label="Trivium">
        <a href="/">Console</a>
        <a href="/docs">Docs</a>
        <a href="/schema.graphql">Schema</a>
      </nav>
      {problem && (
        <p className="bar-problem" id={problemId} role="alert">
          {problem.message}
        </p>
      )}
      <p className="bar-status" role="status">
        {viewer && `Signed in as ${viewer.name}`}
      </p>
      {viewer === null && <SignInForm session={session} />}
      {viewer && <SignedIn session={session} viewer={viewer} />}
    </header>
  );
}

const problemId = 'bar-problem';

function SignInForm({ session }: { readonly session: Session }): ReactElement {
  const { problem, signIn, dismiss } = session;
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [busy, run] = useBusy();
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    run(() => signIn(email, password));
  };
  const state = {
    'aria-invalid': problem?.isUserError === true,
    'aria-describedby': problem && problemId,
  };
  return (
    <form className="bar-person" onSubmit={submit} onChange={dismiss}>
      <input
        type="email"
        placeholder="E-mail"
        aria-label="E-mail"
        autoComplete="username"
        required
        value={email}
        onChange={({ target }) => setEmail(target.value)}
        {...state}
      />
      <input
        type="password"
        placeholder="Password"
        aria-label="Password"
        autoComplete="current-password"
        required
        value={password}
        onChange={({ target }) => setPassword(target.value)}
        {...state}
      />
      <button type="submit" aria-disabled={busy}>
        Sign in
      </button>
    </form>
  );
}

interface SignedInProps {
  readonly session: Session;
  readonly viewer: Viewer;
}

function SignedIn({ session: { signOut }, viewer }: SignedInProps): ReactElement {
  const [busy, run] = useBusy();
  const grants = viewer.grants.join(', ') || 'none';
  return (
    <div className="bar-person">
      <p className="bar-viewer" title={`Grants: ${grants}`}>
        <b>{viewer.name}</b> <span>{viewer.email}</span>
      </p>
      <button type="button" aria-disabled={busy} onClick={() => run(signOut)}>
        Sign out
      </button>
    </div>
  );
}

/** Whether an action is running, and a function that starts one unless another is running. */
function useBusy(): readonly [boolean, (action: () => Promise<void>) => void] {
  const [busy, setBusy] = useState(false);
  const run = (action: () => Promise<void>): void => {
    if (busy) return;
    setBusy(true);
    void action().finally(() => setBusy(false));
  };
  return [busy, run];
}

/** Moves the focus to what replaces the focused element of the bar; not when the page opens. */
function useKeptFocus(who: string | null | undefined): RefObject<HTMLElement | null> {
  const bar = useRef<HTMLElement>(null);
  const before = useRef(who);
  useEffect(() => {
    const isLost = before.current !== undefined && document.activeElement === document.body;
    before.current = who;
    if (isLost) bar.current?.querySelector<HTMLElement>('input, button')?.focus();
  }, [who]);
  return bar;
}

function Mark(): ReactElement {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <path d="M16 17.5V27M16 17.5 7 7.5M16 17.5 25 7.5" />
      <circle cx="16" cy="17.5" r="4" />
    </svg>
  );
}
