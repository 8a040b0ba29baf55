import { useCallback, useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { createRoot } from 'react-dom/client';
import { GraphiQL, HISTORY_PLUGIN } from 'graphiql';
// oxlint-disable-next-line import/no-unassigned-import -- it tells the editor where its workers are
import 'graphiql/setup-workers/vite';
import { DarkTheme } from './editor/dark-theme.js';
import { EndWithTab } from './editor/end-with-tab.js';
import { createFetcher } from './fetcher.js';
import { ForgetAnswers } from './forget-answers.js';
import { messagesPlugin } from './messages.js';
import { HoverBelow } from './editor/hover-placement.js';
import type { Problem } from './session/problem.js';
import { samples } from './samples.js';
import { schemaQuery, withSchema } from './schema.js';
import { useSession, type Viewer } from './session/session.js';
import { SignInBar } from './session/sign-in-bar.js';
import { keepsHeaders, openStorage } from './storage.js';
import { SystemTheme } from './editor/system-theme.js';
import { TabKey } from './editor/tab-navigation.js';
import { Wheel } from './editor/wheel-scrolling.js';

const plugins = [HISTORY_PLUGIN, messagesPlugin];

/** GraphiQL against the gateway that serves this page, with a bar to sign in. */
function Explorer(): ReactElement {
  const session = useSession();
  const { refresh, sessionChanged, gatewayResponded } = session;
  const [schemaProblem, tell] = useState<Problem>();
  const signIn = useSignIn(session.viewer);
  const fetcher = useMemo(
    () => withSchema(createFetcher({ refresh, sessionChanged, gatewayResponded }), tell, signIn),
    [refresh, sessionChanged, gatewayResponded, signIn],
  );
  const storage = useMemo(openStorage, []);
  return (
    <>
      <SignInBar session={{ ...session, problem: session.problem ?? schemaProblem }} />
      <main>
        <GraphiQL
          fetcher={fetcher}
          storage={storage}
          shouldPersistHeaders={keepsHeaders()}
          showPersistHeadersSettings
          defaultTabs={samples}
          defaultEditorToolsVisibility="variables"
          introspectionQueryName={schemaQuery}
          schemaDescription
          plugins={plugins}
        >
          <DarkTheme />
          <SystemTheme />
          <TabKey />
          <Wheel />
          <HoverBelow />
          <EndWithTab />
          <ForgetAnswers session={session} />
        </GraphiQL>
      </main>
    </>
  );
}

/** Returns a function whose promise resolves when somebody signs in. */
function useSignIn(viewer: Viewer | null | undefined): () => Promise<void> {
  const waiting = useRef<(() => void)[]>([]);
  useEffect(() => {
    if (viewer) for (const resolve of waiting.current.splice(0)) resolve();
  }, [viewer]);
  return useCallback(() => new Promise<void>((resolve) => void waiting.current.push(resolve)), []);
}

const root = document.getElementById('root');
if (root) createRoot(root).render(<Explorer />);
