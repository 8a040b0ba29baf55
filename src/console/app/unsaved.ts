import { useEffect } from 'react';
import { isShown } from './router.js';

/** How many forms have something that is not saved. */
let unsaved = 0;

/** Whether nothing typed would be lost, or may be: the user is asked. */
export function mayLeave(): boolean {
  return unsaved === 0 || confirm('What you have typed is not saved. Leave it?');
}

/** Asks before whoever typed something that is not saved goes elsewhere: by a link, the back button, or out of the page. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return undefined;
    unsaved += 1;
    const unloading = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener('beforeunload', unloading);
    if ('navigation' in globalThis) navigation.addEventListener('navigate', going);
    return () => {
      unsaved -= 1;
      removeEventListener('beforeunload', unloading);
      if ('navigation' in globalThis) navigation.removeEventListener('navigate', going);
    };
  }, [isUnsaved]);
}

/** What the page does by itself, as after a deletion, is not asked about. */
function going(event: NavigateEvent): void {
  const { cancelable, userInitiated, destination } = event;
  if (!cancelable || !userInitiated || !destination.sameDocument || isShown(destination.url)) return;
  if (!mayLeave()) event.preventDefault();
}
