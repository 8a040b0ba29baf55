import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createTrivium } from '@trivium/client';
import { TriviumProvider, useSession } from '@trivium/client/react';
import { LiveList } from './live-list.tsx';
import { Notes } from './notes.tsx';
import { SignIn } from './sign-in.tsx';

const url: string = import.meta.env['VITE_TRIVIUM_URL'] ?? 'http://127.0.0.1:4000';
const trivium = createTrivium({ url });

function App() {
  const { status, viewer, ended, error: unreached, signOut } = useSession();
  const [problem, setProblem] = useState<string>();
  const leave = () =>
    signOut().then(
      () => setProblem(undefined),
      (error: unknown) => setProblem(String(error)),
    );
  if (status === 'unknown') return <p>One moment … {unreached?.message}</p>;
  if (status === 'signed-out') return <SignIn hint={ended ? 'Your session has ended.' : undefined} />;
  return (
    <main>
      <header>
        {viewer?.name} <button onClick={() => void leave()}>Sign out</button>
        {problem && <p role="alert">{problem}</p>}
      </header>
      {/* Without the key, somebody who signs in elsewhere would see the notes of who was here before. */}
      <Notes key={viewer?.id} />
      <LiveList family="shipments" describe={({ shipmentId, stage }) => `${shipmentId} ${stage}`} />
      <LiveList
        family="payments"
        describe={({ paymentId, amount, currency }) =>
          [paymentId, amount, currency].filter((part) => part !== null).join(' ')
        }
      />
    </main>
  );
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <TriviumProvider trivium={trivium}>
      <App />
    </TriviumProvider>
  </StrictMode>,
);
