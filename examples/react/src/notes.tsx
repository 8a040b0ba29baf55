import { useEffect, useRef, useState, type FormEvent } from 'react';
import { CreateNoteDocument, NotesDocument, type NotesQuery } from '@trivium/client/operations';
import { useTrivium } from '@trivium/client/react';

type Page = NotesQuery['notes'];

/** Notes, a page at a time, and a form for a new one. */
export function Notes() {
  const trivium = useTrivium();
  const [page, setPage] = useState<Page>();
  const [problem, setProblem] = useState<string>();
  const [isAdding, setAdding] = useState(false);
  const loads = useRef(0);

  async function load(after?: string | null) {
    const mine = ++loads.current;
    // The answer to an older one may lack what was written meanwhile.
    const isNewest = () => mine === loads.current;
    try {
      const { notes } = await trivium.query(NotesDocument, { first: 3, ...(after != null && { after }) });
      if (!isNewest()) return;
      setProblem(undefined);
      setPage((before) => {
        if (after == null || !before) return notes;
        if (after !== before.pageInfo.endCursor) return before; // it is there already, after two clicks
        return { ...notes, edges: [...before.edges, ...notes.edges] };
      });
    } catch (error) {
      if (isNewest()) setProblem(String(error));
    }
  }

  async function create(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const title = String(new FormData(form).get('title'));
    const { createNote } = await trivium.mutate(CreateNoteDocument, { input: { title, content: title } });
    setProblem(createNote.errors[0]?.message);
    if (!createNote.noteEdge) return;
    const edge = createNote.noteEdge;
    form.reset();
    if (page) setPage((before) => before && { ...before, edges: [edge, ...before.edges] });
    else await load();
  }

  // Not a second time by a double click.
  async function add(event: FormEvent<HTMLFormElement>) {
    setAdding(true);
    await create(event).catch((error: unknown) => setProblem(String(error)));
    setAdding(false);
  }
  useEffect(() => void load(), [trivium]);

  return (
    <section id="notes">
      <h2>notes</h2>
      <form onSubmit={(event) => void add(event)}>
        <input name="title" aria-label="Title" placeholder="A new note" />{' '}
        <button disabled={isAdding}>Add</button>
      </form>
      {problem && <p role="alert">{problem}</p>}
      {problem && !page && <button onClick={() => void load()}>Try again</button>}
      <ul>
        {page?.edges.map(({ node }) => (
          <li key={node.id}>{node.title}</li>
        ))}
      </ul>
      {page?.pageInfo.hasNextPage && <button onClick={() => void load(page.pageInfo.endCursor)}>More</button>}
    </section>
  );
}
