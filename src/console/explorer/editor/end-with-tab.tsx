import { useEffect } from 'react';
import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';

/**
 * Stops the running operation when its tab is left. GraphiQL does so when a tab is changed or closed, but not when one
 * is added: the new tab would get the answers.
 */
export function EndWithTab(): null {
  const tab = useGraphiQL(({ tabs, activeTabIndex }) => tabs[activeTabIndex]?.id);
  const { stop } = useGraphiQLActions();
  useEffect(() => stop, [tab, stop]);
  return null;
}
