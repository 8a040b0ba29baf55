import { use, useId, useState, type ReactElement, type SubmitEvent } from 'react';
import { useUnsaved } from '../../app/unsaved.js';
import { useIsShown, useMutation } from '../../data/use-mutation.js';
import {
  CreateNoteDocument,
  DeleteNoteDocument,
  UpdateNoteDocument,
  type NoteRowFragment,
} from '../../generated/index.js';
import { useDraft } from '../../parts/draft.js';
import { Field, Locked, OtherErrors, useUserErrors, type UserErrors } from '../../parts/field.js';
import { KeepIt } from '../../parts/keep-it.js';
import { Problem } from '../../parts/problem.js';
import { Moment } from '../../parts/times.js';
import { number } from '../../parts/words.js';
import { ShareForm } from './share-form.js';

/** The notes service's own limits. */
const maxContent = 10_000;
const maxPinned = 50;

const paths = ['title', 'content', 'tags', 'isPinned'];

interface NoteDetailProps {
  /** Undefined for one that is being written. */
  readonly note: NoteRowFragment | undefined;
  /** Called after anything was changed. */
  readonly changed: () => void;
  /** Closes the note, or goes to the next one. */
  readonly leave: (next?: string) => void;
}

/** A note to write or change, to share and to delete. */
export function NoteDetail({ note, changed, leave }: NoteDetailProps): ReactElement {
  return (
    <>
      <h2>{note ? 'Note' : 'New note'}</h2>
      {note && (
        <p className="quiet small">
          Changed <Moment at={note.updatedAt} /> · written <Moment at={note.createdAt} />
        </p>
      )}
      <NoteForm note={note} changed={changed} leave={leave} />
      {note && (
        <>
          <ShareForm noteId={note.id} />
          <DeleteButton noteId={note.id} changed={changed} leave={leave} />
        </>
      )}
    </>
  );
}

function NoteForm({ note, changed, leave }: NoteDetailProps): ReactElement {
  const draft = useDraft<Draft>({
    title: note?.title ?? '',
    content: note?.content ?? '',
    tags: note?.tags.map(({ name }) => asTyped(name)).join(', ') ?? '',
    isPinned: note?.isPinned ?? false,
  });
  const { title, content, tags, isPinned } = draft.values;
  const { save, form, errors, isSaved, busy, error } = useSave(note, draft, changed, leave);
  useUnsaved(draft.isChanged);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!busy) void save();
  };
  return (
    <form className="form" ref={form} onSubmit={submit} noValidate>
      <Locked value={!note && (busy || isSaved)}>
        <Field label="Title" path="title" errors={errors}>
          {(state) => (
            <input value={title} onChange={({ target }) => draft.set({ title: target.value })} {...state} />
          )}
        </Field>
        <ContentField content={content} change={(text) => draft.set({ content: text })} errors={errors} />
        <Field
          label="Tags"
          path="tags"
          errors={errors}
          hint="Separated by commas; one that has a comma in quotes"
        >
          {(state) => (
            <input value={tags} onChange={({ target }) => draft.set({ tags: target.value })} {...state} />
          )}
        </Field>
        <PinnedBox isPinned={isPinned} change={(is) => draft.set({ isPinned: is })} errors={errors} />
      </Locked>
      <OtherErrors errors={errors} paths={paths} />
      <Problem error={error} />
      <div className="form-actions">
        <button className="button primary" type="submit" aria-disabled={busy}>
          {note ? 'Save' : 'Create'}
        </button>
        <span role="status" className="quiet">
          {isSaved && !draft.isChanged && 'Saved.'}
        </span>
      </div>
    </form>
  );
}

interface ContentFieldProps {
  readonly content: string;
  readonly change: (content: string) => void;
  readonly errors: UserErrors;
}

function ContentField({ content, change, errors }: ContentFieldProps): ReactElement {
  const length = Array.from(content).length;
  const hint = (
    <span className={length > maxContent ? 'fault' : undefined}>
      {number(length)} of {number(maxContent)} characters
    </span>
  );
  return (
    <Field label="Text" path="content" errors={errors} hint={hint}>
      {(state) => (
        <textarea rows={12} value={content} onChange={({ target }) => change(target.value)} {...state} />
      )}
    </Field>
  );
}

interface PinnedBoxProps {
  readonly isPinned: boolean;
  readonly change: (isPinned: boolean) => void;
  readonly errors: UserErrors;
}

