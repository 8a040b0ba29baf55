import { foldAddress } from './fold.js';
import { randomUUID } from 'node:crypto';
import type { Clock } from './clock.js';
import { type Answer, json, httpError, type Request, type Route } from './http.js';
import { createNotebook, type Note, type Notebook, type NoteFields, type TagSpelling } from './notebook.js';
import {
  type PageLimit,
  readNewNote,
  readNoteChange,
  readPageQuery,
  readShare,
  type Share,
} from './note-fields.js';
import { createTokens } from './tokens.js';

/** A user to add to the notes service. */
export interface NewUser {
  readonly email: string;
  readonly password: string;
  readonly name: string;
}

/** How a test inspects and controls the notes service. */
export interface NotesControl {
  addUser(user: NewUser): void;
  /** Makes every access token invalid, or those of one user. Returns how many there were. */
  revokeTokens(email?: string): number;
  /** The access tokens issued so far. */
  readonly issued: readonly string[];
  /** How many notes a user has. */
  noteCount(email: string): number;
  /** How many notes of a user are marked as deleted but not yet gone for good. */
  deletedCount(email: string): number;
  /** Adds a note without an API call. */
  insert(email: string, fields: Partial<NoteFields>, createdAt?: number): Note;
  /** Deletes a note without an API call. */
  delete(email: string, id: string): void;
  /** Every share that was made. */
  readonly shares: readonly (Share & { readonly noteId: string })[];
  readonly pageLimit: PageLimit;
  /**
   * How the last page indicates that it is the last (undocumented). `repeated`: not at all; an empty page repeats the
   * cursor that it was requested with.
   */
  nextCursorAtEnd: 'null' | 'empty' | 'absent' | 'repeated';
  tagSpelling: TagSpelling;
  /** The number of requests that one token may make per hour (apis/notes.md §8). */
  requestsPerHour: number;
}

interface User extends NewUser {
  readonly id: string;
  readonly createdAt: string;
  readonly notebook: Notebook;
}

/** What a token stands for, and how much of its hourly quota it has used. */
interface Session {
  readonly user: User;
  hourEndsAt: number;
  used: number;
}

const hourMs = 60 * 60 * 1000;
const tokenLifetimeSeconds = 24 * 60 * 60;
const lastCursor = { null: { next_cursor: null }, empty: { next_cursor: '' }, absent: {} };

/** The note-taking service (apis/notes.md). */
export function createNotes(clock: Clock): {
  readonly control: NotesControl;
  readonly routes: readonly Route[];
} {
  const users = new Map<string, User>();
  const tokens = createTokens<Session>(clock, tokenLifetimeSeconds * 1000);
  const shares: (Share & { noteId: string })[] = [];

  const control: NotesControl = {
    addUser,
    revokeTokens: (email) =>
      tokens.revoke(({ user }) => email === undefined || foldAddress(user.email) === foldAddress(email)),
    issued: tokens.issued,
    noteCount: (email) => notebookOf(email).count(),
    deletedCount: (email) => notebookOf(email).deletedCount(),
    insert: (email, fields, createdAt) =>
      notebookOf(email).add(
        { title: 'A note', content: 'Words.', tags: [], is_pinned: false, ...fields },
        createdAt,
      ),
    delete: (email, id) => notebookOf(email).remove(id),
    shares,
    pageLimit: { max: 100, mode: 'reject' },
    nextCursorAtEnd: 'null',
    tagSpelling: 'first',
    requestsPerHour: 1000,
  };

  function addUser(user: NewUser): void {
    // apis/notes.md §2: a user's created_at has fractional seconds; here six digits of them.
    const createdAt = new Date(clock.now()).toISOString().replace('Z', '042Z');
    const more = {
      id: `user_${randomUUID()}`,
      createdAt,
      notebook: createNotebook(clock, () => control.tagSpelling),
    };
    users.set(foldAddress(user.email), { ...user, ...more });
  }

  function notebookOf(email: string): Notebook {
    const user = users.get(foldAddress(email));
    if (!user) throw new Error(`The sandbox knows no user ${email}.`);
    return user.notebook;
  }

  function giveToken(request: Request): Answer {
    const { email, password } = request.json();
    if (typeof email !== 'string' || typeof password !== 'string')
      throw httpError(400, 'invalid', 'email and password are required.');
    const user = users.get(foldAddress(email));
    if (user?.password !== password)
      throw httpError(401, 'wrong_credentials', 'E-mail or password is wrong.');
    const token = tokens.issue({ user, hourEndsAt: clock.now() + hourMs, used: 0 });
    return json(200, { access_token: token, token_type: 'bearer', expires_in: tokenLifetimeSeconds });
  }

  function spend(session: Session): void {
    const now = clock.now();
    if (session.hourEndsAt <= now) Object.assign(session, { hourEndsAt: now + hourMs, used: 0 });
    session.used += 1;
    if (session.used <= control.requestsPerHour) return;
    const seconds = Math.ceil((session.hourEndsAt - now) / 1000);
    throw httpError(429, 'too_many_requests', 'The hourly quota is used up.', {
      'retry-after': String(seconds),
    });
  }

  /** A route that requires a valid token and counts against its hourly quota. */
  function route(method: string, path: string, handle: (request: Request, user: User) => Answer): Route {
    return {
      method,
      path,
      handle: (request) => {
        const session = tokens.find(request.bearer);
        if (!session) throw httpError(401, 'unauthorized', 'The token is missing or invalid.');
        spend(session);
        return handle(request, session.user);
      },
    };
  }

  function list(request: Request, { notebook }: User): Answer {
    const { notes, next, more } = notebook.page(readPageQuery(request.query, control.pageLimit));
    const atEnd = control.nextCursorAtEnd;
    const end = more || atEnd === 'repeated' ? { next_cursor: next ?? null } : lastCursor[atEnd];
    return json(200, { data: notes, ...end });
  }

  function share(request: Request, { notebook }: User): Answer {
    const { id: noteId } = notebook.find(request.params['id'] ?? '');
    shares.push({ noteId, ...readShare(request.json()) });
    return { status: 204 };
  }

  const routes = [
    { method: 'POST', path: '/auth/token', handle: giveToken },
    route('GET', '/me', (_, { id, email, name, createdAt }) =>
      json(200, { id, email, name, created_at: createdAt }),
    ),
    route('GET', '/tags', (_, { notebook }) => json(200, { tags: notebook.tagCounts() })),
    route('GET', '/notes', list),
    route('POST', '/notes', (request, { notebook }) => json(201, notebook.add(readNewNote(request.json())))),
    route('PATCH', '/notes/:id', (request, { notebook }) => {
      const { id } = notebook.find(request.params['id'] ?? '');
      return json(200, notebook.change(id, readNoteChange(request.json())));
    }),
    route('DELETE', '/notes/:id', (request, { notebook }) => {
      notebook.remove(request.params['id'] ?? '');
      return json(200, { deleted: true });
    }),
    route('POST', '/notes/:id/share', share),
  ];

  return { control, routes };
}
