import { useCallback, useEffect, useRef, useState } from 'react';

/** How many updates are kept. */
const mostUpdates = 100;

/**
 * The newest updates of an entity since its view opened, newest first, with a function that adds one. The entity is read
 * anew after so many updates (at most 100, so that none is missing between those kept and those read); of many that come
 * meanwhile, with the next reading.
 */
export function useRecentUpdates<Update>(
  readAfter: number,
  { loading, reload }: { readonly loading: boolean; readonly reload: () => void },
): readonly [readonly Update[], (update: Update) => void] {
  const [updates, setUpdates] = useState<readonly Update[]>([]);
  const unread = useRef(0);
  const read = useCallback(() => {
    if (loading || unread.current < readAfter) return;
    unread.current = 0;
    reload();
  }, [loading, readAfter, reload]);
  useEffect(read, [read]);
  const add = (update: Update): void => {
    setUpdates((now) => [update, ...now].slice(0, mostUpdates));
    unread.current++;
    read();
  };
  return [updates, add];
}
