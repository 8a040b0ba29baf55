import { SessionEnded, userError } from '../../graphql/errors.js';
import type {
  CreateNoteInput,
  DeleteNoteInput,
  ShareNoteInput,
  UpdateNoteInput,
  UserError,
} from '../../generated/resolvers.js';
import type { Edge } from '../../graphql/connection.js';
import { idOf } from '../../graphql/global-id.js';
import { faultOfCall, type Refused, UpstreamError } from '../../upstream/errors.js';
import type { NotesAccess } from './notes.js';
import {
  checkBlank,
  checkNewNote,
  checkNoteChange,
  checkShare,
  exceedsBytes,
  tooLong,
} from './validation.js';
import type { Note } from '../../models/note.js';
import { encodeSegment, type NoteChange } from './service/requests.js';

/** The result of a write, or the errors that the user can correct. */
type Outcome<T> = { readonly errors: readonly UserError[] } & Partial<T>;

const pinnedAtMost = 50;
const permissions = { READ: 'read', COMMENT: 'comment', EDIT: 'edit' } as const;

/** Creates a note; errors in the input are found before the call where possible. */
export async function createNote(
  notes: NotesAccess,
  input: CreateNoteInput,
): Promise<Outcome<{ note: Note; noteEdge: Edge<Note> }>> {
  const errors = checkNewNote(input);
  if (errors.length > 0) return { errors };
  const { title, content } = input;
  const note = { ...changeOf(input), title, content };
  const answer = await notes.create(note).catch(orTooManyPinned(notes, note));
  if ('errors' in answer) return answer;
  if ('refused' in answer) return { errors: await explain(notes, answer, note) };
  return { note: answer, noteEdge: notes.edge(answer), errors };
}

/** Changes the members that are given; without any, writes nothing and returns the note as it is. */
export async function updateNote(
  notes: NotesAccess,
  input: UpdateNoteInput,
): Promise<Outcome<{ note: Note }>> {
  const id = idOf('Note', input.id);
  const errors = [...(id === undefined ? [notFound()] : []), ...checkNoteChange(input)];
  if (errors.length > 0 || id === undefined) return { errors };
  const change = changeOf(input);
  if (Object.keys(change).length === 0) {
    const note = await notes.note(id);
    return note ? { note, errors } : { errors: [notFound()] };
  }
  const answer = await notes.update(id, change).catch(orTooManyPinned(notes, change, id));
  if ('errors' in answer) return answer;
  if (!('refused' in answer)) return { note: answer, errors };
  return { errors: answer.refused === 404 ? [notFound()] : await explain(notes, answer, change, id) };
}

/** Deletes a note; a refusal that the user can correct is in `errors`. */
export async function deleteNote(
  notes: NotesAccess,
  { id: deletedNoteId }: DeleteNoteInput,
): Promise<Outcome<{ deletedNoteId: string }>> {
  const id = idOf('Note', deletedNoteId);
  if (id === undefined) return { errors: [notFound()] };
  const refusal = await notes.remove(id);
  if (!refusal) return { deletedNoteId, errors: [] };
  failWhereCallIsAtFault(refusal);
  return { errors: [refusal.refused === 404 ? notFound() : refused('id')] };
}

/** Shares a note. Which errors the service answers is not documented (apis/notes.md §4). */
export async function shareNote(
  notes: NotesAccess,
  input: ShareNoteInput,
): Promise<Outcome<{ sharedNoteId: string }>> {
  const { id: sharedNoteId, email, permission } = input;
  const id = idOf('Note', sharedNoteId);
  const errors = [...(id === undefined ? [notFound()] : []), ...checkShare(input)];
  if (errors.length > 0 || id === undefined) return { errors };
  const refusal = await notes.share(id, { email, permission: permissions[permission] });
  if (!refusal) return { sharedNoteId, errors };
  failWhereCallIsAtFault(refusal);
  if (refusal.refused === 409)
    return { errors: [userError('CONFLICT', 'The note is already shared with this person.', 'email')] };
  return { errors: [refusal.refused === 404 ? await explainNotFound(notes, id) : refused('email')] };
}

