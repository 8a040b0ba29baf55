import { useEffect, useEffectEvent } from 'react';
import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';

/** Stops what runs and empties the answers of all tabs, so that whoever comes next does not read them. */
export function ForgetAnswers({ now }: { readonly now: boolean }): null {
  const tabs = useGraphiQL((state) => state.tabs);
  const active = useGraphiQL((state) => state.activeTabIndex);
  const { stop, changeTab, updateActiveTabValues } = useGraphiQLActions();
  const forget = useEffectEvent(() => {
    stop();
    for (const index of tabs.keys()) {
      changeTab(index);
      updateActiveTabValues({ response: null });
    }
    changeTab(active);
  });
  useEffect(() => {
    if (now) forget();
  }, [now]);
  return null;
}
