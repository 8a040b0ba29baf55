import type { ReactElement, ReactNode } from 'react';
import { Icon } from './icons.js';

interface SplitProps {
  readonly title: string;
  /** Beside the title. */
  readonly actions?: ReactNode;
  readonly filters?: ReactNode;
  readonly list: ReactNode;
  /** What was chosen from the list; on a narrow screen it is shown in its place. */
  readonly detail?: ReactNode;
  /** Where closing the detail leads. */
  readonly closeHref: string;
  readonly detailLabel?: string;
}

/** A list, and what was chosen from it beside it. */
export function Split(props: SplitProps): ReactElement {
  const { title, actions, filters, list, detail, closeHref, detailLabel } = props;
  return (
    <div className="split" data-open={detail !== undefined}>
      <section className="split-list" aria-label={title}>
        <header className="view-head">
          <h1>{title}</h1>
          {actions}
        </header>
        {filters}
        {list}
      </section>
      {detail !== undefined && (
        <section className="split-detail" aria-label={detailLabel}>
          <a className="split-close" href={closeHref} aria-label="Close">
            <Icon name="close" />
          </a>
          {detail}
        </section>
      )}
    </div>
  );
}
