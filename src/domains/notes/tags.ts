import type { GraphQLResolveInfo } from 'graphql';
import { type Connection, rowConnection, type RowQuery } from '../../graphql/connection.js';
import type { CursorContext } from '../../graphql/cursors.js';
import { foldCodePoints } from '../../lib/case-fold.js';
import { UpstreamError } from '../../upstream/errors.js';
import { isCount } from './service/responses.js';
import type { ForwardPage } from './paging/note-connection.js';
import type { Tag } from '../../models/note.js';

/**
 * Tags by their folded names; spellings that differ only in case are one tag (apis/notes.md §2). A tag that was
 * already `shown`, without a count, keeps the spelling shown.
 */
export function byName(tags: readonly Tag[], shown?: ReadonlyMap<string, Tag>): ReadonlyMap<string, Tag> {
  const known = new Map<string, Tag>();
  for (const tag of tags) {
    const key = foldCodePoints(tag.name);
    const before = known.get(key) ?? shown?.get(key);
    known.set(key, before ? merge(before, tag) : tag);
  }
  return known;
}

function merge(one: Tag, other: Tag): Tag {
  const count = (one.count ?? 0) + (other.count ?? 0);
  if (!isCount(count)) throw new UpstreamError('notes', 'misshapen');
  return { ...one, count };
}

/** The tag in the spelling first `shown`; if it was not shown before, this spelling is recorded as such. */
export function spelled(tag: Tag, shown: Map<string, Tag>): Tag {
  const key = foldCodePoints(tag.name);
  const first = shown.get(key) ?? tag;
  shown.set(key, first);
  return first;
}

/** All tags in the service's order, and the index of each by its folded name. */
export interface TagRows {
  readonly tags: readonly Tag[];
  readonly indexOf: ReadonlyMap<string, number>;
}

/** The rows of a connection of tags. */
export function toRows(known: ReadonlyMap<string, Tag>): TagRows {
  return { tags: [...known.values()], indexOf: new Map(Array.from(known.keys(), (key, at) => [key, at])) };
}

type TagPosition = readonly [key: string, index: number];

/** A page of tags; the cursor of a tag that is gone stands for the index where it was. */
export function tagConnection(
  context: CursorContext,
  { first = null, after = null }: ForwardPage,
  info: GraphQLResolveInfo,
  readRows: () => Promise<TagRows>,
): Promise<Connection<Tag>> {
  let indexOf: TagRows['indexOf'] = new Map();
  const toIndex = ([key, index]: TagPosition, offset: number) => {
    const at = indexOf.get(key);
    return at === undefined ? index : at + offset;
  };
  return rowConnection(context, { connection: 'tags' }, { first, after }, info, {
    async read({ limit, backward, after: behind, before }: RowQuery<TagPosition>) {
      const { tags, indexOf: found } = await readRows();
      indexOf = found;
      const start = behind === undefined ? 0 : toIndex(behind, 1);
      const end = Math.min(before === undefined ? tags.length : toIndex(before, 0), tags.length);
      return backward
        ? tags.slice(Math.max(start, end - limit), end).toReversed()
        : tags.slice(start, Math.min(end, start + limit));
    },
    position({ name }): TagPosition {
      const key = foldCodePoints(name);
      return [key, indexOf.get(key)!];
    },
  });
}
