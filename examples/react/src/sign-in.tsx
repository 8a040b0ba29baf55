import { useState, type FormEvent } from 'react';
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
    } catch {
      setProblem('The gateway cannot be reached.');
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      <input name="email" type="email" placeholder="E-mail" defaultValue="demo@example.com" />
      <input name="password" type="password" placeholder="Password" />
      <button>Sign in</button>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}