function PinnedBox({ isPinned, change, errors }: PinnedBoxProps): ReactElement {
  const id = useId();
  const isLocked = use(Locked);
  const faults = errors.filter(({ path }) => path[0] === 'isPinned');
  return (
    <div>
      <label className="check">
        <input
          type="checkbox"
          checked={isPinned}
          aria-disabled={isLocked}
          aria-invalid={faults.length > 0 || undefined}
          aria-describedby={id}
          onChange={({ target }) => isLocked || change(target.checked)}
        />
        Pinned <span className="quiet">(at most {maxPinned} notes)</span>
      </label>
      <div id={id}>
        {faults.map(({ message }) => (
          <p className="fault" role="alert" key={message}>
            {message}
          </p>
        ))}
      </div>
    </div>
  );
}

interface Draft {
  readonly title: string;
  readonly content: string;
  readonly tags: string;
  readonly isPinned: boolean;
}

/** Creates the note, or changes what was changed of it; `errors` has what is wrong with what was typed. */
function useSave(
  note: NoteRowFragment | undefined,
  { values, kept, keep }: Pick<ReturnType<typeof useDraft<Draft>>, 'values' | 'kept' | 'keep'>,
  changed: () => void,
  leave: (next?: string) => void,
) {
  const create = useMutation(CreateNoteDocument);
  const update = useMutation(UpdateNoteDocument);
  const isShown = useIsShown();
  const { form, errors, setErrors } = useUserErrors();
  const [isSaved, setSaved] = useState(false);

  async function save(): Promise<void> {
    setSaved(false);
    setErrors([]);
    const payload = note
      ? (await update.run({ input: { id: note.id, ...changes(kept, values) } }))?.updateNote
      : (await create.run({ input: inputOf(values) }))?.createNote;
    if (!payload) return;
    setErrors(payload.errors);
    if (!payload.note) return;
    keep(values); // more may have been typed since
    setSaved(true);
    changed();
    if (!note && isShown()) leave(payload.note.id);
  }
  const busy = create.busy || update.busy;
  return { save, form, errors, isSaved, busy, error: create.error ?? update.error };
}

function inputOf({ tags, ...values }: Draft) {
  return { ...values, tags: tagsIn(tags) };
}

/** The members that differ: somebody else may have changed the others meanwhile. */
function changes(before: Draft, after: Draft): Partial<ReturnType<typeof inputOf>> {
  const isChanged = ([name]: [string, unknown]) => before[name as keyof Draft] !== after[name as keyof Draft];
  return Object.fromEntries(Object.entries(inputOf(after)).filter(isChanged));
}

/** A tag as it is typed among others. */
function asTyped(tag: string): string {
  return /[",]|^\s|\s$/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag;
}

function tagsIn(text: string): string[] {
  const typed = text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/g);
  const tags = Array.from(typed, ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain.trim());
  return tags.filter(Boolean);
}

interface DeleteButtonProps {
  readonly noteId: string;
  readonly changed: () => void;
  readonly leave: () => void;
}

/** Asks once more before it deletes. */
function DeleteButton({ noteId, changed, leave }: DeleteButtonProps): ReactElement {
  const { run, busy, error } = useMutation(DeleteNoteDocument);
  const isShown = useIsShown();
  const [isSure, setSure] = useState(false);
  const [errors, setErrors] = useState<UserErrors>([]);
  async function act(): Promise<void> {
    if (busy) return;
    if (!isSure) return setSure(true);
    setErrors([]);
    const payload = (await run({ input: { id: noteId } }))?.deleteNote;
    setErrors(payload?.errors ?? []);
    if (!payload?.deletedNoteId) return undefined;
    changed();
    return isShown() ? leave() : undefined;
  }
  return (
    <section className="form" aria-label="Delete">
      <h3>Delete</h3>
      <p className="quiet">The notes service keeps a deleted note for 30 days.</p>
      <OtherErrors errors={errors} paths={[]} />
      <Problem error={error} />
      <div className="form-actions">
        <button className="button danger" type="button" onClick={() => void act()} aria-disabled={busy}>
          {isSure ? 'Yes, delete it' : 'Delete this note'}
        </button>
        {isSure && <KeepIt keep={() => setSure(false)} />}
      </div>
    </section>
  );
}
