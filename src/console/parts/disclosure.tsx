import { useState, type ReactElement, type ReactNode } from 'react';

interface DisclosureProps {
  readonly className: string;
  readonly summary: ReactNode;
  readonly beginsOpen: boolean;
  /** What is closed is not in the page. */
  readonly children: () => ReactNode;
}

/** A part of the page that opens and closes. */
export function Disclosure({ className, summary, beginsOpen, children }: DisclosureProps): ReactElement {
  const [isOpen, setOpen] = useState(beginsOpen);
  return (
    <details
      className={className}
      open={isOpen}
      onToggle={({ currentTarget, target }) => target === currentTarget && setOpen(currentTarget.open)}
    >
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}
