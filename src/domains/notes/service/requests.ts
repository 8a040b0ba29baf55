/** Which notes to list. */
export interface PageQuery {
  readonly tag?: string | undefined;
  readonly pinned?: boolean | undefined;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** A note to be created. */
export interface NewNote {
  readonly title: string;
  readonly content: string;
  readonly tags?: readonly string[];
  readonly isPinned?: boolean;
}

/** The fields of a note to change; one that is absent stays as it is (`apis/notes.md` §4). */
export type NoteChange = Partial<NewNote>;

/** With whom to share a note, and what they may do. */
export interface Share {
  readonly email: string;
  readonly permission: 'read' | 'comment' | 'edit';
}

/**
 * The body of a creation or a change, in the service's own names (`apis/notes.md` §4); JSON leaves out what is undefined.
 */
export function toBody({ title, content, tags, isPinned }: NoteChange) {
  return { title, content, tags, is_pinned: isPinned };
}

/** An id as one segment of a path; undefined for one that cannot be a segment, and so belongs to no note. */
export function encodeSegment(id: string): string | undefined {
  return /^\.{0,2}$/.test(id) || !id.isWellFormed() ? undefined : encodeURIComponent(id);
}
