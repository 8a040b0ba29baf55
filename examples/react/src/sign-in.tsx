import { useState, type FormEvent } from 'react';
import { TriviumError } from '@trivium/client';
import { useSession } from '@trivium/client/react';

export function SignIn({ hint }: { hint: string | undefined }) {
  const { signIn } = useSession();
  const [problem, setProblem] = useState(hint);

  async function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    try {
      // A wrong password is no exception, but data.
      const { errors } = await signIn(String(form.get('email')), String(form.get('password')));
      setProblem(errors[0]?.message);
    } catch (error) {
      // Nobody decided: the gateway cannot be reached, say, or there were too many tries.
      setProblem(error instanceof TriviumError ? error.message : String(error));
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      <label>
        E-mail <input name="email" type="email" autoComplete="username" defaultValue="demo@example.com" />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" />
      </label>
      <button>Sign in</button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}
