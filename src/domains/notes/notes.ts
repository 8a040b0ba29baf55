import DataLoader from 'dataloader';
import { foldCodePoints } from '../../lib/case-fold.js';
import type { Connection, Edge } from '../../graphql/connection.js';
import type { Cursors } from '../../graphql/cursors.js';
import type { Telemetry } from '../../lib/telemetry/telemetry.js';
import {
  type ConnectionSource,
  type ForwardPage,
  newEdge,
  noteConnection,
} from './paging/note-connection.js';
import { NoteLists, type PageOwner, type PageSource } from './paging/note-lists.js';
import type { Note, Tag } from '../../models/note.js';
import { toNote } from './note.js';
import { createPager, maxLimit, type NoteFilter, type NoteList, type Pager } from './paging/pager.js';
import type { NewNote, NoteChange, Share } from './service/requests.js';
import { findNotes } from './paging/find-notes.js';
import type { Refused } from '../../upstream/errors.js';
import { createSightings } from './paging/page-index.js';
import { byName, spelled, toRows, type TagRows } from './tags.js';

/** On whose behalf one operation reads and writes notes. */
export interface NotesOperation extends PageOwner {
  readonly userId: string;
}

/** The connections of notes: a cursor of one does not open in the other. */
export type NotesConnectionName = 'notes' | 'Tag.notes';

/** The signed-in user's notes and tags, for one operation. Upstream failures are `GatewayError`s. */
export interface NotesAccess {
  /** A page of a connection; `withCounts` adds the counts of the notes' tags, which costs an operation one more call. */
  page(
    connection: NotesConnectionName,
    filter: NoteFilter,
    page: ForwardPage,
    withCounts: boolean,
  ): Promise<Connection<Note>>;
  /** The note as an edge of `notes` without a filter. */
  edge(note: Note): Edge<Note>;
  /** The note with this upstream id, or null. */
  note(upstreamId: string): Promise<Note | null>;
  /** All tags by their folded names, in the service's order; read once per operation, and again after a write. */
  tags(): Promise<ReadonlyMap<string, Tag>>;
  /** The rows of the connection of tags. */
  tagRows(): Promise<TagRows>;
  /** A note's tags with their counts, as `tags` has them; a tag that is not listed there counts 0. */
  counted(tags: readonly Tag[]): Promise<readonly Tag[]>;
  /** A note's tags in the spelling that the whole answer uses for each: that of `tags` if it is read first. */
  spelled(tags: readonly Tag[]): readonly Tag[] | Promise<readonly Tag[]>;
  /** Whether at least `number` notes are pinned, not counting the one with the id `except`. */
  hasPinned(number: number, except?: string): Promise<boolean>;
  create(note: NewNote): Promise<Note | Refused>;
  update(upstreamId: string, change: NoteChange): Promise<Note | Refused>;
  remove(upstreamId: string): Promise<Refused | undefined>;
  share(upstreamId: string, share: Share): Promise<Refused | undefined>;
}

/** What the operations of a process share. */
interface Shared extends PageSource {
  readonly cursors: Cursors;
  readonly pager: Pager;
}

/** Gives each operation its access. What one session has seen is never shown to another. */
export function createNotesAccess(
  options: Pick<Shared, 'client' | 'cursors'> & { readonly telemetry: Telemetry },
): (operation: NotesOperation) => NotesAccess {
  const shared = { ...options, pager: createPager(options.telemetry), sightings: createSightings() };
  return (operation) => new OperationNotes(shared, operation);
}

/** A class, since an operation that reads a page needs little of it; each memo is made when it is first needed. */
class OperationNotes implements NotesAccess {
  private readonly shared: Shared;
  private readonly operation: NotesOperation;
  private readonly lists: NoteLists;
  private loader: DataLoader<string, Note | null> | undefined;
  private tagsRead: Promise<ReadonlyMap<string, Tag>> | undefined;
  private tagRowsRead: Promise<TagRows> | undefined;
  private tagsListed: ReadonlyMap<string, Tag> | undefined;
  private tagsShown: Map<string, Tag> | undefined;
  private pagesRead: Map<string, Promise<Connection<Note>>> | undefined;

  constructor(shared: Shared, operation: NotesOperation) {
    this.shared = shared;
    this.operation = operation;
    this.lists = new NoteLists(shared, operation);
  }

  /** Each page is read once per operation, even if that fails: the operation may be run again to report the error. */
  page(
    connection: NotesConnectionName,
    filter: NoteFilter,
    page: ForwardPage,
    withCounts: boolean,
  ): Promise<Connection<Note>> {
    const key = JSON.stringify([connection, filter, page, withCounts]);
    this.pagesRead ??= new Map();
    const known = this.pagesRead.get(key);
    if (known) return known;
    const list = withCounts ? this.countedList(filter) : this.lists.kept(filter);
    const reading = noteConnection({ ...this.source(connection, filter), list }, page);
    this.pagesRead.set(key, reading);
    return reading;
  }

