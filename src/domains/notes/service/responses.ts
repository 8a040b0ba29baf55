import { foldCodePoints } from '../../../lib/case-fold.js';
import { isTimestamp } from '../../../lib/iso-instant.js';
import { isObject, member } from '../../../lib/json.js';
import { findText, readId, type FoundText } from '../../../upstream/find-field.js';
import type { Note, Tag } from '../../../models/note.js';
import { toNote } from '../note.js';

/** The user that a token belongs to (`apis/notes.md` §2). */
export interface Profile {
  readonly upstreamId: string;
  readonly email: string;
  readonly name: string;
  readonly createdAt: string;
}

/** One page of notes; without a next cursor it is the last. With one it may be the last too: see `pager.ts`. */
export interface NotePage {
  readonly notes: readonly Note[];
  readonly nextCursor: string | undefined;
}

// Written by hand for speed, since a page may have a hundred notes. Each reader returns undefined for a value that
// lacks the shape of apis/notes.md §2, and ignores members that it does not name.

/** A note; without `tags` it has none, and without `is_pinned` it is not pinned. */
export function readNote(value: unknown): Note | undefined {
  if (!isObject(value)) return undefined;
  const { title, content, is_pinned: pinned, created_at: createdAt, updated_at: updatedAt } = value;
  const upstreamId = readId(value['id']);
  const tags = readNames(value['tags']);
  if (upstreamId === undefined || tags === undefined || !isText(title) || !isText(content)) return undefined;
  if (!isLooseDate(createdAt) || !isLooseDate(updatedAt) || !isOptionalFlag(pinned)) return undefined;
  return toNote({ upstreamId, title, content, tags, isPinned: pinned ?? false, createdAt, updatedAt });
}

/**
 * A page of notes. A next cursor that is absent, null, empty, false or 0 marks the last; which of these is not
 * documented. A whole number is a cursor, too.
 */
export function readPage(value: unknown): NotePage | undefined {
  if (!isObject(value)) return undefined;
  const notes = readAll(value['data'], readNote);
  const given = value['next_cursor'] || undefined;
  const nextCursor = readId(given);
  const isReadable = given === undefined || nextCursor !== undefined;
  return notes && isReadable ? { notes, nextCursor } : undefined;
}

/** The answer of `GET /me`. */
export function readProfile(value: unknown): Profile | undefined {
  if (!isObject(value)) return undefined;
  const { email, name, created_at: createdAt } = value;
  const upstreamId = readId(value['id']);
  if (upstreamId === undefined || !isText(email) || !isText(name) || !isLooseDate(createdAt))
    return undefined;
  return { upstreamId, email, name, createdAt };
}

/** The answer of `GET /tags`. */
export function readTags(value: unknown): readonly Tag[] | undefined {
  return isObject(value) ? readAll(value['tags'], readTag) : undefined;
}

/** The answer of a deletion: true, or undefined if it does not confirm it. */
export function readDeleted(value: unknown): true | undefined {
  return isObject(value) && value['deleted'] === true ? true : undefined;
}

/**
 * A token and, if an `expires_in` next to it or further out tells, its lifetime in seconds. The shape is not
 * documented: a bare string is the token; in an object, `fields` are the names that it may have.
 */
export function readToken(
  value: unknown,
  fields: readonly string[],
): { readonly token: string; readonly lifetime: number | undefined } | undefined {
  const found = isText(value) ? { text: value, within: [] } : findText(value, fields);
  if (!found?.text) return undefined;
  const { text: token, within }: FoundText = found;
  const given = [...within, value].map((place) => member(place, 'expires_in'));
  const lifetime = Number(given.find((seconds) => seconds != null));
  return { token, lifetime: lifetime > 0 ? lifetime : undefined };
}

function readTag(value: unknown): Tag | undefined {
  if (!isObject(value)) return undefined;
  const { name, count } = value;
  return isText(name) && isCount(count) ? { kind: 'Tag', name, count } : undefined;
}

/** Whether it is a 32-bit integer, as wide as `Tag.count`, an `Int`. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && (value | 0) === value;
}

/** A note's tags, which come as names; spellings that differ only in case are one tag (apis/notes.md §2). */
function readNames(value: unknown): readonly Tag[] | undefined {
  const tags = readAll(value ?? [], (name) => (isText(name) ? { kind: 'Tag' as const, name } : undefined));
  return tags && tags.length > 1 ? distinct(tags) : tags;
}

function distinct(tags: readonly Tag[]): readonly Tag[] {
  const names = new Set<string>();
  return tags.filter(({ name }) => {
    const key = foldCodePoints(name);
    if (names.has(key)) return false;
    names.add(key);
    return true;
  });
}

function readAll<T>(value: unknown, read: (item: unknown) => T | undefined): readonly T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const all: T[] = [];
  for (const item of value as readonly unknown[]) {
    const good = read(item);
    if (good === undefined) return undefined;
    all.push(good);
  }
  return all;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/**
 * Whether it is a date, with or without a time, in a lenient form, since one refused note makes its whole page unusable.
 * Only the form is checked, since a page of 20 notes has 40 dates.
 */
function isLooseDate(value: unknown): value is string {
  return isText(value) && isTimestamp(value);
}

function isOptionalFlag(value: unknown): value is boolean | null | undefined {
  return typeof value === 'boolean' || value === undefined || value === null;
}
