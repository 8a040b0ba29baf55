import DataLoader from 'dataloader';
import { OperationTooComplex } from '../errors.js';
import { type Connection, type Cursors, type Edge, type PageArguments, rowConnection } from '../relay.js';
import { mostBytes as mostPageBytes } from '../upstream/exchange.js';
import { UpstreamError } from '../upstream/failure.js';
import { isCount } from './answer.js';
import type { ListedPage, NotesClient, Refusal } from './client.js';
import { type ConnectionSource, newEdge, noteConnection } from './connection.js';
import type { Note, Tag } from './model.js';
import { toNote } from './note.js';
import {
  createPager,
  greatestLimit,
  type NoteFilter,
  type NoteList,
  orTooLarge,
  type PageStart,
  type Pager,
  type TooLarge,
} from './pages.js';
import type { NewNote, NoteChange, Share } from './request.js';
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
const mostCalls = 250;
const mostMebibytes = 64;

/** Gives each operation its access. What one session has seen is never shown to another. */
export function createNotesAccess(options: {
  readonly client: NotesClient;
  readonly cursors: Cursors;
}): (operation: NotesOperation) => NotesAccess {
  const shared = { ...options, pager: createPager(), sightings: createSightings() };
  return (operation) => new OperationNotes(shared, operation);
}

/** A class, since an operation that reads a page needs little of it; a memo is made when it is first needed. */
class OperationNotes implements NotesAccess {
  private readonly shared: Shared;
  private readonly operation: NotesOperation;
  private readonly inTurn = createTurns(listsAtOnce);
  private loader: DataLoader<string, Note | null> | undefined;
  private tagsRead: Promise<ReadonlyMap<string, Tag>> | undefined;
  private pagesRead: Map<string, Promise<Connection<Note>>> | undefined;
  private calls = 0;
  private bytes = 0;

  constructor(shared: Shared, operation: NotesOperation) {
    this.shared = shared;
    this.operation = operation;
  }

  /** A page is read once an operation, also where it fails: the operation may be run again to tell of an error. */
  page(...wish: Parameters<NotesAccess['page']>): Promise<Connection<Note>> {
    const [connection, filter, page, withCounts] = wish;
    const key = JSON.stringify(wish);
    this.pagesRead ??= new Map();
    const known = this.pagesRead.get(key);
    if (known) return known;
    const list = withCounts ? this.countedList(filter) : this.keptList(filter);
    const reading = noteConnection({ ...this.source(connection, filter), list }, page);
    this.pagesRead.set(key, reading);
    return reading;
  }

  edge(note: Note): Edge<Note> {
    return newEdge(this.source('notes', {}), note);
  }

  note(upstreamId: string): Promise<Note | null> {
    const { pager, sightings } = this.shared;
    this.loader ??= new DataLoader<string, Note | null>((ids) =>
      findNotes(ids, {
        pager,
        list: (filter) => this.list(filter),
        lastSeen: (id) => sightings.find(this.operation.sessionId, id),
      }),
    );
    return this.loader.load(upstreamId);
  }

  tags(): Promise<ReadonlyMap<string, Tag>> {
    const { token, signal } = this.operation;
    this.tagsRead ??= this.shared.client.tags(token, signal).then(byName);
    return this.tagsRead;
  }

  tagPage(page: ForwardPage): Promise<Connection<Tag>> {
    return tagConnection(this.shared.cursors, this.operation.userId, page, () => this.tags());
  }

  async hasPinned(number: number, except?: string): Promise<boolean> {
    let pinned = 0;
    for await (const { notes } of this.shared.pager.walk(this.list({ pinned: true }), greatestLimit)) {
      pinned += notes.filter(({ upstreamId }) => upstreamId !== except).length;
      if (pinned >= number) return true;
    }
    return false;
  }

  create(note: NewNote): Promise<Note | Refusal> {
    return this.write(({ client }, { token, signal }) => client.create(token, note, signal));
  }

  update(upstreamId: string, change: NoteChange): Promise<Note | Refusal> {
    return this.write(({ client }, { token, signal }) => client.update(token, upstreamId, change, signal));
  }

  remove(upstreamId: string): Promise<Refusal | undefined> {
    return this.write(({ client }, { token, signal }) => client.remove(token, upstreamId, signal));
  }

  share(upstreamId: string, share: Share): Promise<Refusal | undefined> {
    const { token, signal } = this.operation;
    return this.shared.client.share(token, upstreamId, share, signal);
  }

  /** A write makes what this operation has read before it out of date. */
  private async write<T>(call: (shared: Shared, operation: NotesOperation) => Promise<T>): Promise<T> {
    try {
      return await call(this.shared, this.operation);
    } finally {
      this.loader = undefined;
      this.tagsRead = undefined;
      this.pagesRead = undefined;
    }
  }

  private list(filter: NoteFilter): NoteList {
    return { filter, read: (start) => this.inTurn(() => this.readPage(filter, start)) };
  }

  /** The same for a connection: its pages are kept, so the operation reads no more of them than there is room for. */
  private keptList(filter: NoteFilter): NoteList {
    const read = async (start: PageStart) => {
      if (this.bytes > mostMebibytes * 1024 * 1024)
        throw tooMuch(`about ${mostMebibytes} MiB of notes for its connections`);
      const answer = await this.readPage(filter, start);
      if ('tooLarge' in answer) this.bytes += mostPageBytes;
      if ('notes' in answer) this.bytes += answer.bytes;
      return answer;
    };
    return { filter, read: (start) => this.inTurn(() => read(start)) };
  }

  private async readPage(filter: NoteFilter, start: PageStart): Promise<ListedPage | Refusal | TooLarge> {
    // A note may have any number of tags, and each of them pages.
    if (++this.calls > mostCalls) throw tooMuch(`${mostCalls} pages of the notes service`);
    const { client, sightings } = this.shared;
    const { token, sessionId, signal } = this.operation;
    const answer = await client.list(token, { ...filter, ...start }, signal).catch(orTooLarge);
    if ('notes' in answer) sightings.remember(sessionId, { filter, start }, answer.notes);
    return answer;
  }

  private countedList(filter: NoteFilter): NoteList {
    const bare = this.keptList(filter);
    return {
      filter,
      read: async (start) => {
        const [answer, tags] = await Promise.all([bare.read(start), this.tags()]);
        if (!('notes' in answer)) return answer;
        const withCounts = (note: Note) =>
          toNote(
            note,
            note.tags.map((tag) => counted(tag, tags)),
          );
        return { notes: answer.notes.map(withCounts), nextCursor: answer.nextCursor };
      },
    };
  }

  private source(connection: NotesConnectionName, filter: NoteFilter): Omit<ConnectionSource, 'list'> {
    const { cursors, pager } = this.shared;
    const bound = { tag: filter.tag?.toLowerCase(), pinned: filter.pinned };
    return { cursors, pager, place: { connection, userId: this.operation.userId, filter: bound } };
  }
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

/** The tag as it is spelled, with its count; one that the service no longer lists is used no more. */
export function counted({ kind, name }: Tag, known: ReadonlyMap<string, Tag>): Tag {
  return { kind, name, count: known.get(name.toLowerCase())?.count ?? 0 };
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

function tooMuch(most: string): OperationTooComplex {
  return new OperationTooComplex(`One operation reads no more than ${most}.`);
}
