import { useRef, type ReactElement, type ReactNode } from 'react';
import type { MovingList } from '../data/use-moving-list.js';
import type { Pages } from '../data/use-pages.js';
import { Problem } from './problem.js';
import { VirtualList } from './virtual-list.js';
import { count } from './words.js';

interface EntityListProps<Row> {
  readonly pages: Pages<Row>;
  readonly moving?: MovingList<Row>;
  readonly label: string;
  readonly rowHeight?: number;
  readonly hrefOf: (row: Row) => string;
  readonly selected: string | undefined;
  /** What the row's address names, as `selected`. */
  readonly nameOf: (row: Row) => string;
  readonly render: (row: Row) => ReactNode;
  /** What is shown where there is nothing. */
  readonly empty: ReactNode;
}

/** A list of links that grows at its end and moves at its top. */
export function EntityList<Row extends { readonly id: string }>(props: EntityListProps<Row>): ReactElement {
  const { pages, moving, label, rowHeight = 64, selected, nameOf, render, empty } = props;
  const box = useRef<HTMLDivElement>(null);
  const toTop = (): void => {
    moving?.showHeld();
    const list = box.current?.querySelector<HTMLElement>('.virtual');
    list?.focus(); // the button goes
    list?.scrollTo({ top: 0 });
  };
  return (
    <div className="entity-list" ref={box}>
      {!!moving?.held && (
        <button className="button small held" type="button" onClick={toTop}>
          {count(moving.held, 'row')} new or changed ↑
        </button>
      )}
      <VirtualList
        rows={pages.rows}
        hasMore={pages.hasMore}
        rowHeight={rowHeight}
        label={label}
        keyOf={({ id }) => id}
        onEnd={pages.more}
        {...(moving && { onTop: moving.setAtTop })}
        render={(row) => (
          <a
            className="row"
            href={props.hrefOf(row)}
            aria-current={nameOf(row) === selected ? 'true' : undefined}
          >
            {moving?.isFresh(row.id) && <i className="flash" aria-hidden="true" />}
            {render(row)}
          </a>
        )}
        footer={<ListEnd pages={pages} empty={empty} />}
      />
    </div>
  );
}

interface ListEndProps<Row> {
  readonly pages: Pages<Row>;
  readonly empty: ReactNode;
}

function ListEnd<Row>({ pages, empty }: ListEndProps<Row>): ReactElement | null {
  const { rows, loading, error, hasMore, more, retry } = pages;
  if (error) return <Problem error={error} retry={retry} busy={loading} />;
  if (loading)
    return (
      <p className="list-end quiet" role="status">
        Loading …
      </p>
    );
  if (hasMore && rows.length > 0)
    return (
      <button className="button small list-end" type="button" onClick={more}>
        More
      </button>
    );
  return rows.length === 0 ? <div className="empty">{empty}</div> : null;
}
