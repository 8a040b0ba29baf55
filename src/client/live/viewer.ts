import type { Trivium } from '../core/trivium.js';

/**
 * Calls `listener` when a cache is no longer of who is signed in: somebody else signed in, or the same person with other
 * grants, or the session has ended.
 */
export function onViewer(trivium: Trivium, listener: (isSignedIn: boolean) => void): void {
  /** Undefined while it is not known yet who is signed in. */
  let viewer = known(trivium);
  trivium.onSession(() => {
    const before = viewer;
    viewer = known(trivium);
    if (before !== undefined && viewer !== before) listener(viewer !== null);
  });
}

function known({ session }: Trivium): string | null | undefined {
  if (session.status === 'unknown') return undefined;
  return session.viewer && JSON.stringify([session.viewer.id, session.viewer.grants]);
}
