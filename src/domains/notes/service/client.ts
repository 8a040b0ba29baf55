import { isSendable } from '../../../lib/header-token.js';
import type { RateLimit } from '../../../lib/rate-limit.js';
import type { Clock } from '../../../lib/clock.js';
import { SessionEnded } from '../../../graphql/errors.js';
import type { Telemetry } from '../../../lib/telemetry/telemetry.js';
import { faultOfCall, type Refused, UpstreamError } from '../../../upstream/errors.js';
import { createWarnings, type Warn } from '../../../lib/telemetry/rate-limited-log.js';
import { SharedCalls } from '../../../lib/async/shared-calls.js';
import {
  createUpstream,
  type Upstream,
  type UpstreamAnswer,
  type UpstreamRequest,
} from '../../../upstream/client.js';
import {
  type NotePage,
  type Profile,
  readDeleted,
  readNote,
  readPage,
  readProfile,
  readTags,
  readToken,
} from './responses.js';
import type { Note, Tag } from '../../../models/note.js';
import {
  encodeSegment,
  type NewNote,
  type NoteChange,
  type PageQuery,
  type Share,
  toBody,
} from './requests.js';
import type { Signal } from '../../../lib/async/abort.js';

/** The notes service's address, and settings for what its documents leave open. */
export interface NotesSettings {
  readonly baseUrl: string;
  readonly emailField: string;
  readonly passwordField: string;
  /** The member of the token call's answer that holds the token, or its path; by default one of the usual names. */
  readonly tokenField: string | undefined;
  /** The life of a token where the answer does not tell it. */
  readonly tokenLifetimeSeconds: number;
}

/** A notes token; it must not leave the server. */
export interface IssuedToken {
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** A page, and the size of its answer in bytes. */
export interface ListedPage extends NotePage {
  readonly bytes: number;
}

/**
 * The notes service (`apis/notes.md`). Every call but `signIn` rejects with `SessionEnded` on a 401, and with an
 * `UpstreamError` if there is no usable answer. Equal reads with one token that are in flight share one call; a read that
 * begins after a write with its token has ended sees that write.
 */
export interface NotesClient {
  /** `network` is where the caller is: until they are known, it stands for them. */
  signIn(
    email: string,
    password: string,
    network: string,
    signal?: Signal,
  ): Promise<IssuedToken | 'WRONG_CREDENTIALS'>;
  /** With a `network` as for `signIn`: whose token it is is not known yet. */
  me(token: string, signal?: Signal, network?: string): Promise<Profile>;
  /** Refused only with a status that may be about the query. */
  list(token: string, query: PageQuery, signal?: Signal): Promise<ListedPage | Refused>;
  tags(token: string, signal?: Signal): Promise<readonly Tag[]>;
  create(token: string, note: NewNote, signal?: Signal): Promise<Note | Refused>;
  /** Changes only what is given. */
  update(token: string, id: string, change: NoteChange, signal?: Signal): Promise<Note | Refused>;
  remove(token: string, id: string, signal?: Signal): Promise<Refused | undefined>;
  share(token: string, id: string, share: Share, signal?: Signal): Promise<Refused | undefined>;
  /** What is left of the calls with this token. */
  limitOf(token: string): RateLimit | undefined;
  stop(): Promise<void>;
}

/** `apis/notes.md` §8. */
export const callsPerHour = 1_000;
/** Per user, so that nobody waits for the calls of others, even if those hang. */
export const callsAtOnce = 8;
/** Per network. */
export const signInsAtOnce = 16;
const defaultTokenFields = ['access_token', 'accessToken', 'token'];
const wrongCredentials: readonly number[] = [400, 401, 403, 422];
/** Refusals of a list that may be about its parameters (`apis/notes.md` §7), or the length of the address that has them. */
const ofQuery: readonly number[] = [400, 414, 431];
/** Refusals of a write that blame the input, not who sends it or where. */
const blamedOnInput: readonly number[] = [400, 409, 413, 422];
/** A note that was made before may also be gone, or the user may only read it. */
const blamedOnNote: readonly number[] = [...blamedOnInput, 403, 404, 410];

const abandoned = () => new UpstreamError('notes', 'abandoned');

interface NotesClientOptions extends NotesSettings {
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly timeoutMs?: number;
}

/** A client of the notes service at `baseUrl`. */
export function createNotesClient(options: NotesClientOptions): NotesClient {
  return new RestNotesClient(options);
}

class RestNotesClient implements NotesClient {
  readonly #options: NotesClientOptions;
  readonly #upstream: Upstream;
  /** With connections and a circuit breaker of its own: it is open to anybody. */
  readonly #issuer: Upstream;
  readonly #pages = new SharedCalls<ListedPage | Refused>(abandoned);
  readonly #profiles = new SharedCalls<Profile>(abandoned);
  readonly #tagLists = new SharedCalls<readonly Tag[]>(abandoned);
  readonly #readIssued: ReadAnswer<NonNullable<ReturnType<typeof readToken>>>;
  readonly #warn: Warn;

