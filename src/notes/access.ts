import DataLoader from 'dataloader';
import { type Connection, type Cursors, type Edge, type PageArguments, rowConnection } from '../relay.js';
import { UpstreamError } from '../upstream/failure.js';
import { isCount } from './answer.js';
import type { NewNote, NoteChange, NotesClient, Refusal, Share } from './client.js';
import { type ConnectionSource, newEdge, noteConnection } from './connection.js';
import type { Note, Tag } from './model.js';
import {
  createPager,
  greatestLimit,
  type NoteFilter,
  type NoteList,
  orTooLarge,
  type Pager,
} from './pages.js';
import { findNotes } from './search.js';
import { createSightings, type Sightings } from './sightings.js';
import { createTurns } from './turns.js';
import type { Signal } from '../signal.js';

/** On whose behalf one operation reads and writes notes. */
export interface NotesOperation {
  readonly token: string;
  readonly sessionId: string;
  readonly userId: string;
  readonly signal: Signal;
}

/** How far to read in a connection: forward only, since the service's cursors are. */
export type ForwardPage = Pick<PageArguments, 'first' | 'after'>;

/** The connections of notes: a cursor of one is none of the other. */
export type NotesConnectionName = 'notes' | 'Tag.notes';

/** The signed-in user's notes and tags, for one operation. Upstream failures are `GatewayError`s. */
export interface NotesAccess {
  /** A page of a connection; `counted` notes bear the counts of their tags, for one more call an operation. */
  page(
    connection: NotesConnectionName,
    filter: NoteFilter,
    page: ForwardPage,
    counted: boolean,
  ): Promise<Connection<Note>>;
  /** The note as an edge of `notes` without a filter. */
  edge(note: Note): Edge<Note>;
  /** The note with this upstream id, or null. */
  note(upstreamId: string): Promise<Note | null>;
  /** All tags by their lower-cased names, in the service's order; one call an operation. */
  tags(): Promise<ReadonlyMap<string, Tag>>;
  tagPage(page: ForwardPage): Promise<Connection<Tag>>;
  /** Whether at least `number` notes are pinned, not counting the one with the id `except`. */
  hasPinned(number: number, except?: string): Promise<boolean>;
  create(note: NewNote): Promise<Note | Refusal>;
  update(upstreamId: string, change: NoteChange): Promise<Note | Refusal>;
  remove(upstreamId: string): Promise<Refusal | undefined>;
  share(upstreamId: string, share: Share): Promise<Refusal | undefined>;
}

/** What the operations of a process share. */
interface Shared {
  readonly client: NotesClient;
  readonly cursors: Cursors;
  readonly pager: Pager;
  readonly sightings: Sightings;
}

const listsAtOnce = 4;

/** Gives each operation its access. What one session has seen is never shown to another. */
export function createNotesAccess(options: {
  readonly client: NotesClient;
  readonly cursors: Cursors;
}): (operation: NotesOperation) => NotesAccess {
  const shared = { ...options, pager: createPager(), sightings: createSightings() };
  return (operation) => accessOf(shared, operation);
}

