import { useEffect } from 'react';
import { isShown } from './router.js';

/** Asks before whoever typed something that is not saved goes elsewhere: by a link, the back button, or out of the page. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    const unloading = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', unloading);
    if ('navigation' in globalThis) navigation.addEventListener('navigate', going);
    return () => {
      removeEventListener('beforeunload', unloading);
      if ('navigation' in globalThis) navigation.removeEventListener('navigate', going);
    };
  }, [isUnsaved]);
}

/** What the page does by itself, as after a deletion, is not asked about. */
function going(event: NavigateEvent): void {
  const { cancelable, userInitiated, destination } = event;
  if (!cancelable || !userInitiated || !destination.sameDocument || isShown(destination.url)) return;
  if (!confirm('What you have typed is not saved. Leave it?')) event.preventDefault();
}