/** The members that were given; `createNote` takes a null for an absent member. */
function changeOf({ title, content, tags, isPinned }: Omit<UpdateNoteInput, 'id'>): NoteChange {
  return {
    ...(title != null && { title }),
    ...(content != null && { content }),
    ...(tags != null && { tags }),
    ...(isPinned != null && { isPinned }),
  };
}

/** Statuses by which a service may refuse what is in a body (apis/notes.md §7; RFC 9110 §15.5): others are not about a text. */
const ofBody: readonly number[] = [400, 413, 422];

/** Why the service refused a write that the documents allow: its errors have no known shape (apis/notes.md §7). */
async function explain(
  notes: NotesAccess,
  refusal: Refused,
  change: NoteChange,
  id?: string,
): Promise<readonly UserError[]> {
  const isOfBody = ofBody.includes(refusal.refused);
  const blank = isOfBody ? checkBlank(change) : [];
  if (blank.length > 0 && (change.title === '' || change.content === '')) return blank;
  if (await exceedsPins(notes, change, id)) return [tooManyPinned];
  failWhereCallIsAtFault(refusal);
  if (blank.length > 0) return blank;
  const blankTag = change.tags?.findIndex((tag) => tag.trim() === '') ?? -1;
  if (isOfBody && blankTag >= 0) return [refused('tags', String(blankTag))];
  if (isOfBody && exceedsBytes(change.content)) return [tooLong()];
  const members = Object.keys(change);
  return [refused(...(members.length === 1 ? members : []))];
}

/** For `catch`: a 429 to a write may be about either limit, since neither's answer is documented (apis/notes.md §8). */
function orTooManyPinned(notes: NotesAccess, change: NoteChange, id?: string) {
  return async (error: unknown): Promise<{ readonly errors: readonly UserError[] }> => {
    const isLimit = error instanceof UpstreamError && error.reason === 'limited';
    if (isLimit && (await exceedsPins(notes, change, id))) return { errors: [tooManyPinned] };
    throw error;
  };
}

/** Whether a change pins a note although as many others are pinned as may be, as far as that can be found out. */
async function exceedsPins(notes: NotesAccess, change: NoteChange, id?: string): Promise<boolean> {
  if (change.isPinned !== true) return false;
  return (await notes.hasPinned(pinnedAtMost, id).catch(unlessSessionEnded)) === true;
}

const tooManyPinned = userError(
  'TOO_MANY_PINNED',
  `${pinnedAtMost} notes are already pinned: unpin one first.`,
  'isPinned',
);

/** Throws if the status says nothing about the input; after `hasPinned`, as too many pins may get any 4xx. */
function failWhereCallIsAtFault({ refused: status }: Refused): void {
  const reason = faultOfCall(status);
  if (reason) throw new UpstreamError('notes', reason, { cause: { status } });
}

/** What a 404 to a share is about, which the service does not say: the person, if the note is there. */
async function explainNotFound(notes: NotesAccess, id: string): Promise<UserError> {
  if (encodeSegment(id) === undefined) return notFound(); // refused without a call
  const note = await notes.note(id).catch(unlessSessionEnded);
  if (note === null) return notFound();
  const person = 'The notes service has no user with this e-mail address.';
  return note ? userError('NOT_FOUND', person, 'email') : noteOrPersonNotFound;
}

/** For `catch`: no failure to find out more hides that the session has ended. */
function unlessSessionEnded(error: unknown): undefined {
  if (error instanceof SessionEnded) throw error;
}

/** Which of the two is not known, so the input as a whole is at fault. */
const noteOrPersonNotFound = userError(
  'NOT_FOUND',
  'There is no such note, or the notes service has no user with this e-mail address.',
);

function notFound(): UserError {
  return userError('NOT_FOUND', 'There is no such note.', 'id');
}

function refused(...path: readonly string[]): UserError {
  return userError('INVALID', 'The notes service did not accept this.', ...path);
}
