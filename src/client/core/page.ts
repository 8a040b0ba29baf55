import { attempt } from './attempt.js';

/** What a page tells: that it is shown again, that the network came or went, and what other tabs say. */
export interface Page {
  /** Tells the other tabs of this gateway that somebody signed out, or else in. */
  announce(isSignOut: boolean): void;
  leave(): void;
}

/**
 * Listens to the page until `leave`; outside of a browser there is nothing to hear. `onAnnounced` is told that somebody
 * signed out in another tab, or else in.
 */
export function joinPage(url: string, onWake: () => void, onAnnounced: (isSignOut: boolean) => void): Page {
  if (typeof document === 'undefined') return { announce() {}, leave() {} };
  const tabs = attempt(() => new BroadcastChannel(`trivium ${url}`));
  // The first `pageshow` is that of a page which loads, and is about to connect.
  const onShown = ({ persisted }: Event & { readonly persisted?: boolean }) =>
    document.visibilityState === 'visible' && persisted !== false && onWake();
  tabs?.addEventListener('message', ({ data }) => onAnnounced(data as boolean));
  window.addEventListener('online', onWake);
  window.addEventListener('offline', onWake);
  window.addEventListener('pageshow', onShown);
  document.addEventListener('visibilitychange', onShown);
  return {
    announce: (isSignOut) => tabs?.postMessage(isSignOut),
    leave() {
      tabs?.close();
      window.removeEventListener('online', onWake);
      window.removeEventListener('offline', onWake);
      window.removeEventListener('pageshow', onShown);
      document.removeEventListener('visibilitychange', onShown);
    },
  };
}