  constructor(options: NotesClientOptions) {
    this.#options = options;
    const { tokenField, telemetry } = options;
    this.#warn = createWarnings(telemetry);
    this.#upstream = createUpstream({ ...options, name: 'notes', callsPerHour, callsAtOnce });
    this.#issuer = createUpstream({
      ...options,
      name: 'notes',
      callsAtOnce: signInsAtOnce,
      circuit: 'notes sign-in',
    });
    const tokenFields = tokenField === undefined ? defaultTokenFields : [tokenField];
    this.#readIssued = orUnusable((body) => {
      const issued = readToken(body, tokenFields);
      if (issued && !isSendable(issued.token))
        throw new UpstreamError('notes', 'unsendable', { uncertain: true });
      return issued;
    });
  }

  async signIn(
    email: string,
    password: string,
    network: string,
    signal?: Signal,
  ): Promise<IssuedToken | 'WRONG_CREDENTIALS'> {
    const askedAt = this.#options.clock.now();
    const body = { [this.#options.emailField]: email, [this.#options.passwordField]: password };
    const request = { method: 'POST', path: '/auth/token', body, caller: network, signal } as const;
    const outcome = await this.#issuer.ask(request, (answer) =>
      wrongCredentials.includes(answer.status) ? 'WRONG_CREDENTIALS' : this.#readIssued(answer),
    );
    if (outcome === 'WRONG_CREDENTIALS') return outcome;
    const { token, lifetime = this.#options.tokenLifetimeSeconds } = outcome;
    return { token, expiresAt: askedAt + lifetime * 1000 };
  }

  me(token: string, signal?: Signal, network?: string): Promise<Profile> {
    const request = { path: '/me', token, caller: network, signal };
    return this.#read(this.#profiles, request, orUnusable(readProfile));
  }

  tags(token: string, signal?: Signal): Promise<readonly Tag[]> {
    return this.#read(this.#tagLists, { path: '/tags', token, signal }, orUnusable(readTags));
  }

  list(token: string, query: PageQuery, signal?: Signal): Promise<ListedPage | Refused> {
    const request = { path: `/notes?${parametersOf(query)}`, token, signal };
    return this.#read(this.#pages, request, (answer) =>
      ofQuery.includes(answer.status) ? { refused: answer.status } : orUnusable(readListed)(answer),
    );
  }

  create(token: string, note: NewNote, signal?: Signal): Promise<Note | Refused> {
    const request = { method: 'POST', path: '/notes', body: toBody(note), token, signal } as const;
    return this.#write({ ...request, hasOwnLimit: note.isPinned === true }, readNote);
  }

  update(token: string, id: string, change: NoteChange, signal?: Signal): Promise<Note | Refused> {
    const request = { method: 'PATCH', id, path: '', body: toBody(change), token, signal } as const;
    return this.#writeNote({ ...request, hasOwnLimit: change.isPinned === true }, readNote);
  }

  async remove(token: string, id: string, signal?: Signal): Promise<Refused | undefined> {
    return refusal(await this.#writeNote({ method: 'DELETE', id, path: '', token, signal }, readDeleted));
  }

  async share(token: string, id: string, body: Share, signal?: Signal): Promise<Refused | undefined> {
    // apis/notes.md §4: "empty body and a success status"; any success will do.
    return refusal(
      await this.#writeNote({ method: 'POST', id, path: '/share', body, token, signal }, () => true),
    );
  }

  limitOf(token: string): RateLimit | undefined {
    return this.#upstream.limitOf(token);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#upstream.stop(), this.#issuer.stop()]);
  }

  #ask<T>(request: UpstreamRequest & { readonly token: string }, readAnswer: ReadAnswer<T>): Promise<T> {
    return this.#upstream.ask(request, (answer) => {
      if (answer.status === 401) throw new SessionEnded();
      return readAnswer(answer);
    });
  }

  #read<T>(
    calls: SharedCalls<T>,
    { path, token, caller, signal }: Pick<UpstreamRequest, 'path' | 'caller' | 'signal'> & { token: string },
    readAnswer: ReadAnswer<T>,
  ): Promise<T> {
    // Named one by one: what V8 makes of the rest of an object is far slower to use.
    const start = (shared: Signal) =>
      this.#ask({ method: 'GET', path, token, caller, signal: shared }, readAnswer);
    return calls.share(token, path, start, signal);
  }

  /** Users are told only that their input was not accepted, though a wrong base address is for the log. */
  #warnOfRefusal({ path }: UpstreamRequest, status: number): void {
    if (status < 400 || (path === '/notes' ? blamedOnInput : blamedOnNote).includes(status)) return;
    const message = 'the notes service refused a write, perhaps for a reason other than its content';
    this.#warn(message, () => ({ status }), String(status));
  }

  async #write<T>(
    request: UpstreamRequest & { readonly token: string },
    readBody: ReadBody<T>,
  ): Promise<T | Refused> {
    try {
      return await this.#ask(request, (answer) => {
        this.#warnOfRefusal(request, answer.status);
        return orRefused(readBody)(answer);
      });
    } finally {
      // A read that began before the write ended may show the state before it: later callers must not share it.
      for (const calls of [this.#pages, this.#profiles, this.#tagLists]) calls.drop(request.token);
    }
  }

  async #writeNote<T>(
    { id, path, ...request }: UpstreamRequest & { readonly token: string; readonly id: string },
    readBody: ReadBody<T>,
  ): Promise<T | Refused> {
    const segment = encodeSegment(id);
    return segment === undefined
      ? { refused: 404 }
      : this.#write({ ...request, path: `/notes/${segment}${path}` }, readBody);
  }
}

