/** What a page tells: that it is shown again or the network is back, and what other tabs say. */
export interface Page {
  /** Tells the other tabs of this gateway that somebody signed in or out. */
  announce(): void;
  leave(): void;
}

/** What to call when the page hears something; each may be called at any time until `leave`. */
export interface PageListeners {
  readonly onWake: () => void;
  /** Somebody signed in or out in another tab. */
  readonly onAnnounced: () => void;
}

/** Listens to the page; outside of a browser there is nothing to hear. */
export function joinPage(url: string, { onWake, onAnnounced }: PageListeners): Page {
  if (typeof document === 'undefined') return { announce() {}, leave() {} };
  const tabs = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(`trivium ${url}`);
  const onShown = () => document.visibilityState === 'visible' && onWake();
  tabs?.addEventListener('message', onAnnounced);
  window.addEventListener('online', onWake);
  window.addEventListener('pageshow', onShown);
  document.addEventListener('visibilitychange', onShown);
  return {
    announce: () => tabs?.postMessage('session'),
    leave() {
      tabs?.close();
      window.removeEventListener('online', onWake);
      window.removeEventListener('pageshow', onShown);
      document.removeEventListener('visibilitychange', onShown);
    },
  };
}
