/** A note as the notes service gives it (`apis/notes.md` §2), in the schema's spelling. */
export interface Note {
  readonly kind: 'Note';
  /** The global id. */
  readonly id: string;
  readonly upstreamId: string;
  readonly title: string;
  readonly content: string;
  /** Without duplicates: names are case-insensitive. */
  readonly tags: readonly Tag[];
  readonly isPinned: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A tag, spelled as it was first read, on a note or in `GET /tags`; `count` comes only from the latter. */
export interface Tag {
  readonly kind: 'Tag';
  readonly name: string;
  readonly count?: number;
}
