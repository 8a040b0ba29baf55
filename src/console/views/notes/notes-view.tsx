import { useCallback, useEffect, useMemo, useState, type ReactElement } from 'react';
import { goTo, hrefOf } from '../../app/router.js';
import type { ViewProps } from '../../app/shell.js';
import { useGateway } from '../../data/use-gateway.js';
import { usePages } from '../../data/use-pages.js';
import { useQuery } from '../../data/use-query.js';
import {
  NoteByIdDocument,
  NotesDocument,
  TagsDocument,
  type NoteFilter,
  type NoteRowFragment,
} from '../../generated/index.js';
import { EntityList } from '../../parts/entity-list.js';
import { ChoiceFilter } from '../../parts/filters.js';
import { Icon } from '../../parts/icons.js';
import { Problem } from '../../parts/problem.js';
import { SafeText, visible } from '../../parts/safe-text.js';
import { Split } from '../../parts/split.js';
import { Ago } from '../../parts/times.js';
import { NoteDetail } from './note-detail.js';

const pageSize = 50;

/** The `id` in the address of a note that is being written. */
const newId = 'new';

/** One's own notes, and one of them to read, change, share and delete. */
export function NotesView({ place }: ViewProps): ReactElement {
  const { tag, pinned } = place.params;
  const pages = useNotes(tag, pinned);
  const tags = useQuery(TagsDocument, {});
  const changed = (): void => {
    pages.reload();
    tags.reload();
  };
  return (
    <Split
      title="Notes"
      actions={
        <a className="button primary" href={hrefOf('notes', newId, place.params)}>
          New note
        </a>
      }
      id={place.id}
      closeHref={hrefOf('notes', undefined, place.params)}
      detailLabel="Note"
      filters={<NoteFilters place={place} tags={tags.data?.tags.nodes ?? []} />}
      list={
        <EntityList
          pages={pages}
          label="Notes"
          hrefOf={({ id }) => hrefOf('notes', id, place.params)}
          selected={place.id}
          nameOf={({ id }) => id}
          render={(row) => <NoteRow row={row} />}
          empty={<p>{tag || pinned ? 'No note matches.' : 'No note yet.'}</p>}
        />
      }
      detail={
        place.id === undefined ? undefined : (
          <OneNote key={place.id} id={place.id} rows={pages.rows} changed={changed} params={place.params} />
        )
      }
    />
  );
}

/** The notes that the filters leave. */
function useNotes(tag: string | undefined, pinned: string | undefined) {
  const gateway = useGateway();
  const filter = useMemo<NoteFilter>(
    () => ({ ...(tag && { tag }), ...(pinned && { pinned: pinned === 'yes' }) }),
    [tag, pinned],
  );
  const load = useCallback(
    async (after: string | undefined) =>
      (await gateway.ask(NotesDocument, { first: pageSize, after, filter })).notes,
    [gateway, filter],
  );
  return usePages<NoteRowFragment>(load);
}

interface NoteFiltersProps extends Pick<ViewProps, 'place'> {
  readonly tags: readonly { readonly name: string; readonly count: number }[];
}

function NoteFilters({ place, tags }: NoteFiltersProps): ReactElement {
  const { tag = '' } = place.params;
  const isListed = tag === '' || tags.some(({ name }) => name === tag);
  return (
    <div className="filters" role="search" aria-label="Filter notes">
      <ChoiceFilter
        place={place}
        name="tag"
        label="Tag"
        all="Any"
        options={[
          ...tags.map(({ name, count }) => [name, `${visible(name)} (${count})`] as const),
          // One that no note has any more still filters, and can be taken away.
          ...(isListed ? [] : [[tag, visible(tag)] as const]),
        ]}
      />
      <ChoiceFilter
        place={place}
        name="pinned"
        label="Pinned"
        all="Pinned or not"
        options={[
          ['yes', 'Pinned'],
          ['no', 'Not pinned'],
        ]}
      />
    </div>
  );
}

interface OneNoteProps {
  readonly id: string;
  readonly rows: readonly NoteRowFragment[];
  readonly changed: () => void;
  readonly params: Readonly<Record<string, string>>;
}

/** Once it is found it stays, whatever becomes of the list: somebody may be writing. */
function OneNote({ id, rows, changed, params }: OneNoteProps): ReactElement {
  const row = rows.find((known) => known.id === id);
  const [note, setNote] = useState(row);
  if (row && row !== note) setNote(row);
  const leave = (next?: string): void => goTo(hrefOf('notes', next, params));
  if (note || id === newId) return <NoteDetail note={note} changed={changed} leave={leave} />;
  return <NoteFromAfar id={id} found={setNote} />;
}

/** A note that the list has not loaded, as when its address was shared: the notes service has to be searched for it. */
function NoteFromAfar(props: {
  readonly id: string;
  readonly found: (note: NoteRowFragment) => void;
}): ReactElement {
  const { id, found } = props;
  const { data, error, loading, reload } = useQuery(NoteByIdDocument, { id });
  const node = data?.node as NoteRowFragment | null | undefined;
  const note = node && 'title' in node ? node : undefined; // an object of another type has no title
  useEffect(() => {
    if (note) found(note);
  }, [note, found]);
  if (error) return <Problem error={error} retry={reload} busy={loading} />;
  return (
    <p className="quiet">{loading || note ? 'Loading …' : 'There is no such note, or it is not yours.'}</p>
  );
}

function NoteRow({
  row: { title, content, isPinned, tags, updatedAt },
}: {
  readonly row: NoteRowFragment;
}): ReactElement {
  return (
    <>
      <span className="row-name row-title">
        {isPinned && (
          <>
            <Icon name="pin" />
            <span className="hidden-label">Pinned: </span>
          </>
        )}
        {title === '' ? <span className="quiet">No title</span> : <SafeText>{title}</SafeText>}
      </span>
      <span className="row-more">
        {tags.slice(0, 3).map(({ id, name }) => (
          <span className="badge" key={id}>
            <SafeText>{name}</SafeText>
          </span>
        ))}
        <span className="cut quiet">
          <SafeText>{content.slice(0, 120)}</SafeText>
        </span>
      </span>
      <span className="row-time quiet">
        <Ago at={updatedAt} />
      </span>
    </>
  );
}