function accessOf({ client, cursors, pager, sightings }: Shared, operation: NotesOperation): NotesAccess {
  const { token, sessionId, userId, signal } = operation;
  const inTurn = createTurns(listsAtOnce);
  const lastSeen = (id: string) => sightings.find(sessionId, id);
  let loader = createLoader();
  let tagsRead: Promise<ReadonlyMap<string, Tag>> | undefined;
  let pagesRead = new Map<string, Promise<Connection<Note>>>();

  function createLoader() {
    return new DataLoader<string, Note | null>((ids) => findNotes(ids, { pager, list, lastSeen }));
  }

  function list(filter: NoteFilter): NoteList {
    return {
      filter,
      read: (start) =>
        inTurn(async () => {
          const answer = await client.list(token, { ...filter, ...start }, signal).catch(orTooLarge);
          if ('notes' in answer) sightings.remember(sessionId, { filter, start }, answer.notes);
          return answer;
        }),
    };
  }

  function countedList(filter: NoteFilter): NoteList {
    const bare = list(filter);
    return {
      filter,
      async read(start) {
        const [answer, tags] = await Promise.all([bare.read(start), readTags()]);
        return 'notes' in answer ? { ...answer, notes: answer.notes.map(withCounts(tags)) } : answer;
      },
    };
  }

  function readTags(): Promise<ReadonlyMap<string, Tag>> {
    tagsRead ??= client.tags(token, signal).then(byName);
    return tagsRead;
  }

  function source(connection: NotesConnectionName, filter: NoteFilter): Omit<ConnectionSource, 'list'> {
    const bound = { tag: filter.tag?.toLowerCase(), pinned: filter.pinned };
    return { cursors, pager, place: { connection, userId, filter: bound } };
  }

  /** A write makes what this operation has read before it out of date. */
  async function write<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } finally {
      loader = createLoader();
      tagsRead = undefined;
      pagesRead = new Map();
    }
  }

  /** A page is read once an operation, also where it fails: the operation may be run again to tell of an error. */
  function readPage(...wish: Parameters<NotesAccess['page']>): Promise<Connection<Note>> {
    const [connection, filter, page, counted] = wish;
    const key = JSON.stringify(wish);
    const reading =
      pagesRead.get(key) ??
      noteConnection(
        { ...source(connection, filter), list: counted ? countedList(filter) : list(filter) },
        page,
      );
    pagesRead.set(key, reading);
    return reading;
  }

  return {
    page: readPage,
    edge: (note) => newEdge(source('notes', {}), note),
    note: (upstreamId) => loader.load(upstreamId),
    tags: readTags,
    tagPage: (page) => tagConnection(cursors, userId, page, readTags),
    async hasPinned(number, except) {
      let pinned = 0;
      for await (const { notes } of pager.walk(list({ pinned: true }), greatestLimit)) {
        pinned += notes.filter(({ upstreamId }) => upstreamId !== except).length;
        if (pinned >= number) return true;
      }
      return false;
    },
    create: (note) => write(() => client.create(token, note, signal)),
    update: (upstreamId, change) => write(() => client.update(token, upstreamId, change, signal)),
    remove: (upstreamId) => write(() => client.remove(token, upstreamId, signal)),
    share: (upstreamId, share) => client.share(token, upstreamId, share, signal),
  };
}

/** Tags by their lower-cased names; spellings that differ only in case are one tag (apis/notes.md §2). */
function byName(tags: readonly Tag[]): ReadonlyMap<string, Tag> {
  const known = new Map<string, Tag>();
  for (const tag of tags) {
    const key = tag.name.toLowerCase();
    const before = known.get(key);
    known.set(key, before ? join(before, tag) : tag);
  }
  return known;
}

function join(one: Tag, other: Tag): Tag {
  const count = (one.count ?? 0) + (other.count ?? 0);
  if (!isCount(count)) throw new UpstreamError('notes', 'misshapen');
  return { ...one, count };
}

function withCounts(tags: ReadonlyMap<string, Tag>): (note: Note) => Note {
  const counted = (tag: Tag): Tag => tags.get(tag.name.toLowerCase()) ?? { ...tag, count: 0 };
  return (note) => ({ ...note, tags: note.tags.map(counted) });
}

/** A page of tags; a tag that is gone leaves its cursor at the place where it was. */
function tagConnection(
  cursors: Cursors,
  userId: string,
  { first = null, after = null }: ForwardPage,
  readTags: () => Promise<ReadonlyMap<string, Tag>>,
): Promise<Connection<Tag>> {
  let keys: readonly string[] = [];
  const following = (position: unknown) => {
    const [key, index] = position as [string, number];
    const at = keys.indexOf(key);
    return at < 0 ? index : at + 1;
  };
  return rowConnection(
    cursors,
    { connection: 'tags', userId },
    { first, after },
    {
      async read({ limit, after: position }) {
        const tags = await readTags();
        keys = [...tags.keys()];
        const start = position === undefined ? 0 : following(position);
        return [...tags.values()].slice(start, start + limit);
      },
      position({ name }) {
        const key = name.toLowerCase();
        return [key, keys.indexOf(key)];
      },
    },
  );
}
