import { toGlobalId } from '../relay.js';
import type { Note, Tag } from './model.js';

/** The fields of a note, without those that follow from them. */
type NoteFields = Omit<Note, 'kind' | 'id'>;

/** A note with these fields; with other tags where they are given. */
export function toNote(fields: NoteFields, tags: readonly Tag[] = fields.tags): Note {
  return new ServiceNote(fields, tags);
}

// A class, whose id is made when it is asked for; fields are plain properties, since a page has many notes and a
// resolver for each would take long.
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
