import { useEffect, useEffectEvent, useRef } from 'react';
import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';
import type { Session } from './session.js';

/**
 * Stops what runs and empties the answers of all tabs when the person has signed out, or another signs in after a
 * session that has ended by itself, so that whoever comes next does not read them.
 */
export function ForgetAnswers({ session: { viewer, asked } }: { readonly session: Session }): null {
  const tabs = useGraphiQL((state) => state.tabs);
  const active = useGraphiQL((state) => state.activeTabIndex);
  const { stop, changeTab, updateActiveTabValues } = useGraphiQLActions();
  const whose = useRef<string>(undefined);
  const forget = useEffectEvent(() => {
    stop();
    for (const index of tabs.keys()) {
      changeTab(index);
      updateActiveTabValues({ response: null });
    }
    changeTab(active);
  });
  useEffect(() => {
    if (viewer === undefined) return;
    const isOther = whose.current !== undefined && viewer?.email !== whose.current;
    if (asked && isOther) forget();
    if (viewer) whose.current = viewer.email;
  }, [viewer, asked]);
  return null;
}
