import { useEffect } from 'react';
import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';

/** Stops what runs when its tab is left for a new one, which would be given its answers; else GraphiQL does that. */
export function EndWithTab(): null {
  const tab = useGraphiQL(({ tabs, activeTabIndex }) => tabs[activeTabIndex]?.id);
  const { stop } = useGraphiQLActions();
  useEffect(() => stop, [tab, stop]);
  return null;
}
