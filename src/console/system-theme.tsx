import { useEffect } from 'react';
import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';

/** Lets the editors follow when the system turns dark or light; GraphiQL looks at it only when it starts. */
export function SystemTheme(): null {
  const theme = useGraphiQL((state) => state.theme);
  const { setTheme } = useGraphiQLActions();
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const follow = (): void => setTheme(theme);
    dark.addEventListener('change', follow);
    return () => dark.removeEventListener('change', follow);
  }, [theme, setTheme]);
  return null;
}
