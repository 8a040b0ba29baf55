import { useEffect, useRef } from 'react';

/** Moves the focus to what the page is about. */
export function focusMain(): void {
  document.querySelector('main')?.focus({ preventScroll: true });
}

/** Has a screen reader begin at what is shown anew; not when the page opens, before which `shown` is undefined. */
export function useFocusOnChange(shown: string | undefined): void {
  const before = useRef(shown);
  useEffect(() => {
    if (before.current !== undefined && before.current !== shown) focusMain();
    before.current = shown;
  }, [shown]);
}
