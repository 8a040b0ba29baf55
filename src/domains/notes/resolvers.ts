import type { GraphQLResolveInfo } from 'graphql';
import { requireCaller } from '../../graphql/caller.js';
import type { NoteFilter as NoteFilterInput, Resolvers } from '../../generated/resolvers.js';
import { foldCodePoints } from '../../lib/case-fold.js';
import { GatewayError } from '../../graphql/errors.js';
import { asksFor } from '../../graphql/look-ahead.js';
import type { Connection } from '../../graphql/connection.js';
import type { CursorContext } from '../../graphql/cursors.js';
import { toGlobalId } from '../../graphql/global-id.js';
import type { NotesAccess, NotesConnectionName } from './notes.js';
import type { ForwardPage } from './paging/note-connection.js';
import type { Note, Tag } from '../../models/note.js';
import { tagConnection } from './tags.js';
import { createNote, deleteNote, shareNote, updateNote } from './mutations.js';

/** The context of the note and tag resolvers; `notes` is used for signed-in callers only. */
export interface NotesContext extends CursorContext {
  readonly notes: NotesAccess;
}

/** The resolvers of `schema/notes.graphql`. */
export const notesResolvers: Resolvers<NotesContext> = {
  Query: {
    notes: (_, { filter, ...page }, context, info) => listNotes('notes', filter, page, context, info),
    tags(_, page, context, info) {
      const notes = accessOf(context);
      return tagConnection(context, page, info, () => notes.tagRows());
    },
    tag: async (_, { name }, context) => (await accessOf(context).tags()).get(foldCodePoints(name)) ?? null,
  },
  Mutation: {
    createNote: (_, { input }, context) => createNote(accessOf(context), input),
    updateNote: (_, { input }, context) => updateNote(accessOf(context), input),
    deleteNote: (_, { input }, context) => deleteNote(accessOf(context), input),
    shareNote: (_, { input }, context) => shareNote(accessOf(context), input),
  },
  Note: {
    tags({ tags }, _, context, info) {
      if (tags.every(isCounted)) return tags;
      const notes = accessOf(context);
      return asksFor(info, 'count') ? notes.counted(tags) : notes.spelled(tags);
    },
  },
  Tag: {
    id: ({ name }) => toGlobalId('Tag', foldCodePoints(name)),
    notes: ({ name }, { pinned, ...page }, context, info) =>
      listNotes('Tag.notes', { tag: name, pinned: pinned ?? null }, page, context, info),
  },
};

/** Notes and tags by the id in their global id; null for what does not exist or is not the caller's. */
export const noteNodes = {
  Note: (upstreamId: string, context: NotesContext): Promise<Note | null> =>
    accessOf(context).note(upstreamId),
  Tag: async (key: string, context: NotesContext): Promise<Tag | null> =>
    (await accessOf(context).tags()).get(key) ?? null,
};

function accessOf(context: NotesContext): NotesAccess {
  requireCaller(context);
  return context.notes;
}

/** In an address it would become another character, and so another tag. */
const notUnicode = 'No note can be asked for by this tag: it has half of a surrogate pair.';

function listNotes(
  connection: NotesConnectionName,
  filter: NoteFilterInput | null | undefined,
  page: ForwardPage,
  context: NotesContext,
  info: GraphQLResolveInfo,
): Promise<Connection<Note>> {
  const notes = accessOf(context);
  const { tag, pinned } = filter ?? {};
  if (tag != null && !tag.isWellFormed()) throw new GatewayError('BAD_USER_INPUT', notUnicode);
  const withCounts =
    asksFor(info, 'nodes', 'tags', 'count') || asksFor(info, 'edges', 'node', 'tags', 'count');
  return notes.page(
    connection,
    { ...(tag != null && { tag }), ...(pinned != null && { pinned }) },
    page,
    withCounts,
  );
}

function isCounted({ count }: Tag): boolean {
  return count !== undefined;
}
