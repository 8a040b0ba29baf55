import { useId, useLayoutEffect, useRef, useState, type ReactElement, type SubmitEvent } from 'react';
import { Mark } from '../parts/icons.js';
import { pageSettings } from './page-settings.js';
import { useSession, type Viewer } from './session.js';

/** What nobody signed in gets to see. */
export function SignInPage(): ReactElement {
  return (
    <main className="sign-in" tabIndex={-1}>
      <title>Sign in · Trivium</title>
      <div className="sign-in-card">
        <p className="brand brand-large">
          <Mark /> Trivium
        </p>
        <h1>Sign in</h1>
        <p className="quiet">Notes, appointments, shipments and payments, live, through one GraphQL API.</p>
        <SignInForm />
      </div>
      <p className="quiet sign-in-links">
        <a href="/graphql">Explorer</a> <a href="/docs">Documentation</a> <a href="/schema.graphql">Schema</a>
      </p>
    </main>
  );
}

/** Over the views, which stay as they are, when the session ended by itself. */
export function SignInAgain({ viewer }: { readonly viewer: Viewer }): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    shown?.querySelector<HTMLElement>('[type="password"]')?.focus(); // the e-mail address is known
    return () => shown?.close(); // while it is in the page: the focus goes back to where it was
  }, []);
  return (
    // Escape would leave views that cannot go on, and a second one closes a dialog whatever `cancel` says.
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={title}
      onKeyDown={(event) => event.key === 'Escape' && event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
    >
      <h2 id={title}>The session has ended</h2>
      <p className="quiet">Sign in again to go on where you were. Nothing that you typed is lost.</p>
      <SignInForm email={viewer.email} />
    </dialog>
  );
}

function SignInForm({ email: known = '' }: { readonly email?: string }): ReactElement {
  const { signIn } = useSession();
  const [email, setEmail] = useState(known);
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const problemId = useId();

  async function enter(who: string, secret: string): Promise<void> {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    const refusal = await signIn(who, secret).catch(() => 'The gateway cannot be reached.');
    setBusy(false);
    setProblem(refusal);
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    void enter(email, password);
  };
  const fault = problem === undefined ? {} : { 'aria-invalid': true, 'aria-describedby': problemId };
  return (
    <>
      <form className="form" onSubmit={submit}>
        <label className="field">
          <span>E-mail</span>
          <input
            type="email"
            autoComplete="username"
            required
            value={email}
            onChange={({ target }) => setEmail(target.value)}
            {...fault}
          />
        </label>
        <label className="field">
          <span>Password</span>
          <input
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={({ target }) => setPassword(target.value)}
            {...fault}
          />
        </label>
        {problem !== undefined && (
          <p className="fault" id={problemId} role="alert">
            {problem}
          </p>
        )}
        <button className="button primary" type="submit" aria-disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
      <DemoUsers only={known} enter={(who, secret) => void enter(who, secret)} />
    </>
  );
}

interface DemoUsersProps {
  /** The address of the one to offer, if views are open that are somebody's; else empty. */
  readonly only: string;
  readonly enter: (email: string, password: string) => void;
}

function DemoUsers({ only, enter }: DemoUsersProps): ReactElement | null {
  const users = (pageSettings.sandbox?.users ?? []).filter(({ email }) => only === '' || email === only);
  if (users.length === 0) return null;
  return (
    <div className="demo-users">
      <p className="or">
        <span>or as a demo user of the sandbox</span>
      </p>
      {users.map(({ name, email, password }) => (
        <button className="button" type="button" key={email} onClick={() => enter(email, password)}>
          Continue as {name}
        </button>
      ))}
    </div>
  );
}
