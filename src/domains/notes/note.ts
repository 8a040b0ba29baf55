import { toGlobalId } from '../../graphql/global-id.js';
import type { Note, Tag } from '../../models/note.js';

/** A note's own fields, without the derived ones. */
type NoteFields = Omit<Note, 'kind' | 'id'>;

/** A note with these fields, and with other tags if they are given. */
export function toNote(fields: NoteFields, tags: readonly Tag[] = fields.tags): Note {
  return new ServiceNote(fields, tags);
}

// A class, so that the id is made only when it is asked for. The fields are plain properties: a page has many notes,
// and a resolver for each field would be slow.
class ServiceNote implements Note {
  readonly kind = 'Note';
  readonly upstreamId: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly Tag[];
  readonly isPinned: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;

  constructor(fields: NoteFields, tags: readonly Tag[]) {
    this.upstreamId = fields.upstreamId;
    this.title = fields.title;
    this.content = fields.content;
    this.tags = tags;
    this.isPinned = fields.isPinned;
    this.createdAt = fields.createdAt;
    this.updatedAt = fields.updatedAt;
  }

  get id(): string {
    return toGlobalId('Note', this.upstreamId);
  }
}
