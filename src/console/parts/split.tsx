import { useEffect, useRef, type MouseEvent, type ReactElement, type ReactNode } from 'react';
import { Icon } from './icons.js';

interface SplitProps {
  readonly title: string;
  /** Beside the title. */
  readonly actions?: ReactNode;
  readonly filters?: ReactNode;
  readonly list: ReactNode;
  /** What was chosen from the list, as its address names it. */
  readonly id: string | undefined;
  /** That, if anything was chosen; on a narrow screen it is shown in the list's place. */
  readonly detail?: ReactNode;
  /** Where closing the detail leads. */
  readonly closeHref: string;
  readonly detailLabel?: string;
}

/** A list, and what was chosen from it beside it. */
export function Split(props: SplitProps): ReactElement {
  const { title, actions, filters, list, id, detail, closeHref, detailLabel } = props;
  const focus = useKeptFocus(id);
  return (
    <div className="split" data-open={detail !== undefined} onClick={focus.clicked}>
      <section className="split-list" aria-label={title} ref={focus.list} tabIndex={-1}>
        <header className="view-head">
          <h1>{title}</h1>
          {actions}
        </header>
        {filters}
        {list}
      </section>
      {detail !== undefined && (
        <section className="split-detail" aria-label={detailLabel} ref={focus.detail} tabIndex={-1}>
          <a className="split-close" href={closeHref} aria-label="Close">
            <Icon name="close" />
          </a>
          {detail}
        </section>
      )}
    </div>
  );
}

/**
 * Where the focused element goes with what was chosen, moves the focus to what is there instead: the detail, or the row
 * that had led to it. Not when the view opens. Whoever chooses by keyboard goes on in the detail, not after all rows.
 */
function useKeptFocus(id: string | undefined) {
  const list = useRef<HTMLElement>(null);
  const detail = useRef<HTMLElement>(null);
  const row = useRef<HTMLElement>(null);
  const before = useRef(id);
  const isByKeyboard = useRef(false);
  const clicked = ({ detail: presses, target, ctrlKey, metaKey, shiftKey }: MouseEvent): void => {
    if (ctrlKey || metaKey || shiftKey) return; // it opens elsewhere
    const link = presses === 0 && target instanceof Element ? target.closest('a') : null;
    isByKeyboard.current = link !== null;
    if (link?.matches(chosen)) detail.current?.focus(); // it is shown already
  };
  useEffect(() => {
    const { activeElement } = document;
    const isLost = activeElement === document.body || !activeElement?.checkVisibility();
    const goesOn = isByKeyboard.current && id !== undefined;
    if (before.current !== id && (isLost || goesOn)) {
      const shown = row.current?.isConnected ? row.current : list.current;
      (id === undefined ? shown : detail.current)?.focus();
    }
    before.current = id;
    isByKeyboard.current = false;
  }, [id]);
  useEffect(() => {
    if (id !== undefined) row.current = list.current?.querySelector<HTMLElement>(chosen) ?? null;
  });
  return { list, detail, clicked };
}

/** The row of what is shown; buttons say which of two views is. */
const chosen = '[aria-current]:not(.button)';
