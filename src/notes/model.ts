import { toGlobalId } from '../relay.js';

/** What the notes service says of a note (`apis/notes.md` §2), in the schema's spelling. */
export interface NoteFields {
  readonly upstreamId: string;
  readonly title: string;
  readonly content: string;
  /** Each once: names are case-insensitive. */
  readonly tags: readonly Tag[];
  readonly isPinned: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A note as the schema shows it: its fields are plain properties, since a page has many, and a resolver for each takes long. */
export class Note implements NoteFields {
  readonly kind = 'Note';
  readonly upstreamId: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly Tag[];
  readonly isPinned: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;

  constructor(fields: NoteFields, tags: readonly Tag[] = fields.tags) {
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

/** A tag: its name as spelled where it was found; `count` only where `GET /tags` was asked. */
export interface Tag {
  readonly kind: 'Tag';
  readonly name: string;
  readonly count?: number;
}
