import { httpError } from './http.js';
import type { NoteFields, PageQuery } from './notebook.js';

/** The largest page of `GET /notes`, and what it does with a `limit` above that (both undocumented). */
export interface PageLimit {
  max: number;
  mode: 'reject' | 'clamp';
}

/** A share as requested. */
export interface Share {
  readonly email: string;
  readonly permission: string;
}

type Body = Record<string, unknown>;

const maxContent = 10_000;
const defaultPageSize = 20;
const permissions = ['read', 'comment', 'edit'];

/** A new note's fields: `title` and `content` are required (apis/notes.md §4). */
export function readNewNote(body: Body): NoteFields {
  if (!body['title']) throw invalid('title is missing');
  if (!body['content']) throw invalid('content is missing');
  return { title: '', content: '', tags: [], is_pinned: false, ...readNoteChange(body) };
}

/** The fields of a note that were sent, validated. */
export function readNoteChange({ title, content, tags, is_pinned }: Body): Partial<NoteFields> {
  return {
    ...(title !== undefined && { title: readText(title, 'title') }),
    ...(content !== undefined && { content: readContent(content) }),
    ...(tags !== undefined && { tags: readTags(tags) }),
    ...(is_pinned !== undefined && { is_pinned: readFlag(is_pinned) }),
  };
}

/** A share's fields (apis/notes.md §2). */
export function readShare({ email, permission }: Body): Share {
  if (typeof email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(email)) throw invalid('email is not an address');
  if (typeof permission !== 'string' || !permissions.includes(permission))
    throw invalid(`permission is not one of ${permissions.join(', ')}`);
  return { email, permission };
}

/** The query of `GET /notes`; 400 for an invalid parameter. */
export function readPageQuery(query: URLSearchParams, pageLimit: PageLimit): PageQuery {
  const tag = query.get('tag') ?? undefined;
  if (tag === '') throw invalid('tag is empty');
  const cursor = query.get('cursor') ?? undefined;
  return {
    tag,
    pinned: readPinned(query.get('pinned')),
    cursor,
    limit: readLimit(query.get('limit'), pageLimit),
  };
}

function readPinned(value: string | null): boolean | undefined {
  if (value === null) return undefined;
  if (value !== 'true' && value !== 'false') throw invalid('pinned is not true or false');
  return value === 'true';
}

function readLimit(value: string | null, { max, mode }: PageLimit): number {
  if (value === null) return Math.min(defaultPageSize, max);
  if (!/^[1-9]\d*$/.test(value)) throw invalid('limit is not a positive number');
  const limit = Number(value);
  if (limit > max && mode === 'reject') throw invalid(`limit is above ${max}`);
  return Math.min(limit, max);
}

function readText(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') throw invalid(`${name} is not a non-empty string`);
  return value;
}

/** The limit is in characters, counted as code points. */
function readContent(value: unknown): string {
  const content = readText(value, 'content');
  if (content.length > maxContent && Array.from(content).length > maxContent)
    throw invalid(`content is longer than ${maxContent} characters`);
  return content;
}

function readTags(value: unknown): string[] {
  if (!Array.isArray(value)) throw invalid('tags is not a list');
  return value.map((tag) => readText(tag, 'a tag'));
}

function readFlag(value: unknown): boolean {
  if (typeof value !== 'boolean') throw invalid('is_pinned is not true or false');
  return value;
}

function invalid(message: string) {
  return httpError(400, 'invalid', `${message}.`);
}