  edge(note: Note): Edge<Note> {
    return newEdge(this.source('notes', {}), note);
  }

  /** A failure is kept, as for `page`: the loader itself would forget it. */
  note(upstreamId: string): Promise<Note | null> {
    const { pager, sightings } = this.shared;
    this.loader ??= new DataLoader<string, Note | null>((ids) =>
      findNotes(ids, {
        pager,
        list: (filter) => this.lists.scanned(filter),
        lastSeen: (id) => sightings.find(this.operation.sessionId, id),
      }).catch((error: unknown) => ids.map(() => error as Error)),
    );
    return this.loader.load(upstreamId);
  }

  tags(): Promise<ReadonlyMap<string, Tag>> {
    const { token, signal } = this.operation;
    this.tagsRead ??= this.shared.client
      .tags(token, signal)
      .then((tags) => (this.tagsListed = byName(tags, this.tagsShown)));
    return this.tagsRead;
  }

  tagRows(): Promise<TagRows> {
    return (this.tagRowsRead ??= this.tags().then(toRows));
  }

  async counted(tags: readonly Tag[]): Promise<readonly Tag[]> {
    return this.listed(tags, await this.tags());
  }

  spelled(tags: readonly Tag[]): readonly Tag[] | Promise<readonly Tag[]> {
    const asShown = () => tags.map((tag) => this.show(tag));
    // A failure to read the list is reported by the fields that asked for it.
    return this.tagsRead?.then((known) => this.listed(tags, known), asShown) ?? asShown();
  }

  async hasPinned(number: number, except?: string): Promise<boolean> {
    const others = new Set<string>(); // pages may overlap
    for await (const { notes } of this.shared.pager.walk(this.lists.scanned({ pinned: true }), maxLimit)) {
      for (const { upstreamId } of notes) if (upstreamId !== except) others.add(upstreamId);
      if (others.size >= number) return true;
    }
    return false;
  }

  create(note: NewNote): Promise<Note | Refused> {
    return this.write(({ client }, { token, signal }) => client.create(token, note, signal));
  }

  update(upstreamId: string, change: NoteChange): Promise<Note | Refused> {
    return this.write(({ client }, { token, signal }) => client.update(token, upstreamId, change, signal));
  }

  remove(upstreamId: string): Promise<Refused | undefined> {
    return this.write(({ client }, { token, signal }) => client.remove(token, upstreamId, signal));
  }

  share(upstreamId: string, share: Share): Promise<Refused | undefined> {
    const { token, signal } = this.operation;
    return this.shared.client.share(token, upstreamId, share, signal);
  }

  /** Drops what this operation has read: the write makes it out of date. */
  private async write<T>(call: (shared: Shared, operation: NotesOperation) => Promise<T>): Promise<T> {
    try {
      return await call(this.shared, this.operation);
    } finally {
      this.loader = undefined;
      // The spellings stay, since the answer may have them already; the counts do not.
      for (const { kind, name } of this.tagsListed?.values() ?? []) this.show({ kind, name });
      this.tagsListed = undefined;
      this.tagsRead = undefined;
      this.tagRowsRead = undefined;
      this.pagesRead = undefined;
    }
  }

  private listed(tags: readonly Tag[], known: ReadonlyMap<string, Tag>): readonly Tag[] {
    return tags.map((tag) => known.get(foldCodePoints(tag.name)) ?? { ...this.show(tag), count: 0 });
  }

  private show(tag: Tag): Tag {
    return spelled(tag, (this.tagsShown ??= new Map<string, Tag>()));
  }

  private countedList(filter: NoteFilter): NoteList {
    const bare = this.lists.kept(filter);
    return {
      filter,
      read: async (start) => {
        const [answer, tags] = await Promise.all([bare.read(start), this.tags()]);
        if (!('notes' in answer)) return answer;
        const withCounts = (note: Note) => toNote(note, this.listed(note.tags, tags));
        return { notes: answer.notes.map(withCounts), nextCursor: answer.nextCursor };
      },
    };
  }

  private source(connection: NotesConnectionName, filter: NoteFilter): Omit<ConnectionSource, 'list'> {
    const { cursors, pager } = this.shared;
    const bound = {
      tag: filter.tag === undefined ? undefined : foldCodePoints(filter.tag),
      pinned: filter.pinned,
    };
    return { cursors, pager, place: { connection, userId: this.operation.userId, filter: bound } };
  }
}
