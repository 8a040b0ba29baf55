import { useEffect, useEffectEvent } from 'react';
import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import { forgetMessages } from './messages.js';
import type { Session } from './session/session.js';

/**
 * Stops the running operation and clears the answers of all tabs when their owner changes: when the user has signed
 * out, or somebody else has signed in.
 */
export function ForgetAnswers({ session: { owner, keptAnswer } }: { readonly session: Session }): null {
  const tabs = useGraphiQL((state) => state.tabs);
  const active = useGraphiQL((state) => state.activeTabIndex);
  const { stop, changeTab, updateActiveTabValues } = useGraphiQLActions();
  const forget = useEffectEvent(() => {
    const kept = keptAnswer && JSON.stringify(keptAnswer, null, 2); // as GraphiQL writes it
    stop();
    forgetMessages();
    for (const [index, { response }] of tabs.entries()) {
      if (response === kept) continue;
      changeTab(index);
      updateActiveTabValues({ response: null });
    }
    changeTab(active);
  });
  useEffect(() => (owner === undefined ? undefined : () => forget()), [owner]);
  return null;
}
