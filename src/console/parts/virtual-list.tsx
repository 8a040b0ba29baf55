import { useEffect, useLayoutEffect, useRef, useState, type ReactElement, type ReactNode } from 'react';

interface VirtualListProps<Row> {
  readonly rows: readonly Row[];
  /** Whether there are more than these. */
  readonly hasMore: boolean;
  readonly rowHeight: number;
  readonly label: string;
  readonly keyOf: (row: Row) => string;
  readonly render: (row: Row) => ReactNode;
  /** Called when the end comes into sight. */
  readonly onEnd?: () => void;
  /** Called with whether the list shows its first rows. */
  readonly onTop?: (isAtTop: boolean) => void;
  readonly footer?: ReactNode;
}

/** Rows above and below what is in sight, so that quick scrolling finds something. */
const spare = 8;

/** A list of rows of one height, of which only those in sight are in the page. */
export function VirtualList<Row>(props: VirtualListProps<Row>): ReactElement {
  const { rows, hasMore, rowHeight, label, keyOf, render, onEnd, onTop, footer } = props;
  const box = useRef<HTMLDivElement>(null);
  const { top, height, measure } = useWindow(box);
  const focus = useFocusWithin(box);
  const first = Math.max(0, Math.floor(top / rowHeight) - spare);
  const last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + spare);
  const isAtEnd = last >= rows.length;
  const isAtTop = top < rowHeight;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, onEnd, rows.length]);
  useEffect(() => onTop?.(isAtTop), [isAtTop, onTop]);
  return (
    <div className="virtual" ref={box} onScroll={measure} tabIndex={-1} {...focus}>
      <ul aria-label={label} style={{ height: rows.length * rowHeight }}>
        {rows.slice(first, last).map((row, index) => (
          <li
            key={keyOf(row)}
            aria-setsize={hasMore ? -1 : rows.length}
            aria-posinset={first + index + 1}
            style={{ transform: `translateY(${(first + index) * rowHeight}px)`, height: rowHeight }}
          >
            {render(row)}
          </li>
        ))}
      </ul>
      {footer}
    </div>
  );
}

/** What part of a scrolling box is in sight. */
function useWindow(box: { readonly current: HTMLDivElement | null }) {
  const [{ top, height }, setWindow] = useState({ top: 0, height: 800 });
  const measure = (): void => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    setWindow((now) =>
      now.top === scrollTop && now.height === clientHeight ? now : { top: scrollTop, height: clientHeight },
    );
  };
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return { top, height, measure };
}

/** Gives the box the focus of a part of it that goes, as a row that is scrolled out of sight does. */
function useFocusWithin(box: { readonly current: HTMLDivElement | null }) {
  const isWithin = useRef(false);
  useLayoutEffect(() => {
    if (isWithin.current && document.activeElement === document.body)
      box.current?.focus({ preventScroll: true });
  });
  return {
    onFocus: (): void => void (isWithin.current = true),
    onBlur: (): void => void (isWithin.current = false),
  };
}