/** In the service's own names (`apis/notes.md` §4); a blank is `%20`, which every service decodes, unlike `+`. */
function parametersOf({ tag, pinned, limit, cursor }: PageQuery): string {
  const parameters = new URLSearchParams();
  if (tag !== undefined) parameters.set('tag', tag);
  if (pinned !== undefined) parameters.set('pinned', String(pinned));
  parameters.set('limit', String(limit));
  if (cursor !== undefined) parameters.set('cursor', cursor);
  return parameters.toString().replaceAll('+', '%20');
}

/** Reads an answer; undefined if it is not as documented. */
type ReadAnswer<T> = (answer: UpstreamAnswer) => T | undefined;
type ReadBody<T> = (body: unknown, bytes: number) => T | undefined;

function orRefused<T>(read: ReadBody<T>): ReadAnswer<T | Refused> {
  return ({ status, body, bytes }) => (status < 300 ? read(body, bytes) : { refused: status });
}

/** For a call with no documented refusal: every answer but a success has failed, or counts as unusable. */
function orUnusable<T>(read: ReadBody<T>): ReadAnswer<T> {
  return ({ status, body, bytes }) => {
    // Uncertain, as after any answer that is no use: the sign-ins that end so are counted.
    if (faultOfCall(status) === 'failing')
      throw new UpstreamError('notes', 'failing', { uncertain: true, cause: { status } });
    return status < 300 ? read(body, bytes) : undefined;
  };
}

function readListed(body: unknown, bytes: number): ListedPage | undefined {
  const page = readPage(body);
  return page && { bytes, ...page };
}

function refusal(outcome: true | Refused): Refused | undefined {
  return outcome === true ? undefined : outcome;
}
