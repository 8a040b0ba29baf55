import type { ReactElement } from 'react';

/** Takes back what the button before it asks once more; that one gets the focus, since this one goes. */
export function KeepIt({ keep }: { readonly keep: () => void }): ReactElement {
  return (
    <button
      className="button"
      type="button"
      onClick={({ currentTarget }) => {
        (currentTarget.previousElementSibling as HTMLElement).focus();
        keep();
      }}
    >
      Keep it
    </button>
  );
}
