import { foldAddress } from './fold.js';
import { createHash } from 'node:crypto';
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
import { createTokens, type Tokens } from './tokens.js';

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

/** The same at every start, as a service's own would be: what the gateway has stored for somebody stays theirs. */
function userIdOf(email: string): string {
  return `user_${createHash('sha256').update(foldAddress(email)).digest('hex').slice(0, 32)}`;
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
  return new SandboxNotes(clock);
}

class SandboxNotes {
  readonly control: NotesControl;
  readonly routes: readonly Route[];

  readonly #clock: Clock;
  readonly #users = new Map<string, User>();
  readonly #tokens: Tokens<Session>;
  readonly #shares: (Share & { noteId: string })[] = [];
  constructor(clock: Clock) {
    this.#clock = clock;
    this.routes = this.#makeRoutes();
    this.#tokens = createTokens<Session>(this.#clock, tokenLifetimeSeconds * 1000);
    this.control = {
      addUser: this.#addUser,
      revokeTokens: (email) =>
        this.#tokens.revoke(
          ({ user }) => email === undefined || foldAddress(user.email) === foldAddress(email),
        ),
      issued: this.#tokens.issued,
      noteCount: (email) => this.#notebookOf(email).count(),
      deletedCount: (email) => this.#notebookOf(email).deletedCount(),
      insert: (email, fields, createdAt) =>
        this.#notebookOf(email).add(
          { title: 'A note', content: 'Words.', tags: [], is_pinned: false, ...fields },
          createdAt,
        ),
      delete: (email, id) => this.#notebookOf(email).remove(id),
      shares: this.#shares,
      pageLimit: { max: 100, mode: 'reject' },
      nextCursorAtEnd: 'null',
      tagSpelling: 'first',
      requestsPerHour: 1000,
    };
  }

  #makeRoutes(): readonly Route[] {
    return [
      { method: 'POST', path: '/auth/token', handle: this.#giveToken },
      this.#route('GET', '/me', (_, { id, email, name, createdAt }) =>
        json(200, { id, email, name, created_at: createdAt }),
      ),
      this.#route('GET', '/tags', (_, { notebook }) => json(200, { tags: notebook.tagCounts() })),
      this.#route('GET', '/notes', this.#list),
      this.#route('POST', '/notes', (request, { notebook }) =>
        json(201, notebook.add(readNewNote(request.json()))),
      ),
      this.#route('PATCH', '/notes/:id', (request, { notebook }) => {
        const { id } = notebook.find(request.params['id'] ?? '');
        return json(200, notebook.change(id, readNoteChange(request.json())));
      }),
      this.#route('DELETE', '/notes/:id', (request, { notebook }) => {
        notebook.remove(request.params['id'] ?? '');
        return json(200, { deleted: true });
      }),
      this.#route('POST', '/notes/:id/share', this.#share),
    ];
  }

  readonly #addUser = (user: NewUser): void => {
    // apis/notes.md §2: a user's created_at has fractional seconds; here six digits of them.
    const createdAt = new Date(this.#clock.now()).toISOString().replace('Z', '042Z');
    const more = {
      id: userIdOf(user.email),
      createdAt,
      notebook: createNotebook(this.#clock, () => this.control.tagSpelling),
    };
    this.#users.set(foldAddress(user.email), { ...user, ...more });
  };

  #notebookOf(email: string): Notebook {
    const user = this.#users.get(foldAddress(email));
    if (!user) throw new Error(`The sandbox knows no user ${email}.`);
    return user.notebook;
  }

  readonly #giveToken = (request: Request): Answer => {
    const { email, password } = request.json();
    if (typeof email !== 'string' || typeof password !== 'string')
      throw httpError(400, 'invalid', 'email and password are required.');
    const user = this.#users.get(foldAddress(email));
    if (user?.password !== password)
      throw httpError(401, 'wrong_credentials', 'E-mail or password is wrong.');
    const token = this.#tokens.issue({ user, hourEndsAt: this.#clock.now() + hourMs, used: 0 });
    return json(200, { access_token: token, token_type: 'bearer', expires_in: tokenLifetimeSeconds });
  };

  #spend(session: Session): void {
    const now = this.#clock.now();
    if (session.hourEndsAt <= now) Object.assign(session, { hourEndsAt: now + hourMs, used: 0 });
    session.used += 1;
    if (session.used <= this.control.requestsPerHour) return;
    const seconds = Math.ceil((session.hourEndsAt - now) / 1000);
    throw httpError(429, 'too_many_requests', 'The hourly quota is used up.', {
      'retry-after': String(seconds),
    });
  }

  /** A route that requires a valid token and counts against its hourly quota. */
  #route(method: string, path: string, handle: (request: Request, user: User) => Answer): Route {
    return {
      method,
      path,
      handle: (request) => {
        const session = this.#tokens.find(request.bearer);
        if (!session) throw httpError(401, 'unauthorized', 'The token is missing or invalid.');
        this.#spend(session);
        return handle(request, session.user);
      },
    };
  }

  readonly #list = (request: Request, { notebook }: User): Answer => {
    const { notes, next, more } = notebook.page(readPageQuery(request.query, this.control.pageLimit));
    const atEnd = this.control.nextCursorAtEnd;
    const end = more || atEnd === 'repeated' ? { next_cursor: next ?? null } : lastCursor[atEnd];
    return json(200, { data: notes, ...end });
  };

  readonly #share = (request: Request, { notebook }: User): Answer => {
    const { id: noteId } = notebook.find(request.params['id'] ?? '');
    this.#shares.push({ noteId, ...readShare(request.json()) });
    return { status: 204 };
  };
}
