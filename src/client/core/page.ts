import { attempt } from './attempt.js';

/** What has become of the session of a tab: somebody signed in, is about to sign out, or has. */
export type Change = 'signed-in' | 'signing-out' | 'signed-out';

/** What a page tells: that it is shown again, that the network came or went, and what other tabs say. */
export interface Page {
  /** Tells the other tabs of this gateway. */
  announce(change: Change): void;
  leave(): void;
}

/**
 * Listens to the page until `leave`; outside of a browser there is nothing to hear. `onWake` is told whether the page was
 * kept while others were shown: it has heard nothing meanwhile. `onAnnounced` is told of a change in another tab.
 */
export function joinPage(
  url: string,
  onWake: (wasKept: boolean) => void,
  onAnnounced: (change: Change) => void,
): Page {
  if (typeof document === 'undefined') return { announce() {}, leave() {} };
  const tabs = attempt(() => new BroadcastChannel(`trivium ${url}`));
  // The first `pageshow` is that of a page which loads, and is about to connect.
  const onShown = ({ persisted }: Event & { readonly persisted?: boolean }) =>
    document.visibilityState === 'visible' && persisted !== false && onWake(persisted === true);
  const onNetwork = () => onWake(false);
  tabs?.addEventListener('message', ({ data }) => onAnnounced(data as Change));
  const left = new AbortController();
  const { signal } = left;
  window.addEventListener('online', onNetwork, { signal });
  window.addEventListener('offline', onNetwork, { signal });
  window.addEventListener('pageshow', onShown, { signal });
  document.addEventListener('visibilitychange', onShown, { signal });
  return {
    announce: (change) => attempt(() => tabs?.postMessage(change)), // throws once it is closed
    leave() {
      tabs?.close();
      left.abort();
    },
  };
}
