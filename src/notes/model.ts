/** A note as the notes service gives it (`apis/notes.md` §2), in the schema's spelling. */
export interface Note {
  readonly kind: 'Note';
  /** The global id. */
  readonly id: string;
  readonly upstreamId: string;
  readonly title: string;
  readonly content: string;
  /** Each once: names are case-insensitive. */
  readonly tags: readonly Tag[];
  readonly isPinned: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A tag: its name as spelled where it was found, in the list if that was read; `count` only from `GET /tags`. */
export interface Tag {
  readonly kind: 'Tag';
  readonly name: string;
  readonly count?: number;
}
