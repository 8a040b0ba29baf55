import { foldName } from './fold.js';
import { randomUUID } from 'node:crypto';
import type { Clock } from './clock.js';
import { httpError } from './http.js';

/** A note as the service shows it (apis/notes.md §2). */
export interface Note {
  readonly id: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly is_pinned: boolean;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The fields of a note that clients send; an update sends any of them. */
export interface NoteFields {
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly is_pinned: boolean;
}

/** Which notes a page holds: those after `cursor`, newest first. */
export interface PageQuery {
  readonly tag: string | undefined;
  readonly pinned: boolean | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** One user's notes. */
export type Notebook = ReturnType<typeof createNotebook>;

/** A note's position in the order, newest first, which does not depend on other notes. */
interface Place {
  readonly createdAt: number;
  readonly sequence: number;
}

interface Entry {
  readonly place: Place;
  note: Note;
}

const maxPinned = 50;
const recoveryWindowMs = 30 * 24 * 60 * 60 * 1000;

/**
 * How tags, whose names are case-insensitive, are spelled. `first`: as each was first used; `given`: in notes as
 * submitted, in the list of tags in lower case.
 */
export type TagSpelling = 'first' | 'given';

/** An empty notebook, which enforces the rules of apis/notes.md §2, §3 and §8. */
export function createNotebook(clock: Clock, tagSpelling: () => TagSpelling) {
  return new SandboxNotebook(clock, tagSpelling);
}

class SandboxNotebook {
  readonly #clock: Clock;
  readonly #tagSpelling: () => TagSpelling;
  readonly #active: Entry[] = [];
  readonly #deleted = new Set<Entry>();
  readonly #spellings = new Map<string, string>();
  #sequence = 0;

  constructor(clock: Clock, tagSpelling: () => TagSpelling) {
    this.#clock = clock;
    this.#tagSpelling = tagSpelling;
  }

  /** Adds a note; 422 if that would exceed the limit of pinned notes. */
  add(fields: NoteFields, createdAt = this.#clock.now()): Note {
    if (fields.is_pinned) this.#allowPin();
    const at = new Date(createdAt).toISOString();
    const tags = this.#spell(fields.tags);
    const note = { id: `note_${randomUUID()}`, ...fields, tags, created_at: at, updated_at: at };
    const entry = { place: { createdAt, sequence: this.#sequence++ }, note };
    const index = this.#active.findIndex(({ place }) => comesBefore(entry.place, place));
    this.#active.splice(index < 0 ? this.#active.length : index, 0, entry);
    return note;
  }

  /** Changes only the fields given; 404 if there is no such note. */
  change(id: string, fields: Partial<NoteFields>): Note {
    const entry = this.#find(id);
    if (fields.is_pinned && !entry.note.is_pinned) this.#allowPin();
    const tags = fields.tags ? this.#spell(fields.tags) : entry.note.tags;
    entry.note = { ...entry.note, ...fields, tags, updated_at: new Date(this.#clock.now()).toISOString() };
    return entry.note;
  }

  /** Marks a note as deleted; after 30 days it is gone for good. 404 if there is no such note. */
  remove(id: string): void {
    const entry = this.#find(id);
    this.#active.splice(this.#active.indexOf(entry), 1);
    this.#deleted.add(entry);
    this.#clock.setTimeout(() => void this.#deleted.delete(entry), recoveryWindowMs);
  }

  /** One page, the cursor from which the next one would start, and whether there is a next one now. */
  page({ tag, pinned, cursor, limit }: PageQuery): {
    notes: Note[];
    next: string | undefined;
    more: boolean;
  } {
    const after = cursor === undefined ? undefined : decodeCursor(cursor);
    const wanted = tag === undefined ? undefined : foldName(tag);
    const fitting = this.#active.filter(
      ({ note, place }) =>
        (!after || comesBefore(after, place)) &&
        (pinned === undefined || note.is_pinned === pinned) &&
        (wanted === undefined || note.tags.some((name) => foldName(name) === wanted)),
    );
    const shown = fitting.slice(0, limit);
    const last = shown.at(-1);
    return {
      notes: shown.map(({ note }) => note),
      next: last ? encodeCursor(last.place) : cursor,
      more: fitting.length > limit,
    };
  }

  /** Every tag in use, with the number of notes that carry it. */
  tagCounts(): { name: string; count: number }[] {
    const counts = new Map<string, number>();
    const names = this.#active.flatMap(({ note }) => note.tags);
    const listed = this.#tagSpelling() === 'first' ? names : names.map((name) => foldName(name));
    for (const tag of listed) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    return [...counts].map(([name, count]) => ({ name, count }));
  }

  find(id: string) {
    return this.#find(id).note;
  }

  count() {
    return this.#active.length;
  }

  deletedCount() {
    return this.#deleted.size;
  }

  #spell(tags: readonly string[]): readonly string[] {
    if (this.#tagSpelling() === 'given') return tags;
    const kept = tags.map((tag) => {
      const key = foldName(tag);
      if (!this.#spellings.has(key)) this.#spellings.set(key, tag);
      return this.#spellings.get(key) ?? tag;
    });
    return [...new Set(kept)];
  }

  #find(id: string): Entry {
    const entry = this.#active.find(({ note }) => note.id === id);
    if (!entry) throw httpError(404, 'not_found', 'There is no such note.');
    return entry;
  }

  #allowPin(): void {
    if (this.#active.filter(({ note }) => note.is_pinned).length >= maxPinned)
      throw httpError(422, 'too_many_pinned', `At most ${maxPinned} notes can be pinned.`);
  }
}

function comesBefore(one: Place, other: Place): boolean {
  if (one.createdAt !== other.createdAt) return one.createdAt > other.createdAt;
  return one.sequence > other.sequence;
}

function encodeCursor({ createdAt, sequence }: Place): string {
  return Buffer.from(`${createdAt}/${sequence}`).toString('base64url');
}

function decodeCursor(cursor: string): Place {
  const match = /^(\d+)\/(\d+)$/.exec(Buffer.from(cursor, 'base64url').toString());
  if (!match) throw httpError(400, 'invalid_cursor', 'The cursor is not valid.');
  return { createdAt: Number(match[1]), sequence: Number(match[2]) };
}
