import { OperationTooComplex, Overloaded } from '../../../graphql/errors.js';
import { maxBytes as maxPageBytes } from '../../../upstream/transport.js';
import type { Refused } from '../../../upstream/errors.js';
import type { ListedPage, NotesClient } from '../service/client.js';
import { type NoteFilter, type NoteList, orTooLarge, type PageStart, type TooLarge } from './pager.js';
import type { Sightings } from './page-index.js';
import { createConcurrencyLimit } from '../../../lib/async/concurrency-limit.js';
import type { Signal } from '../../../lib/async/abort.js';

/** Where pages come from, and who remembers them. */
export interface PageSource {
  readonly client: NotesClient;
  readonly sightings: Sightings;
}

/** On whose behalf pages are read. */
export interface PageOwner {
  readonly token: string;
  readonly sessionId: string;
  readonly signal: Signal;
}

const pagesAtOnce = 4;
/** How many calls to the service one operation may make for lists. */
export const maxCalls = 250;
/** How many mebibytes of answers to these calls one operation may read. */
export const maxMebibytes = 64;
/** In the heap, besides their texts: a tag of one letter is four bytes on the wire. */
const bytesPerNote = 300;
const bytesPerTag = 100;

/** The service's lists as one operation reads them: a few pages at a time, and within the limits of an operation. */
export class NoteLists {
  private readonly source: PageSource;
  private readonly owner: PageOwner;
  private readonly inTurn = createConcurrencyLimit(pagesAtOnce);
  private calls = 0;
  private bytes = 0;

  constructor(source: PageSource, owner: PageOwner) {
    this.source = source;
    this.owner = owner;
  }

  /** For a search: its pages are looked through and dropped. */
  scanned(filter: NoteFilter): NoteList {
    return { filter, read: (start) => this.inTurn(() => this.read(filter, start)) };
  }

  /** For a connection, which keeps its pages: all that an operation keeps together is limited. */
  kept(filter: NoteFilter): NoteList {
    const read = async (start: PageStart) => {
      if (this.bytes > maxMebibytes * 1024 * 1024)
        throw tooMuch(`about ${maxMebibytes} MiB of notes for its connections`);
      const answer = await this.read(filter, start);
      if ('tooLarge' in answer) this.bytes += maxPageBytes;
      if ('notes' in answer) this.bytes += answer.bytes;
      if ('notes' in answer && this.owner.signal.memory?.keep(heapOf(answer)) === false)
        throw new Overloaded();
      return answer;
    };
    return { filter, read: (start) => this.inTurn(() => read(start)) };
  }

  private async read(filter: NoteFilter, start: PageStart): Promise<ListedPage | Refused | TooLarge> {
    // Limited, since a note may have any number of tags, and each tag any number of pages.
    if (++this.calls > maxCalls) throw tooMuch(`${maxCalls} pages from the notes service`);
    const { client, sightings } = this.source;
    const { token, sessionId, signal } = this.owner;
    const answer = await client.list(token, { ...filter, ...start }, signal).catch(orTooLarge);
    if ('notes' in answer) sightings.remember(sessionId, { filter, start }, answer.notes);
    return answer;
  }
}

/** About how many bytes of heap a page takes: its texts no more than on the wire, and each note and tag besides. */
function heapOf({ notes, bytes }: ListedPage): number {
  return notes.reduce((sum, { tags }) => sum + bytesPerNote + tags.length * bytesPerTag, bytes);
}

function tooMuch(limit: string): OperationTooComplex {
  return new OperationTooComplex(`One operation may read no more than ${limit}: request less.`);
}
