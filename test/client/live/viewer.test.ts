import { expect, test } from 'vitest';
import type { Session, Trivium } from '../../../src/client/core/trivium.js';
import { onViewer } from '../../../src/client/live/viewer.js';

test('a cache is no longer of who is signed in once they have other grants', () => {
  const session = (grants: readonly string[]) => ({
    status: 'signed-in',
    viewer: { id: 'me', grants, name: 'Me' },
  });
  let tell = () => {};
  const trivium = {
    session: session([]),
    onSession: (listener: () => void) => (tell = listener),
  };
  const heard: boolean[] = [];
  onViewer(trivium as unknown as Trivium, (isSignedIn) => heard.push(isSignedIn));
  for (const next of [session([]), session(['SHIPMENTS_READ']), { status: 'signed-out', viewer: null }]) {
    trivium.session = next as Session as never;
    tell();
  }
  expect(heard).toEqual([true, false]);
});
